"""WildChat: conversations with ChatGPT, with the times of their answers."""

from __future__ import annotations

from pathlib import Path

from iac_lib.traces.chat_files import read_parts
from iac_lib.traces.chat_tables import CONVERSATION, read_chats
from iac_lib.traces.chat_turns import build_conversations
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.tokenizers import Tokenizer

HUB_NAME = "allenai/WildChat-1M"
ID = "conversation_hash"


def load_wildchat(
    source: str | Path = HUB_NAME, tokenizer: Tokenizer | None = None, limit: int | None = None
) -> Conversations:
    """Return WildChat's conversations, sorted by time.

    WildChat gives a time with each *answer*, when all of it had been received, and none with
    the query. The answer's time stands for the arrival of its turn, so an inter-turn delay is
    answer to answer: the user-to-user delay of the paper, off by the difference of two
    generation times. Where a query has a time of its own, that is used. (The time of the whole
    row is that of the last turn and is not used.)

    Parameters
    ----------
    source : str or path
        The name on the Hugging Face hub, or a Parquet file or a folder of them.
    tokenizer : Tokenizer or None
        Default: Tekken.
    limit : int or None
        Read only the first so many rows, in the order of the files.

    Returns
    -------
    Conversations
        ``start_s`` in seconds since the earliest conversation started, and ``user_text``. A
        conversation ends before its first turn without a time or with one that runs backwards.
        A hash is one of content, which short conversations share, so conversations are told
        apart by it and the ``turn_identifier`` of their first message; those that are there
        twice are left out. All that is left out is counted in ``skipped``.

    Raises
    ------
    TraceError
        If the hub or a file cannot be read, or a value is malformed.

    Source: Zhao et al., "WildChat: 1M ChatGPT Interaction Logs in the Wild", ICLR 2024.
    """
    parts = read_parts(source, [ID, CONVERSATION], stream=limit is not None)
    chats = (chat for part in parts for chat in read_chats(part, ID, "turn_identifier"))
    return build_conversations("wildchat", chats, tokenizer, limit=limit, timed=True)
