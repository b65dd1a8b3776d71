"""The store: a content-addressed record of everything the backbone said.

One SQLite file, one row a reply. The key is a hash of all that determines the reply, so every
method shares it, a killed run resumes, and a chapter replays without a model.
"""

import hashlib
import json
import sqlite3
import zlib
from dataclasses import asdict
from pathlib import Path

import numpy as np

from .attended import Attended
from .generation import POOLS, Decoding, Generation, Scored, Usage
from .profiles import Profile
from .prompts import Prompt

SCHEMA = "CREATE TABLE IF NOT EXISTS rows (key TEXT PRIMARY KEY, body BLOB, digest BLOB)"


class StoreError(RuntimeError):
    """A row cannot be had; the message names it and says what to do."""


def key(profile: Profile, prompt: Prompt, how) -> str:
    """The hash of the weights, their precision, the prompt, the settings and the tapped layers."""
    content = [
        profile.fingerprint, profile.precision, profile.chat, list(profile.kept_layers), POOLS,
        [prompt.shots, prompt.ask, prompt.lead],
        list(vars(how).items()) if isinstance(how, Decoding) else how,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()


def pack(data: dict, states: dict[str, np.ndarray], bits: int) -> bytes:
    """JSON and arrays as bytes: states as float16, or as int8 with one scale a layer."""
    head, blobs = dict(data, states=[]), []
    for pool, values in sorted(states.items()):  # values: (n_kept_layers, d_model)
        if bits == 8:
            scale = np.maximum(np.abs(values).max(-1, keepdims=True), 1e-9) / 127
            blobs += [scale.astype("<f4"), np.round(values / scale).astype("i1")]
        else:
            blobs += [values.astype("<f2")]
        head["states"].append([pool, *values.shape, bits])
    text = json.dumps(head, ensure_ascii=False).encode()
    return zlib.compress(text + b"\0" + b"".join(b.tobytes() for b in blobs), 9)


def unpack(body: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """The data and the states (float32) that `pack` wrote."""
    text, _, rest = zlib.decompress(body).partition(b"\0")
    data, states = json.loads(text), {}
    for pool, layers, width, bits in data.pop("states"):
        scale = 1.0
        if bits == 8:
            scale = np.frombuffer(rest[: 4 * layers], "<f4")[:, None]
            rest = rest[4 * layers :]
        size = layers * width * bits // 8
        flat = np.frombuffer(rest[:size], "i1" if bits == 8 else "<f2")
        states[pool] = flat.reshape(layers, width).astype(np.float32) * scale
        rest = rest[size:]
    return data, states


def thin(body: bytes, pools) -> bytes:
    """The packed row with the states of these pools only, bit for bit as they were."""
    text, _, rest = zlib.decompress(body).partition(b"\0")
    head, blobs = json.loads(text), []
    for pool, layers, width, bits in head["states"]:
        size = layers * width * bits // 8 + (4 * layers if bits == 8 else 0)
        blobs, rest = blobs + [rest[:size]] * (pool in pools), rest[size:]
    head["states"] = [row for row in head["states"] if row[0] in pools]
    text = json.dumps(head, ensure_ascii=False).encode()
    return zlib.compress(text + b"\0" + b"".join(blobs), 9)


class Store:
    """One SQLite file of checksummed rows; several processes may write to it at once.

    `bits` is 8 (states as int8 with a scale a layer) or 16 (as float16: twice the size). With
    `readonly` no right to write is needed; with `repair` a corrupt row counts as absent.
    """

    def __init__(self, path: str | Path, bits=8, readonly=False, repair=False):
        self.path, self.bits, self.repair = Path(path), bits, repair
        if readonly:
            if not self.path.is_file():
                raise StoreError(
                    f"there are no recordings at {path}: make them with "
                    "`python -m skillrag_lite record`"
                )
            uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            self._db = sqlite3.connect(uri, uri=True, timeout=60)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(self.path, timeout=60)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        with self._db:
            self._db.execute(SCHEMA)

    def get(self, key: str) -> Generation | Scored | Attended | None:
        """The row of that key, or None if it was never written.

        Raises StoreError where the row's bytes are not those that were written.
        """
        found = self._db.execute("SELECT body, digest FROM rows WHERE key = ?", (key,)).fetchone()
        if found is None:
            return None
        body, digest = found
        if hashlib.sha256(body).digest() != digest:
            if self.repair:
                return None
            raise StoreError(
                f"row {key} of {self.path} is corrupt: open the store with repair=True, and it is "
                "computed again"
            )
        data, states = unpack(body)
        if "answer" in data:
            return Generation.from_plain(data, states)
        usage = Usage(**data["usage"])
        if "focus" in data:
            return Attended(tuple(data["received"]), tuple(map(tuple, data["focus"])), usage)
        return Scored(tuple(data["logprobs"]), usage)

    def __contains__(self, key: str) -> bool:
        if self.repair:  # a corrupt row is to be computed again
            return self.get(key) is not None
        return self._db.execute("SELECT 1 FROM rows WHERE key = ?", (key,)).fetchone() is not None

    def put(self, rows: dict[str, Generation | Scored | Attended]) -> None:
        """Write the rows of one batch in one transaction."""
        packed = []
        for name, row in rows.items():
            generated = isinstance(row, Generation)
            body = pack(row.plain() if generated else asdict(row),
                        row.states if generated else {}, self.bits)  # fmt: skip
            packed.append((name, body, hashlib.sha256(body).digest()))
        with self._db:
            self._db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", packed)

    def keys(self) -> list[str]:
        """Every key, sorted."""
        return [k for (k,) in self._db.execute("SELECT key FROM rows ORDER BY key")]

    def export(self, path: str | Path, kept: dict[str, tuple[str, ...]]) -> None:
        """Copy rows into a new file that needs no log beside it: a recording.

        `kept` maps their keys to the pools whose states are copied with them.
        """
        path = Path(path)
        path.unlink(missing_ok=True)
        copy = sqlite3.connect(path)
        copy.execute("PRAGMA page_size=1024")  # a row ends within a page: larger ones waste more
        rows = []
        for key, pools in sorted(kept.items()):
            [body] = self._db.execute("SELECT body FROM rows WHERE key = ?", (key,)).fetchone()
            body = thin(body, pools)
            rows.append((key, body, hashlib.sha256(body).digest()))
        with copy:
            copy.execute(SCHEMA)
            copy.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
        copy.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()
