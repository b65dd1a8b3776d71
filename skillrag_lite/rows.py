"""Rows: JSON out of files that other people wrote, and the texts in it made fit to read."""

import codecs
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

LONGEST_LINE = 1_000_000  # bytes; a passage is a paragraph, so a longer line is something else
# Spaces and quotes that a tokeniser left behind. What may be meant, as in "1914 - 1918", stays.
MENDS = (
    (r"`` ?(.+?) ?''", r' "\1" '),  # ``Mac ''or → "Mac" or
    (r"(\S)([(\[]) ", r"\1 \2"),  # Vienna( the capital → Vienna (the capital
    (r"([(\[]) ", r"\1"),
    (r" ([,.;:?!)\]])(?![\w.])", r"\1"),  # the end . → the end.
    (r"(\w) (n't|'s)\b(?![-'])", r"\1\2"),  # wo n't → won't
    (r"(\w)- (?!and |or |to )(\w)", r"\1-\2"),  # half- brother → half-brother
)


class DataError(ValueError):
    """A file of questions or passages is missing or wrong; the message says where and how."""


def read_bytes(path: str | Path) -> bytes:
    """Return what a file holds. Raises DataError."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check the path") from None


def json_lines(path: str | Path) -> Iterator[tuple[int, object]]:
    """Yield the number and the JSON value of every line that is not blank. Raises DataError."""
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise DataError(
                f"{path}:{number}: the line is longer than {LONGEST_LINE:,} bytes: "
                f"write one JSON object a line, and cut long texts into paragraphs"
            )
        if line.removeprefix(codecs.BOM_UTF8).strip():
            yield number, parse_json(f"{path}:{number}", line)


def parse_json(place: str, content: bytes) -> object:
    """Return the value of UTF-8 JSON, or raise a DataError that begins with `place`."""
    try:
        return json.loads(content.decode("utf-8-sig"))  # some editors put a mark before the text
    except UnicodeError:
        raise DataError(f"{place}: not UTF-8 text: save the file as UTF-8") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}: broken JSON at character {error.pos + 1} ({error.msg})"
        ) from None
    except RecursionError:
        raise DataError(f"{place}: broken JSON (nested too deeply)") from None
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"{place}: broken JSON ({error})") from None


def clean(value: object, name: str) -> str:
    """Return a text without HTML entities (some sources carry them) and outer spaces.

    Raises ValueError, which says what is wrong with the field of that name.
    """
    if value is None:
        raise ValueError(f"{name!r} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{name!r} must be text, not {type(value).__name__}")
    try:
        value.encode("utf-8")
    except UnicodeError:  # JSON may carry half a character, which no tokeniser can read
        raise ValueError(f"{name!r} is not UTF-8 text: it holds half a character") from None
    value = html.unescape(value).strip()
    if not value:
        raise ValueError(f"{name!r} is empty")
    return value


def mend(text: str) -> str:
    """Put spaces and quotes where a writer would, in a text that a tokeniser has been through."""
    # A quote that opens stands off the text it opens: the novel" Emma" is → the novel "Emma" is
    if text.count('"') % 2 == 0:
        pair = r'(?<!\d) ?" ([^"]*[\w.,!?])"(?!\w)|"[^"]*"'
        text = re.sub(pair, lambda m: f' "{m[1]}"' if m[1] else m[0], text)
    for pattern, repair in MENDS:
        text = re.sub(pattern, repair, " ".join(text.split()))
    return " ".join(text.split())
