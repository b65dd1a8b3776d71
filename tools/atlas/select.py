"""Choose from the certified proposals: quotas, splits by entity, balanced sides and tiers."""

from collections import Counter

from .facts import dice
from .questions import page

# (split, failure type) -> family -> how many
QUOTAS = {
    ("test", "multi_hop_missing"): {"three_hop": 8, "comparison": 3, "bridge": 6},
    ("test", "insufficient_evidence"): {"three_hop": 2, "bridge": 2, "single": 5, "trivia": 4},
    ("test", "none"): {"comparison": 11, "three_hop": 1, "bridge": 4, "single": 7, "trivia": 6},
    ("test", "query_misaligned"): {"single": 6, "trivia": 6},
    ("test", "evidence_not_used"): {"single": 6, "trivia": 6},
    ("dev", "multi_hop_missing"): {"bridge": 7},
    ("dev", "insufficient_evidence"): {"bridge": 1, "single": 3, "trivia": 3},
    ("dev", "none"): {"bridge": 4, "single": 8, "trivia": 8},
    ("dev", "query_misaligned"): {"single": 4, "trivia": 4},
    ("dev", "evidence_not_used"): {"single": 4, "trivia": 4},
    ("train", "multi_hop_missing"): {"bridge": 16},
    ("train", "insufficient_evidence"): {"bridge": 2, "single": 7, "trivia": 7},
    ("train", "none"): {"bridge": 8, "single": 18, "trivia": 16},
    ("train", "query_misaligned"): {"single": 9, "trivia": 9},
    ("train", "evidence_not_used"): {"single": 9, "trivia": 9},
}
MOST = 5  # questions on one entity


def choose(certified):
    """certified: (proposal, label, repairs) -> {split: [(proposal, label)]} and the shortfalls."""
    home, uses, asked, sides, tiers = {}, Counter(), set(), Counter(), Counter()
    out, short = {"train": [], "dev": [], "test": []}, {}
    pools = {}
    for p, label, repairs in certified:
        pools.setdefault((label, p.family), []).append((p, len(repairs) > 1))
    jobs = [
        (split, label, family, n)
        for (split, label), wanted in QUOTAS.items()
        for family, n in wanted.items()
    ]
    rare = {"three_hop": 0, "comparison": 1, "bridge": 2}
    jobs.sort(key=lambda j: (rare.get(j[2], 3), len(pools.get(j[1:3], []))))

    def rank(item, split):
        p, several = item
        famous = tiers[split, 1] < 0.42 * (tiers[split, 0] + 1)
        return (
            sides[p.side] if p.side else 0,
            several,
            (p.tier == 1) != famous if len(p.gold) == 1 else False,
            max(uses[e] for e in p.entities),
            dice("order", p.question),
        )

    for split, label, family, n in jobs:
        for _ in range(n):
            free = [
                x
                for x in pools.get((label, family), [])
                if all(home.get(e, split) == split and uses[e] < MOST for e in x[0].entities)
                and x[0].gold not in asked
            ]
            if not free:
                short[split, label, family] = short.get((split, label, family), 0) + 1
                continue
            p, _several = min(free, key=lambda x: rank(x, split))
            for e in p.entities:
                home[e] = split
                uses[e] += 1
            asked.add(p.gold)
            sides[p.side] += 1
            if len(p.gold) == 1:
                tiers[split, 0] += 1
                tiers[split, 1] += p.tier == 1
            out[split].append((p, label))
    return out, short


def row(p, label, name, world):
    """One question as a line of train, dev or test."""
    pages = [page(e, f, world) for e, f in p.gold] if p.told else []
    return {
        "id": name,
        "question": p.question,
        "answers": list(p.answers),
        "gold_titles": [t for _, t in pages],
        "family": p.family,
        "failure": label,
        "gold_ids": [i for i, _ in pages],
        "oracle": p.oracle,
        "tier": p.tier,
    }
