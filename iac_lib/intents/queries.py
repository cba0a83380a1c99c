"""What of a conversation an embedder reads: the last four queries, each marked and cut.

All that a request's queries may take together is 1,024 tokens (IAC, A.1). E5 has 512 positions,
so queries are embedded one by one, a quarter of that each; that is our reconstruction of how the
paper's recipe is run. Knows neither embedder nor tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from iac_lib.intents.contexts import CONTEXT_QUERIES
from iac_lib.traces.sharegpt import mend

REQUEST_TOKENS = 1024
QUERY_TOKENS = REQUEST_TOKENS // CONTEXT_QUERIES


def mark_queries(texts: Iterable[str], turns: Iterable[int]) -> list[str]:
    """Return each query with its turn in front, as in ``[turn 3] And in French?``.

    Halves of surrogate pairs, which no tokenizer takes, become question marks.
    """
    return [f"[turn {turn}] {mend(text)}" for text, turn in zip(texts, turns, strict=True)]


def cut_tokens(ids: Sequence[int], limit: int) -> list[int]:
    """Return `ids`, or the first and the last half of `limit` of them if there are more.

    An odd `limit` gives the head one more than the tail.
    """
    if len(ids) <= limit:
        return list(ids)
    tail = limit // 2
    return [*ids[: limit - tail], *ids[len(ids) - tail :]]


def window_rows(turns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows hold the queries that each request is classified by.

    Parameters
    ----------
    turns : int64[n]
        Turn of each row, conversations contiguous and running 1, 2, 3 ..., as in
        `Conversations.turns`.

    Returns
    -------
    first, last : int64[n]
        Rows first to last, both inclusive, hold the query and up to three before it.
    """
    last = np.arange(len(turns), dtype=np.int64)
    return last - np.minimum(turns, CONTEXT_QUERIES) + 1, last
