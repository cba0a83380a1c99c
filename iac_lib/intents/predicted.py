"""Intents and follow-up probabilities that were predicted once and travel with the kit.

Predicting them takes an embedding model and half an hour; looking them up takes neither.
They are those of ``sharegpt-prefix``, by conversation and turn; `python -m iac_lib.learn`
makes them anew. Knows no text.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.intents.evaluation import merge_probabilities
from iac_lib.intents.taxonomy import group_codes, load_taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from iac_lib.traces.conversations import Conversations
    from iac_lib.traces.experiment import Experiment
    from iac_lib.traces.schema import Trace

STEPS = 255  # a probability is stored as a whole number of 255ths
KEYS = ["conversation_id", "turn"]
COLUMNS = [*KEYS, "intent", "probabilities", "follow_up"]


class PredictionsMissing(LookupError):
    """Requests for which nothing was predicted."""


@cache
def load_predictions(path: Path | None = None) -> pd.DataFrame:
    """Return what was predicted for every request.

    Parameters
    ----------
    path : Path or None
        A file that `python -m iac_lib.learn` wrote; None is the one for
        ``sharegpt-prefix`` that comes with the kit.

    Returns
    -------
    DataFrame
        Indexed by ``conversation_id, turn``: ``intent`` (code among the thirty),
        ``probabilities`` (uint8[30] in 255ths), ``follow_up`` (probability of a next turn).

    Raises
    ------
    ValueError
        If the file is damaged or holds something else.
    FileNotFoundError
        If there is none.
    """
    if path is None:
        with as_file(files("iac_lib") / "data" / "intents" / "predicted.parquet") as shipped:
            return pd.read_parquet(shipped).set_index(KEYS)
    try:
        table = pq.read_table(path).to_pandas()
    except pa.ArrowException as damage:
        raise ValueError(f"{path} is no whole Parquet file; make it anew ({damage})") from damage
    if missing := [name for name in COLUMNS if name not in table]:
        raise ValueError(
            f"{path} holds no predictions: it lacks {', '.join(missing)}; give a file that "
            "python -m iac_lib.learn wrote"
        )
    return table.set_index(KEYS)


def find_rows(table: pd.DataFrame, path: Path | None = None) -> pd.DataFrame:
    """Return the predictions for the rows of `table`, in their order.

    Raises
    ------
    PredictionsMissing
        If a request was not predicted; it names the first.
    """
    predictions = load_predictions(path)
    rows = predictions.index.get_indexer(pd.MultiIndex.from_frame(table[KEYS]))
    if (rows < 0).any():
        conversation, turn = table[KEYS].iloc[int(np.flatnonzero(rows < 0)[0])]
        raise PredictionsMissing(
            f"{(rows < 0).sum():,} of {len(rows):,} requests have no predicted intent, the first "
            f"is turn {turn} of {conversation}; the shipped predictions are those of "
            "sharegpt-prefix, python -m iac_lib.learn --sharegpt FILE makes those of the whole"
        )
    return predictions.iloc[rows]


def read_probabilities(rows: pd.DataFrame) -> np.ndarray:
    """Return float32[n, 30], rows summing to one, from stored 255ths."""
    shares = np.stack(rows["probabilities"].to_numpy()).astype(np.float32)
    return shares / shares.sum(axis=1, keepdims=True)


def label_conversations(
    conversations: Conversations, classes: int = 30, path: Path | None = None
) -> Conversations:
    """Return `conversations` with the predicted intent of every turn.

    Parameters
    ----------
    conversations : Conversations
    classes : int
        30, or the merged 20 or 10: then the group with the highest summed probability.
    path : Path or None
        As in `load_predictions`.

    Raises
    ------
    PredictionsMissing
        If a turn was not predicted.
    """
    rows = find_rows(conversations.turns, path)
    codes = rows["intent"].to_numpy()
    if classes != 30:
        codes = merge_probabilities(read_probabilities(rows), group_codes(classes)).argmax(axis=1)
    labels = pd.Categorical.from_codes(codes, categories=list(load_taxonomy(classes).names))
    return replace(conversations, turns=conversations.turns.assign(intent=labels))


def score_follow_ups(path: Path | None = None) -> Callable[[Trace], np.ndarray]:
    """Return the function from a trace to its predicted follow-up probabilities.

    It is what `LPC(scores=...)` takes: float64[n], one per request.
    """
    return partial(look_up_follow_ups, path)


def look_up_follow_ups(path: Path | None, trace: Trace) -> np.ndarray:
    """Return float64[n]: the predicted follow-up probability of every request of `trace`."""
    return find_rows(trace.requests, path)["follow_up"].to_numpy(np.float64)


def label_experiment(experiment: Experiment, path: Path | None = None) -> Experiment:
    """Return `experiment` on the same conversations with their predicted intents."""
    return replace(experiment, conversations=label_conversations(experiment.read(), path=path))


def label_if_predicted(conversations: Conversations) -> Conversations:
    """Return `conversations` with the intents that come with the kit, unlabelled if none do."""
    try:
        return label_conversations(conversations)
    except PredictionsMissing:
        return conversations
