"""Skill-RAG in a few small modules: probe a language model's states, retrieve where it must."""
