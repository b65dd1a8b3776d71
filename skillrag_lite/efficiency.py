"""Efficiency: what one method gains and saves against another, on the same questions."""

from collections import Counter

from .scores import bootstrap


def against(ours, theirs, seed: int = 0) -> dict[str, tuple[float, float, float]]:
    """The gain in ACC and the searches saved a question: each a mean and its 95% interval.

    Both are lists of traces or outcomes of the same questions. Source: Skill-RAG v2 §4.4, Figure
    3C. Taught in chapter 06.
    """
    pairs = list(zip(ours, theirs, strict=True))
    return {
        "gain": bootstrap([a.right - b.right for a, b in pairs], seed=seed),
        "saved": bootstrap([b.retrievals - a.retrievals for a, b in pairs], seed=seed),
    }


def shares(outcomes) -> dict[str, float]:
    """The share of each label among all that the router named, the likeliest first.

    Source: Skill-RAG v2 §4.4, Figure 3B. Taught in chapter 06.
    """
    counts = Counter(label for o in outcomes for label in o.labels)
    return {label: count / counts.total() for label, count in counts.most_common()}


def panel(name: str, skill_rag, probing_rag, seed: int = 0) -> dict:
    """One dataset's row of the efficiency figure: rounds, skill shares, and gain against saving.

    Source: Skill-RAG v2 §4.4, Figure 3. Taught in chapter 06.
    """
    both = {"probing_rag": probing_rag, "skill_rag": skill_rag}
    return {
        "dataset": name,
        "n": len(skill_rag),
        "rounds": {m: bootstrap([o.retrievals for o in its], seed=seed) for m, its in both.items()},
        "shares": shares(skill_rag),
        **against(skill_rag, probing_rag, seed),
    }
