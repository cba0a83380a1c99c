"""JSON Lines, plain or gzipped, read so that a broken line is named and never skipped.

Knows nothing of any trace format; loaders ask for their fields with `need`.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from iac_lib.traces.errors import TraceError

LONGEST_LINE = 64 * 2**20
NUMBER = (int, float)
SHOWN = 80
LARGEST = 2**63 - 1


def read_jsonl(path: str | Path, longest_line: int = LONGEST_LINE) -> Iterator[tuple[int, dict]]:
    """Yield the objects of a JSON Lines file with their line numbers.

    Parameters
    ----------
    path : path
        Decompressed on the fly if it ends in ``.gz``. Blank lines are skipped.
    longest_line : int
        Bytes; a longer line is refused before it fills the memory.

    Yields
    ------
    (int, dict)
        Line number from 1, and the object on it.

    Raises
    ------
    TraceError
        If the file is empty, not UTF-8, truncated, or a line is no JSON object.
    """
    path, found = Path(path), False
    for row, raw in read_lines(path, longest_line):
        if not raw.strip():
            continue
        found = True
        yield row, parse_object(raw, str(path), row)
    if not found:
        raise TraceError(str(path), "is empty; expected one JSON object per line")


def read_lines(path: Path, longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield (line number, bytes of the line)."""
    row = 0
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as lines:
        while True:
            row += 1
            raw = read_line(lines, str(path), row, longest)
            if not raw:
                return
            yield row, raw


def read_line(lines: BinaryIO, source: str, row: int, longest: int) -> bytes:
    """Return the next line, empty at the end of the file."""
    try:
        raw = lines.readline(longest + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        problem = f"gzip data is damaged or cut ({error}); download it again"
        raise TraceError(source, problem, row=row) from error
    if len(raw) > longest:
        raise TraceError(source, f"line is longer than {longest} bytes", row=row)
    return raw


def parse_object(raw: bytes, source: str, row: int) -> dict:
    """Return the JSON object on one line."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        value = raw[error.start : error.start + 8]
        problem = f"is not UTF-8 at byte {error.start} of the line; convert it"
        raise TraceError(source, problem, row=row, column="line", value=value) from error
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        # A whole file ends its last line; without the line break it was probably cut.
        cut = "" if raw.endswith(b"\n") else "; the file seems cut here"
        problem = f"is not valid JSON{cut}: {error}"
        raise TraceError(source, problem, row=row, column="line", value=shorten(text)) from error
    if not isinstance(record, dict):
        problem = "is not a JSON object"
        raise TraceError(source, problem, row=row, column="line", value=shorten(text))
    return record


def shorten(text: str) -> str:
    """Return the end of `text`, where a cut shows."""
    text = text.strip()
    return text if len(text) <= SHOWN else f"...{text[-SHOWN:]}"


def need(
    record: dict,
    field: str,
    kind: type | tuple[type, ...],
    source: str,
    row: int,
    *,
    item: type | None = None,
    least: float | None = None,
    most: float = LARGEST,
):
    """Return a field of a record, checked.

    Parameters
    ----------
    record : dict
        One line of the file.
    field : str
        Its name.
    kind : type or tuple of types
        Such as ``int``, ``str``, ``list`` or `NUMBER`. True and false are no numbers.
    source, row : str, int
        File and line number, named in the error.
    item : type, optional
        What every item of a list must be.
    least, most : float, optional
        Smallest and largest number allowed.

    Raises
    ------
    TraceError
        If the field is missing, of another type, too small, too large, NaN or infinite, or
        holds half a surrogate pair, which is no text.
    """
    if field not in record:
        raise TraceError(source, f"field {field} is missing", row=row, column=field)
    value = record[field]
    kinds = kind if isinstance(kind, tuple) else (kind,)
    where = {"row": row, "column": field}
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(k.__name__ for k in kinds)
        raise TraceError(source, f"must be of type {names}", value=value, **where)
    if item is not None and not set(map(type, value)) <= {item}:
        wrong = next(one for one in value if type(one) is not item)
        raise TraceError(source, f"items must be {item.__name__}", value=wrong, **where)
    if isinstance(value, float) and not math.isfinite(value):
        raise TraceError(source, "must be a finite number", value=value, **where)
    if isinstance(value, int) and abs(value) > most:
        raise TraceError(source, f"must be at most {most}", value=value, **where)
    if isinstance(value, str) and not is_text(value):
        raise TraceError(source, "holds half a surrogate pair", value=value, **where)
    if least is not None and not value >= least:
        raise TraceError(source, f"must be at least {least}", value=value, **where)
    return value


def is_text(text: str) -> bool:
    """Return whether `text` can be written as UTF-8; JSON can spell what cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_number(
    record: dict, field: str, kind: type, source: str, row: int, *, least: float | None = None
):
    """Return a field that holds a number as text, checked as by `need`."""
    text = need(record, field, str, source, row)
    try:
        number = kind(text)
    except ValueError as error:
        problem = f"must be a number of type {kind.__name__}"
        raise TraceError(source, problem, row=row, column=field, value=text) from error
    return need({field: number}, field, kind, source, row, least=least)
