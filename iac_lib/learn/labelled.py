"""Labelled requests as rows of the data set, and their embeddings.

Knows no network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from iac_lib.intents.embedders import Embedder, pool_requests
from iac_lib.intents.embedding_cache import embed_cached
from iac_lib.intents.gold import load_gold, load_training
from iac_lib.intents.predicted import KEYS
from iac_lib.intents.queries import mark_queries, window_rows
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.traces.conversations import Conversations

INTENTS = load_taxonomy(30).names


@dataclass(frozen=True)
class Labelled:
    """Labelled requests as rows of the data set.

    Parameters
    ----------
    gold : DataFrame
        `load_gold` with ``row`` and ``history``, true in the first half of the conversations.
    training : DataFrame
        ``row, code, conversation`` of what heads are trained on: the training labels and the
        gold contexts that are neither of the test part nor replayed.
    """

    gold: pd.DataFrame
    training: pd.DataFrame


def find_labelled(conversations: Conversations) -> Labelled:
    """Return the labelled requests among `conversations`."""
    codes = conversations.codes
    early = codes < len(conversations) // 2
    index = pd.MultiIndex.from_frame(conversations.turns[KEYS])

    def place(labels: pd.DataFrame) -> pd.DataFrame:
        row = index.get_indexer(pd.MultiIndex.from_frame(labels[KEYS]))
        if (row < 0).any():
            raise LookupError(f"{(row < 0).sum()} labels are of requests that are not there")
        return labels.assign(row=row, history=early[row], conversation=codes[row])

    gold = place(load_gold())
    used = [place(load_training()), gold[(gold["part"] == "train") & gold["history"]]]
    training = pd.concat(used, ignore_index=True)
    training["code"] = pd.Categorical(training["intent"], categories=INTENTS).codes
    return Labelled(gold, training[["row", "code", "conversation"]])


def embed_requests(
    embedder: Embedder, conversations: Conversations, rows: np.ndarray
) -> np.ndarray:
    """Return float32[n, d]: embeddings of the requests in `rows`, from their last four queries."""
    turns = conversations.turns
    first, last = (ends[rows] for ends in window_rows(turns["turn"].to_numpy()))
    needed = np.unique(np.concatenate([last - back for back in range(4)]))
    needed = needed[needed >= 0]
    chosen = turns.iloc[needed]
    means, tokens = embed_cached(embedder, mark_queries(chosen["user_text"], chosen["turn"]))
    return pool_requests(
        means, tokens, np.searchsorted(needed, first), np.searchsorted(needed, last)
    )
