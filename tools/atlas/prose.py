"""Turn facts into passages: hand-written templates, picked by a seeded hash of the entity."""

import re
import tomllib
from pathlib import Path

from .facts import dice, pick, slug

DOMAINS = Path(__file__).parent / "domains"
SHORTEST = 51  # words; shorter passages get cross-references
PRONOUNS = {"m": ("he", "his", "him"), "f": ("she", "her", "her"), "": ("it", "its", "it")}


def read_specs():
    """Every domain's templates and questions (domains/*.toml)."""
    specs = {}
    shared = tomllib.loads((DOMAINS / "_person.toml").read_text(encoding="utf-8"))
    for path in sorted(DOMAINS.glob("[!_]*.toml")):
        spec = tomllib.loads(path.read_text(encoding="utf-8"))
        if spec.get("person"):
            for part in ("aspects", "slots", "links", "compare", "relations"):
                spec[part] = {**shared.get(part, {}), **spec.get(part, {})}
        specs[path.stem] = spec
    return specs


def listed(names):
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def is_near(a, b, spec):
    """True if two numbers lie as close as the domain calls close (years, or a ratio)."""
    if "span" in spec:
        return abs(a - b) <= spec["span"]
    return max(a, b) <= spec["span_ratio"] * min(a, b)


def fields(entity, world):
    """What a template may name: the cells that are told, pronouns, neighbours, incoming links."""
    out = {f: world.show(entity, f) for f, _ in entity.cells if not world.left_out(entity, f)}
    he, his, him = PRONOUNS[entity.get("sex")]
    out |= {"np": entity.np, "he": he, "his": his, "him": him, "alias": entity.get("alias")}
    out["short"] = entity.get("short") or (
        entity.name.split()[-1] if entity.get("sex") else entity.np
    )
    for other in world.incoming.get(entity.id, []):
        out.setdefault(f"of_{other.domain}", []).append(other.np)
    rank = world.specs[entity.domain].get("peer")
    if rank and entity.get(rank):
        value, spec = entity.number(rank), world.specs[entity.domain]
        told = [
            e
            for e in world.of(entity.domain)
            if e.get(rank) and e != entity and is_near(e.number(rank), value, spec)
        ]
        peers = sorted(told, key=lambda e: (e.number(rank), e.id))
        lower = [e for e in peers if e.number(rank) < value][-2:]
        upper = [e for e in peers if e.number(rank) > value][:2]
        for key, near in (("lower", lower), ("upper", upper)):
            if near:
                out[key] = pick(near, key, entity.id).np
        near = sorted(told, key=lambda e: dice("near", entity.id, e.id))[:3]
        out["near"] = [e.np for e in near] if len(near) > 1 else ""
    kin = world.specs[entity.domain].get("kin")
    if kin and not world.left_out(entity, kin):
        alike = [
            e
            for e in world.of(entity.domain)
            if e != entity and not world.left_out(e, kin) and e.get(kin) == entity.get(kin)
        ]
        if len(alike) > 1:
            alike.sort(key=lambda e: dice("kin", entity.id, e.id))
            out["kin"] = [e.np for e in alike[:3]]
    return {k: listed(v) if isinstance(v, list) else v for k, v in out.items()}


def article(word):
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def fill(template, values, *seed):
    """One sentence, or "" when a fact that it needs is not told; [a|b] is a seeded choice."""
    names = re.findall(r"\{(\w+)\}", template)
    if not all(values.get(n) for n in names):
        return ""

    def choose(found):
        return pick(found[1].split("|"), template, found.start(), *seed)

    text = re.sub(r"\[([^\[\]]*)\]", choose, template)
    text = re.sub(r"\b[Aa] \{(\w+)\}", lambda f: article(values[f[1]]), text)
    text = re.sub(r"\{(\w+)\}", lambda f: values[f[1]], text)
    return text[:1].upper() + text[1:].replace("..", ".")


def passage(entity, aspect, world):
    """One passage as a corpus row."""
    templates = world.specs[entity.domain]["aspects"][aspect]
    values = fields(entity, world)
    lines = pick(templates, "template", entity.id, aspect).strip().splitlines()
    told = [s for x in lines if (s := fill(x.strip(), values, entity.id))]
    more = sorted(world.specs[entity.domain]["more"], key=lambda m: dice(m, entity.id, aspect))
    named = set()
    for line in more:  # cross-references, where the page would be a stub
        names = set(re.findall(r"\{(near|kin|of_\w+)\}", line))
        short = len(" ".join(told).split()) < SHORTEST
        if short and not names & named and (s := fill(line, values, entity.id, aspect)):
            named |= names
            told.insert(1 + dice("where", line, entity.id) % len(told) if told else 0, s)
    text = " ".join(told)
    if aspect == "overview":
        return {"id": entity.id, "title": entity.title, "text": text}
    return {
        "id": f"{entity.id}-{slug(aspect)}",
        "title": f"{entity.title} ({aspect})",
        "text": text,
    }


def has_facts(entity, aspect, world):
    """False for an aspect of which the table knows nothing (the discoverer of gold)."""
    slots = world.specs[entity.domain]["slots"]
    return any(entity.get(f) for f, s in slots.items() if s["aspect"] == aspect)


def corpus(world):
    """All passages, sorted by id."""
    rows = [
        passage(e, a, world)
        for e in world.entities
        for a in world.specs[e.domain]["aspects"]
        if has_facts(e, a, world)
    ]
    return sorted(rows, key=lambda row: row["id"])
