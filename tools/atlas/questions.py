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
    tier: int
    side: str = ""  # yes, no, first, second: what must be balanced
    steps: tuple = ()  # (one-hop query, gold passage id) of the hops in between

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


def fame(facts, hidden, world):
    """The tier of the least famous fact, one more if the question hides whom it is about."""
    slots = [world.specs[e.domain]["slots"][name] for e, name in facts]
    known = max(max(e.tier, slot["fame"]) for (e, _), slot in zip(facts, slots, strict=True))
    return min(known + hidden, 3)


def ask(world, family, template, mentions, gold, steps=()):
    """One proposal; mentions = (as asked, with its proper name, with the hops resolved)."""
    asked, named, resolved = mentions
    last, name = gold[-1]
    oracle = {
        REWRITE: template.format(m=named).rstrip("?"),
        DECOMPOSE: template.format(m=resolved).rstrip("?"),
        FOCUS: f"{asked} {world.specs[last.domain]['slots'][name]['keywords']}",
    }
    return Proposal(
        family,
        spoken(template.format(m=asked), family),
        world.answers(last, name),
        gold,
        oracle,
        told=not world.left_out(last, name),
        tier=fame(gold, asked != last.np, world),
        steps=steps,
    )


def one_hop(world):
    """Questions on one slot of one entity: plain searches; trivia with one trouble at a time."""
    for e in world.entities:
        for name, slot in world.specs[e.domain]["slots"].items():
            if not e.get(name):
                continue
            # a search asks for a name, a place or a number, as those of NQ do
            searches = () if slot.get("phrase") else slot["single"]
            ways = [("single", template, e.np) for template in searches]
            ways += [("trivia", template, e.np) for template in slot["trivia"] + slot["oblique"]]
            if e.get("clue"):
                plain = pick(slot["trivia"], "clue", e.id, name)
                ways.append(("trivia", plain, e.get("clue")))
            for family, template, mention in ways:
                yield ask(world, family, template, (mention, e.np, mention), ((e, name),))


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
                    step = phrase2.format(m=second.np), page(second, name2, world)[0]
                    yield from ends(
                        world,
                        "three_hop",
                        phrase2.format(m=mention),
                        ((first, name), (second, name2)),
                        third,
                        (step,),
                    )


def ends(world, family, mention, gold, last, steps=()):
    """All slots of the last entity on a path."""
    for name, slot in world.specs[last.domain]["slots"].items():
        if last.get(name):
            template = pick(slot["trivia"], family, mention, name)
            mentions = (mention, mention, last.np)
            yield ask(world, family, template, mentions, (*gold, (last, name)), steps)


def comparisons(world, partners=2):
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
                        near = alike[:partners] + [b for b in near if b not in alike][:partners]
                    for b in near[: 2 * partners + 1]:
                        if a != b and (side := verdict(kind, rule, a, b)):
                            yield versus(world, spec, rule, kind, a, b, side)


def verdict(kind, rule, a, b):
    """Which answer is right, or None where the two are too close to call."""
    name = rule["field"]
    if kind == "same":
        same = set(a.values(name)) & set(b.values(name))
        return ("yes" if a.get(name) == b.get(name) else None) if same else "no"
    x, y = a.number(name), b.number(name)
    close = (
        max(x, y) < rule["gap_ratio"] * min(x, y)
        if "gap_ratio" in rule
        else (abs(x - y) < rule["gap"])
    )
    return None if close else "first" if (x < y) == (rule["want"] == "min") else "second"


def versus(world, spec, rule, kind, a, b, side):
    """One comparison, with the side that its right answer is on."""
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
    facts = ((a, name), (b, name))
    tier = fame(facts, False, world)
    return Proposal("comparison", question, answers, facts, oracle, True, tier, side)


def proposals(world):
    """All of them, each question once."""
    unique = {}
    for p in (*one_hop(world), *many_hops(world), *comparisons(world)):
        unique.setdefault(p.question, p)
    return list(unique.values())
