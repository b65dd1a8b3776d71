"""Read the fact tables: one CSV a domain, one row an entity."""

import csv
import hashlib
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

SEED = 20260
ROOT = Path(__file__).resolve().parents[2]
FACTS = ROOT / "data" / "atlas" / "facts"


def dice(*parts):
    """A whole number that depends only on the seed and the parts: our source of chance."""
    text = "|".join(map(str, (SEED, *parts)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big")


def pick(options, *parts):
    """One of the options, always the same one for the same parts."""
    return options[dice(*parts) % len(options)]


def slug(text):
    """An identifier made of plain letters, digits and hyphens."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


@dataclass(frozen=True)
class Entity:
    """One row: its domain and its cells; a cell may hold several values, parted by `|`."""

    domain: str
    cells: tuple[tuple[str, str], ...]

    def values(self, field):
        return [v for v in dict(self.cells).get(field, "").split("|") if v]

    def get(self, field):
        return next(iter(self.values(field)), "")

    def number(self, field):
        """The cell as a number; years BC are negative."""
        value = self.get(field)
        return -float(value[:-3]) if value.endswith(" BC") else float(value)

    @property
    def name(self):
        return self.get("name")

    @property
    def title(self):
        return self.get("title") or self.name

    @property
    def id(self):
        return f"{self.domain}-{slug(self.title)}"

    @property
    def tier(self):
        return int(self.get("tier"))

    @property
    def np(self):
        """The name as it stands in a sentence: "the Danube", "Paris"."""
        return f"{self.get('art')} {self.name}".strip()


class World:
    """All entities, and the links between them: a cell that names another row is a link."""

    def __init__(self, entities, specs):
        self.entities, self.specs = entities, specs
        self.by_name = {(e.domain, n): e for e in entities for n in (e.name, e.np)}
        self.incoming = {}  # id -> the entities whose told cells name it
        for e in entities:
            for field in specs[e.domain].get("links", {}):
                if (target := self.link(e, field)) and not self.left_out(e, field):
                    self.incoming.setdefault(target.id, []).append(e)

    def of(self, domain):
        return [e for e in self.entities if e.domain == domain]

    def link(self, entity, field):
        """The entity that this cell names, or None."""
        for domain in self.specs[entity.domain].get("links", {}).get(field, []):
            if found := self.by_name.get((domain, entity.get(field))):
                return found
        return None

    def show(self, entity, field):
        """The cell as prose shows it."""
        target = self.link(entity, field)
        return target.np if target else entity.get(field)

    def left_out(self, entity, field):
        """True for the facts (about one in nine) that no passage tells."""
        slots = self.specs[entity.domain].get("slots", {})
        return field in slots and dice("left out", entity.id, field) % 9 == 0

    def answers(self, entity, field):
        """Every accepted form of a cell, the shown one first."""
        target = self.link(entity, field)
        extra = [target.name, *target.values("alias")] if target else []
        return tuple(dict.fromkeys(entity.values(field) + extra))


def read_table(path):
    """The rows of one table as entities; lines that begin with # are its header comment."""
    lines = [x for x in path.read_text(encoding="utf-8").splitlines() if x and x[0] != "#"]
    rows = csv.DictReader(lines)
    out = []
    for row in rows:
        if None in row or None in row.values():
            raise ValueError(f"{path.name}: wrong number of cells in {row}")
        out.append(Entity(path.stem, tuple(row.items())))
    return out


def read_all(specs):
    """Every table in the order of its file name."""
    entities = [e for p in sorted(FACTS.glob("*.csv")) for e in read_table(p)]
    return World(entities, specs)
