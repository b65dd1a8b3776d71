"""Choose from the certified proposals: quotas, splits by entity, balanced sides and tiers."""

from collections import Counter
from itertools import islice

from .facts import dice
from .questions import page

# (split, failure type) -> family -> how many
QUOTAS = {
    ("test", "none"): {"comparison": 30, "bridge": 20, "single": 92, "trivia": 28},
    ("test", "query_misaligned"): {"trivia": 46},
    ("test", "multi_hop_missing"): {"three_hop": 42, "comparison": 20, "bridge": 24},
    ("test", "evidence_not_used"): {"trivia": 46},
    ("test", "insufficient_evidence"): {"three_hop": 12, "bridge": 8, "single": 4, "trivia": 28},
    ("dev", "none"): {"bridge": 12, "single": 44, "trivia": 16},
    ("dev", "query_misaligned"): {"trivia": 26},
    ("dev", "multi_hop_missing"): {"bridge": 28},
    ("dev", "evidence_not_used"): {"trivia": 22},
    ("dev", "insufficient_evidence"): {"bridge": 6, "single": 4, "trivia": 14},
    ("train", "none"): {"bridge": 50, "single": 170, "trivia": 80},
    ("train", "query_misaligned"): {"trivia": 106},
    ("train", "multi_hop_missing"): {"bridge": 110},
    ("train", "evidence_not_used"): {"trivia": 46},
    ("train", "insufficient_evidence"): {"bridge": 24, "single": 14, "trivia": 56},
}
MOST = {"train": 8, "dev": 6, "test": 5}  # questions on one entity
SAME = 3  # questions of a split that end in the same fact
FAMOUS = {"single": 0.45, "trivia": 0.25}  # the share of tier 1
LOOK = 1200  # candidates weighed at each choice


def choose(certified):
    """certified: (proposal, label, repairs) -> {split: the same, chosen} and the shortfalls."""
    home, asked = {}, set()
    uses, ends, slots, sides, tiers = (Counter() for _ in range(5))
    out, short = {"train": [], "dev": [], "test": []}, {}
    pools = {}
    for p, label, repairs in sorted(certified, key=lambda c: dice("order", c[0].question)):
        pools.setdefault((label, p.family), []).append((p, repairs))
    rare = {"three_hop": 0, "comparison": 1, "bridge": 2}

    def turn(job):
        """What is rare goes first, and the splits take turns: each gets its share of the best."""
        split, label, family, progress = job
        return rare.get(family, 3), len(pools.get((label, family), [])), progress, job

    jobs = [
        (split, label, family, (i + 0.5) / n)
        for (split, label), wanted in QUOTAS.items()
        for family, n in wanted.items()
        for i in range(n)
    ]

    def rank(item, split):
        p, repairs = item
        last, field = p.gold[-1]
        share = FAMOUS.get(p.family, 0)
        famous = tiers[split, p.family, True] < share * (tiers[split, p.family, False] + 1)
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

    for split, label, family, _ in sorted(jobs, key=turn):
        fitting = (x for x in pools.get((label, family), []) if fits(x[0], split))
        free = list(islice(fitting, LOOK))
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
        tiers[split, family, False] += 1
        tiers[split, family, True] += p.tier == 1
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
