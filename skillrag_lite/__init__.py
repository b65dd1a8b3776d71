"""skillrag_lite: hidden states gate retrieval, and failures choose a skill."""

__version__ = "0.1.0"


def ask(question: str, *arguments, **options):
    """Answer one question by Skill-RAG and return its Trace; all of it in `lab.ask`."""
    from .lab import ask  # torch and transformers load only when they are needed

    return ask(question, *arguments, **options)
