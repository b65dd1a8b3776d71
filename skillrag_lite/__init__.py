"""skillrag_lite: hidden states gate retrieval, and failures choose a skill."""

__version__ = "0.1.0"


def ask(question: str, profile: str = "pocket", corpus=None):
    """Answer one question by Skill-RAG and return its Trace (see `skillrag_lite.lab.ask`)."""
    from .lab import ask  # torch and transformers load only when they are needed

    return ask(question, profile, corpus)
