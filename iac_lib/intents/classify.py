"""From the queries of a conversation to its intent: embedder and head, put together.

Knows text and turns; not what a policy makes of an intent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.files import cache_directory
from iac_lib.intents.classifier import Head
from iac_lib.intents.contexts import CONTEXT_QUERIES
from iac_lib.intents.embedders import E5Small, pool_requests
from iac_lib.intents.embedding_cache import embed_cached
from iac_lib.intents.queries import mark_queries, window_rows
from iac_lib.intents.weights import WeightsError

if TYPE_CHECKING:
    from iac_lib.intents.embedders import Embedder
    from iac_lib.traces.conversations import Conversations

REMEMBERED = 4096


class IntentClassifier:
    """Classify requests by their last four queries (IAC, 4.1).

    Parameters
    ----------
    embedder : Embedder
    head : Head

    Raises
    ------
    WeightsError
        If the head was trained on another embedder.
    """

    def __init__(self, embedder: Embedder, head: Head) -> None:
        if (embedder.key, embedder.dimension) != (head.embedder, head.dimension):
            raise WeightsError(
                f"the head was trained on {head.embedder} ({head.dimension} dimensions), not on "
                f"{embedder.key} ({embedder.dimension}): use that embedder or train another head"
            )
        self.embedder, self.head = embedder, head
        # While a conversation goes on, only its newest query is one that was not seen before.
        self._embed_one = lru_cache(REMEMBERED)(lambda text: embedder.embed([text]))

    @classmethod
    def load(cls, path: str | Path | None = None) -> IntentClassifier:
        """Return the classifier that ``make intents`` trained, on e5-small.

        Parameters
        ----------
        path : path or None
            Weights of a head; None is where ``make intents`` leaves them.

        Raises
        ------
        WeightsError
            If they are missing, damaged, or of another embedder.
        """
        path = cache_directory() / "intents" / "classifier.safetensors" if path is None else path
        if not Path(path).is_file():
            raise WeightsError(f"there is no classifier at {path}: make intents trains one")
        return cls(E5Small(), Head.load(path))

    def label(self, conversations: Conversations) -> Conversations:
        """Return `conversations` with the intent of every turn.

        Parameters
        ----------
        conversations : Conversations
            With ``user_text``. Every query is embedded once, for all the turns it is read in.

        Raises
        ------
        ValueError
            If they carry no text.
        """
        turns = conversations.turns
        if "user_text" not in turns:
            raise ValueError(f"{conversations.name} has no user_text to read intents from")
        means, tokens = embed_cached(self.embedder, mark_queries(turns["user_text"], turns["turn"]))
        pooled = pool_requests(means, tokens, *window_rows(turns["turn"].to_numpy()))
        codes = self.head.logits(pooled).argmax(axis=-1)
        intents = pd.Categorical.from_codes(codes, categories=list(self.head.intents))
        return replace(conversations, turns=turns.assign(intent=intents))

    def predict(
        self, queries: Sequence[Sequence[str]], turns: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Classify many requests; a query that several of them hold is embedded once.

        Parameters
        ----------
        queries : sequence of sequence of str
            For each request its queries, oldest first; of more than four, the last four count.
        turns : sequence of int
            Turn of each request's last query, from 1.

        Returns
        -------
        codes : int64[n]
        probabilities : float32[n, K]

        Raises
        ------
        ValueError
            If a request has no query, or more queries than turns.
        """
        if len(queries) != len(turns):
            raise ValueError(f"{len(queries)} requests and {len(turns)} turns: give one for each")
        windows = [mark_window(q, t) for q, t in zip(queries, turns, strict=True)]
        row = {text: i for i, text in enumerate(dict.fromkeys(t for w in windows for t in w))}
        if not row:
            return np.empty(0, np.int64), np.empty((0, len(self.head.intents)), np.float32)
        means, tokens = self.embedder.embed(list(row))
        rows = np.array([row[text] for window in windows for text in window])
        lengths = np.array([len(window) for window in windows])
        last = lengths.cumsum() - 1
        pooled = pool_requests(means[rows], tokens[rows], last - lengths + 1, last)
        probabilities = self.head.probabilities(pooled)
        return probabilities.argmax(axis=1), probabilities

    def predict_one(self, queries: Sequence[str], turn: int) -> tuple[int, np.ndarray]:
        """Classify one request as it arrives, remembering the embeddings of its queries.

        Parameters
        ----------
        queries : sequence of str
        turn : int
            As in `predict`.

        Returns
        -------
        code : int
        probabilities : float32[K]
        """
        means, tokens = zip(*map(self._embed_one, mark_window(queries, turn)), strict=True)
        ends = np.array([0]), np.array([len(means) - 1])
        pooled = pool_requests(np.concatenate(means), np.concatenate(tokens), *ends)
        probabilities = self.head.probabilities(pooled[0])
        return int(probabilities.argmax()), probabilities


def mark_window(queries: Sequence[str], turn: int) -> list[str]:
    """Return the last four `queries`, marked with their turns; the last is of `turn`.

    Raises
    ------
    ValueError
        If `queries` is not a list of texts, or there cannot be as many at this turn.
    """
    if isinstance(queries, str) or not all(isinstance(query, str) for query in queries):
        raise ValueError(f"queries must be a list of texts, oldest first, got {queries!r:.80}")
    if not (np.isfinite(turn) and turn == int(turn)):
        raise ValueError(f"a turn is a whole number from 1, got {turn}")
    window = queries[-CONTEXT_QUERIES:]
    if not 0 < len(window) <= turn:
        raise ValueError(f"turn {turn} cannot have {len(window)} queries: give those up to it")
    return mark_queries(window, range(int(turn) - len(window) + 1, int(turn) + 1))
