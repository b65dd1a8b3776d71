"""Propose questions: every slot of every entity, asked in several ways and through links.

A question has three parts, and each skill mends one: the *mention* (a name, or a description that
shares no words with the page: rewrite), the *hops* from the mention to the page that holds the
answer (decompose), and the *slot* in everyday or in the corpus's words (focus). The oracle query
of a skill changes its own part and leaves the other two as they were asked.
"""

from dataclasses import dataclass, field

from .facts import dice, pick
from .prose import slug

REWRITE, DECOMPOSE, FOCUS = "query_misaligned", "multi_hop_missing", "evidence_not_used"


@dataclass(frozen=True)
class Proposal:
    """A question before its failure type is known."""

    family: str
    question: str
    answers: tuple[str, ...]
    gold: tuple  # (entity, field) from the first page to the one with the answer
    oracle: dict = field(hash=False)
    told: bool  # False: the last fact is in no passage
    side: str = ""  # yes, no, first, second: what must be balanced
    tier: int = 0

    @property
    def entities(self):
        return {e.id for e, _ in self.gold}


def page(entity, field_name, world):
    """The id and title of the passage that tells a fact."""
    aspect = world.specs[entity.domain]["slots"][field_name]["aspect"]
    if aspect == "overview":
        return entity.id, entity.title
    return f"{entity.id}-{slug(aspect)}", f"{entity.title} ({aspect})"


def spoken(text, family):
    """The question's surface: search-style is lower case, the rest a sentence."""
    if family == "single":
        return text.lower().rstrip("?")
    return text[0].upper() + text[1:].rstrip("?") + "?"


def ask(family, template, mentions, slot, gold, answers, told, tier):
    """One proposal; mentions = (as asked, with its proper name, with the hops resolved)."""
    asked, named, resolved = mentions
    oracle = {
        REWRITE: template.format(m=named).rstrip("?"),
        DECOMPOSE: template.format(m=resolved).rstrip("?"),
        FOCUS: f"{asked} {slot['keywords']}",
    }
    return Proposal(
        family, spoken(template.format(m=asked), family), answers, gold, oracle, told, tier=tier
    )


def one_hop(world):
    """Search-style and trivia questions on one slot of one entity."""
    for e in world.entities:
        for name, slot in world.specs[e.domain]["slots"].items():
            if not e.get(name):
                continue
            told = not world.left_out(e, name)
            for family, plain in (("single", slot["single"]), ("trivia", slot["trivia"])):
                for template in plain + slot["oblique"]:
                    for mention in filter(None, (e.np, e.get("clue"))):
                        if mention != e.np and template in slot["oblique"]:
                            continue  # one trouble at a time
                        yield ask(
                            family,
                            template,
                            (mention, e.np, mention),
                            slot,
                            ((e, name),),
                            world.answers(e, name),
                            told,
                            e.tier,
                        )


def hops(world, entity):
    """Every link that can be asked through: (field, how one says it, the entity reached)."""
    for name, relation in world.specs[entity.domain].get("relations", {}).items():
        target = world.link(entity, name)
        if target and not world.left_out(entity, name):
            yield name, pick(relation["np"], "np", entity.id, name), target


def many_hops(world):
    """Bridge questions (two pages) and three-hop questions (three pages)."""
    for first in world.entities:
        for name, phrase, second in hops(world, first):
            mention = phrase.format(m=first.np)
            yield from ends(world, "bridge", mention, ((first, name),), second)
            for name2, phrase2, third in hops(world, second):
                if third not in (first, second):
                    yield from ends(
                        world,
                        "three_hop",
                        phrase2.format(m=mention),
                        ((first, name), (second, name2)),
                        third,
                    )


def ends(world, family, mention, gold, last):
    """All slots of the last entity on a path."""
    for name, slot in world.specs[last.domain]["slots"].items():
        if last.get(name):
            template = pick(slot["trivia"], family, mention, name)
            yield ask(
                family,
                template,
                (mention, mention, last.np),
                slot,
                (*gold, (last, name)),
                world.answers(last, name),
                not world.left_out(last, name),
                last.tier,
            )


def comparisons(world, partners=6):
    """Either-or and yes/no questions on two entities of one domain."""
    for domain, spec in world.specs.items():
        for kind in ("compare", "same"):
            for key, rule in spec.get(kind, {}).items():
                name = rule["field"]
                pool = [e for e in world.of(domain) if e.get(name) and not world.left_out(e, name)]
                for a in pool:
                    near = sorted(pool, key=lambda b: dice("pair", key, a.id, b.id))
                    if kind == "same":  # as many alike as unlike
                        alike = [b for b in near if b.get(name) == a.get(name)]
                        near = (
                            alike[: partners // 2 + 1]
                            + [b for b in near if b not in alike][: partners // 2]
                        )
                    for b in near[: partners + 1]:
                        if a != b and (side := verdict(kind, rule, a, b)):
                            yield versus(world, spec, rule, kind, a, b, side)


def verdict(kind, rule, a, b):
    """Which answer is right, or None where the two are too close to call."""
    name = rule["field"]
    if kind == "same":
        same = set(a.values(name)) & set(b.values(name))
        return ("yes" if a.get(name) == b.get(name) else None) if same else "no"
    x, y = float(a.get(name)), float(b.get(name))
    close = (
        max(x, y) < rule["gap_ratio"] * min(x, y)
        if "gap_ratio" in rule
        else (abs(x - y) < rule["gap"])
    )
    return None if close else "first" if (x < y) == (rule["want"] == "min") else "second"


def versus(world, spec, rule, kind, a, b, side):
    name = rule["field"]
    slot = spec["slots"][name]
    question = pick(rule["q"], a.id, b.id).format(a=a.np, b=b.np)
    winner = {"first": a, "second": b}.get(side)
    answers = (
        (side,) if kind == "same" else tuple(dict.fromkeys([winner.name, *winner.values("alias")]))
    )
    oracle = {
        REWRITE: question.rstrip("?"),
        DECOMPOSE: f"{b.np} {slot['keywords']}",
        FOCUS: f"{a.np} {b.np} {slot['keywords']}",
    }
    return Proposal(
        "comparison",
        question,
        answers,
        ((a, name), (b, name)),
        oracle,
        True,
        side,
        max(a.tier, b.tier),
    )


def proposals(world):
    """All of them, each question once."""
    unique = {}
    for p in (*one_hop(world), *many_hops(world), *comparisons(world)):
        unique.setdefault(p.question, p)
    return list(unique.values())
