"""Choose from the certified proposals: quotas, splits by entity, balanced sides and tiers."""

from collections import Counter
from itertools import islice

from .facts import dice
from .questions import page

# (split, failure type) -> family -> how many
QUOTAS = {
    ("test", "none"): {"comparison": 30, "bridge": 20, "single": 32, "trivia": 30},
    ("test", "query_misaligned"): {"single": 26, "trivia": 26},
    ("test", "multi_hop_missing"): {"three_hop": 42, "comparison": 20, "bridge": 24},
    ("test", "evidence_not_used"): {"single": 25, "trivia": 25},
    ("test", "insufficient_evidence"): {"three_hop": 12, "bridge": 8, "single": 16, "trivia": 16},
    ("dev", "none"): {"bridge": 12, "single": 27, "trivia": 25},
    ("dev", "query_misaligned"): {"single": 14, "trivia": 14},
    ("dev", "multi_hop_missing"): {"bridge": 28},
    ("dev", "evidence_not_used"): {"single": 11, "trivia": 11},
    ("dev", "insufficient_evidence"): {"bridge": 6, "single": 11, "trivia": 11},
    ("train", "none"): {"bridge": 50, "single": 122, "trivia": 110},
    ("train", "query_misaligned"): {"single": 60, "trivia": 60},
    ("train", "multi_hop_missing"): {"bridge": 120},
    ("train", "evidence_not_used"): {"single": 8, "trivia": 36},
    ("train", "insufficient_evidence"): {"bridge": 24, "single": 48, "trivia": 48},
}
MOST = {"train": 8, "dev": 6, "test": 5}  # questions on one entity
SAME = 3  # questions of a split that end in the same fact
LOOK = 400  # candidates weighed at each choice


def choose(certified):
    """certified: (proposal, label, repairs) -> {split: the same, chosen} and the shortfalls."""
    home, asked = {}, set()
    uses, ends, slots, sides, tiers = (Counter() for _ in range(5))
    out, short = {"train": [], "dev": [], "test": []}, {}
    pools = {}
    for p, label, repairs in sorted(certified, key=lambda c: dice("order", c[0].question)):
        pools.setdefault((label, p.family), []).append((p, repairs))
    jobs = [
        (split, label, family, n)
        for (split, label), wanted in QUOTAS.items()
        for family, n in wanted.items()
    ]
    rare = {"three_hop": 0, "comparison": 1, "bridge": 2}
    jobs.sort(key=lambda j: (rare.get(j[2], 3), len(pools.get(j[1:3], []))))

    def rank(item, split):
        p, repairs = item
        last, field = p.gold[-1]
        famous = tiers[split, 1] < 0.42 * (tiers[split, 0] + 1)
        return (
            sides[p.side] if p.side else 0,
            len(repairs) > 1,
            (p.tier == 1) != famous if len(p.gold) == 1 else False,
            len(p.gold) > 1 and sum(e not in home for e in p.entities),
            slots[split, last.domain, field],
            max(uses[e] for e in p.entities),
        )

    def fits(p, split):
        fresh = p.gold not in asked and ends[split, p.gold[-1]] < SAME
        return fresh and all(
            home.get(e, split) == split and uses[e] < MOST[split] for e in p.entities
        )

    for split, label, family, n in jobs:
        for _ in range(n):
            free = list(
                islice((x for x in pools.get((label, family), []) if fits(x[0], split)), LOOK)
            )
            if not free:
                short[split, label, family] = short.get((split, label, family), 0) + 1
                continue
            p, repairs = min(free, key=lambda x: rank(x, split))
            for e in p.entities:
                home[e] = split
                uses[e] += 1
            asked.add(p.gold)
            ends[split, p.gold[-1]] += 1
            sides[p.side] += 1
            slots[split, p.gold[-1][0].domain, p.gold[-1][1]] += 1
            if len(p.gold) == 1:
                tiers[split, 0] += 1
                tiers[split, 1] += p.tier == 1
            out[split].append((p, label, repairs))
    return out, short


def row(p, label, repairs, name, world):
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
        "repaired_by": repairs,
        "tier": p.tier,
    }
