"""LMSys-Chat-1M: conversations of the Vicuna demo and Chatbot Arena, without any times."""

from __future__ import annotations

from pathlib import Path

from iac_lib.traces.chat_files import read_parts
from iac_lib.traces.chat_tables import CONVERSATION, read_chats
from iac_lib.traces.chat_turns import build_conversations
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.tokenizers import Tokenizer

HUB_NAME = "lmsys/lmsys-chat-1m"
ID = "conversation_id"


def load_lmsys(
    source: str | Path = HUB_NAME, tokenizer: Tokenizer | None = None, limit: int | None = None
) -> Conversations:
    """Return LMSys-Chat's conversations, in data-set order.

    Parameters
    ----------
    source : str or path
        The name on the Hugging Face hub, or a Parquet file or a folder of them.
    tokenizer : Tokenizer or None
        Default: Tekken.
    limit : int or None
        Read only the first so many rows.

    Returns
    -------
    Conversations
        With ``user_text`` and without ``start_s``; what was left out is in ``skipped``.

    Raises
    ------
    TraceError
        If the hub or a file cannot be read, or a value is malformed.

    Source: Zheng et al., "LMSYS-Chat-1M: A Large-Scale Real-World LLM Conversation Dataset",
    ICLR 2024.
    """
    parts = read_parts(source, [ID, CONVERSATION], stream=limit is not None)
    chats = (chat for part in parts for chat in read_chats(part, ID))
    return build_conversations("lmsys", chats, tokenizer, limit=limit, timed=False)
