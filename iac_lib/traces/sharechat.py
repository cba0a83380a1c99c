"""ShareChat: conversations that users of five chatbots shared by link, some with times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from iac_lib.traces.chat_files import Part, find_files, read_parts
from iac_lib.traces.chat_tables import read_strings
from iac_lib.traces.chat_times import read_times
from iac_lib.traces.chat_turns import Chat, build_conversations
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError
from iac_lib.traces.pairing import Message
from iac_lib.traces.tokenizers import Tokenizer

HUB_NAME = "tucnguyen/ShareChat"
PLATFORMS = ("chatgpt", "claude", "gemini", "grok", "perplexity")
ID, INDEX, ROLE, TEXT, TIME = "url", "message_index", "role", "plain_text", "message_create_time"
NO_TEXT = "message without text"
REPEATED = "message that is there twice"


class Row(NamedTuple):
    """One message and where it stands."""

    source: str
    number: int
    url: str
    index: float
    message: Message


def load_sharechat(
    source: str | Path = HUB_NAME,
    tokenizer: Tokenizer | None = None,
    limit: int | None = None,
    *,
    timed: bool = True,
) -> Conversations:
    """Return ShareChat's conversations, sorted by time.

    The data set has a table for each platform and a row for each message: ``url`` (which
    conversation), ``message_index``, ``role``, ``plain_text``. Only ChatGPT's and Grok's have
    a time with each message (``message_create_time``), and that of the query is the arrival
    of its turn; where it is missing, its answer's stands for it. Claude's have no times,
    Gemini's and Perplexity's one for the whole conversation: without inter-turn delays they
    are left out unless `timed` is False.

    Parameters
    ----------
    source : str or path
        The name on the Hugging Face hub, or a CSV or Parquet file or a folder of them.
    tokenizer : Tokenizer or None
        Default: Tekken.
    limit : int or None
        Read only the first so many conversations, platform by platform.
    timed : bool
        False: all conversations, in data-set order and without ``start_s``.

    Returns
    -------
    Conversations
        ``start_s`` in seconds since the earliest conversation started, and ``user_text``. A
        conversation ends before its first turn without a time or with one that runs backwards.
        What was left out is in ``skipped``.

    Raises
    ------
    TraceError
        If the hub or a file cannot be read, a value is malformed, or the messages of a
        conversation are not together.

    Source: Yan et al., "ShareChat: A Dataset of Chatbot Conversations in the Wild",
    arXiv:2512.17843, 2025.
    """
    skipped: Counter[str] = Counter()
    configs = PLATFORMS if find_files(source) is None else (None,)
    parts = chain.from_iterable(
        read_parts(
            source, (ID, INDEX, ROLE, TEXT), (TIME,), stream=limit is not None, config=config
        )
        for config in configs
    )
    chats = join_messages(chain.from_iterable(map(read_rows, parts)), skipped)
    return build_conversations(
        "sharechat", chats, tokenizer, limit=limit, skipped=skipped, timed=timed
    )


def read_rows(part: Part) -> Iterator[Row]:
    """Yield the messages of some rows, an absent text as an empty one."""
    source, first_row = part.source, part.first_row
    columns = {name: part.table.column(name).combine_chunks() for name in part.table.column_names}
    urls, roles, texts = (
        read_strings(columns[name], source, name, lambda i: first_row + i, empty=name == TEXT)
        for name in (ID, ROLE, TEXT)
    )
    times = (
        read_times(columns[TIME], source, TIME) if TIME in columns else np.full(len(urls), np.nan)
    )
    given = columns[INDEX].to_pylist()
    indices = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce").to_numpy(np.float64)
    if len(bad := np.flatnonzero(~np.isfinite(indices))):
        i = int(bad[0])
        row, value = first_row + i, given[i]
        raise TraceError(source, "must be a number", row=row, column=INDEX, value=value)
    messages = map(Message, roles, texts, times.tolist())
    for i, (url, index, message) in enumerate(zip(urls, indices, messages, strict=True)):
        yield Row(source, first_row + i, url, index, message)


def join_messages(rows: Iterable[Row], skipped: Counter[str]) -> Iterator[Chat]:
    """Yield conversations, messages by index; the rows of each must be together."""
    last: dict[str, float] = {}
    for url, group in groupby(rows, key=lambda row: row.url):
        ordered = sorted(group, key=lambda row: row.index)
        first = ordered[0]
        if first.index > last.get(url, np.inf):
            problem = "messages of a conversation are not together; sort by url, message_index"
            raise TraceError(first.source, problem, row=first.number, column=ID, value=url)
        last[url] = ordered[-1].index
        once: dict[tuple, Message] = {}
        for row in ordered:
            # A query and its answer may share an index.
            once.setdefault((row.index, row.message.role), row.message)
        skipped[REPEATED] += len(ordered) - len(once)
        skipped[NO_TEXT] += sum(not message.text for message in once.values())
        yield Chat(url, list(once.values()))
