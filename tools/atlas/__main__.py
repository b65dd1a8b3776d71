"""Rebuild the Atlas: `python -m tools.atlas` (add a folder to write elsewhere)."""

import json
import sys
from collections import Counter
from pathlib import Path

from tqdm import tqdm

from skillrag_lite.data import SPLITS

from .certify import Certifier
from .facts import ROOT, dice, read_all
from .picture import draw
from .prose import corpus, read_specs
from .questions import proposals
from .report import datasheet
from .select import choose, row


def build():
    """The facts, all files as {name: rows}, the datasheet, and what the quotas lack."""
    world = read_all(read_specs())
    passages = corpus(world)
    certifier = Certifier(passages, world)
    certified = []
    for p in tqdm(proposals(world), desc="certifying", unit=" questions", delay=2):
        label, repairs = certifier.label(p)
        if label:
            certified.append((p, label, repairs))
    chosen, short = choose(certified)
    files = {"corpus": passages}
    for split, items in chosen.items():
        items.sort(key=lambda item: dice("shuffle", item[0].question))
        files[split] = [
            row(*item, f"atlas-{split}-{n:04d}", world) for n, item in enumerate(items, start=1)
        ]
    return world, files, datasheet(files, world, certifier), short


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "data" / "atlas"
    world, files, sheet, short = build()
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8", newline="\n")
    (folder / "DATASHEET.md").write_text(sheet, encoding="utf-8", newline="\n")
    draw(world, files["corpus"], folder / "map.svg")
    for split in SPLITS:
        counts = Counter(r["failure"] for r in files[split])
        print(f"{split}: {len(files[split])} questions, {dict(sorted(counts.items()))}")
    print(f"corpus: {len(files['corpus'])} passages")
    for key, n in sorted(short.items()):
        print("short of", *key, n)


if __name__ == "__main__":
    main()
