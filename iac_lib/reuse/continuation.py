"""LPC's predictor: will this conversation go on? From its last queries and its turn.

Trained by `continuation_training`, run with NumPy. Knows embeddings of queries; neither
intents nor caches. What it scores, `policies.lpc.LPC(scores=...)` decays and evicts by.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import expit

from iac_lib.intents.embedders import pool_requests
from iac_lib.intents.weights import WeightsError, read_arrays, read_card, save_weights
from iac_lib.reuse.statistics import TIMEOUT_S

if TYPE_CHECKING:
    from iac_lib.traces.conversations import Conversations
    from iac_lib.traces.schema import Trace

FORMAT = "iac-lib continuation predictor 1"
PROMPTS = 5
WIDTH = 128
LAYERS = ("hidden1", "hidden2", "hidden3", "output")
CARD_FIELDS = ("embedder", "dimension", "about")


def label_turns(conversations: Conversations) -> np.ndarray:
    """Return bool[n]: is each turn followed by another of its conversation?"""
    codes = conversations.codes
    return np.append(codes[1:] == codes[:-1], [False] * min(len(codes), 1))


def label_requests(trace: Trace, timeout_s: float = TIMEOUT_S) -> np.ndarray:
    """Return bool[n]: does each request get a follow-up within `timeout_s` seconds?

    Later ones do not count: by then the conversation is complete (IAC, A.2).
    """
    return trace.next_gap_s <= timeout_s  # False for NaN: no next turn


def find_turns(trace: Trace, conversations: Conversations) -> np.ndarray:
    """Return int64[n]: the row of `conversations` that each request of `trace` comes from.

    Raises
    ------
    ValueError
        Naming the first request whose conversation and turn are not there.
    """
    keys = ["conversation_id", "turn"]
    index = pd.MultiIndex.from_frame(conversations.turns[keys])
    rows = index.get_indexer(pd.MultiIndex.from_frame(trace.requests[keys]))
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        conversation, turn = trace.requests[keys].iloc[int(missing[0])]
        raise ValueError(
            f"{trace.name} has turn {turn} of {conversation!r}, {conversations.name} does not: "
            "give the conversations that the trace was scheduled from"
        )
    return rows.astype(np.int64)


def build_inputs(means: np.ndarray, tokens: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Return float32[n, d + 1]: the embedding of the last five queries, and the log of the turn.

    LPC embeds the five prompts as one text (`prompts.concatenate_prompts`), which is a text of
    its own for every request. Ours pools the embeddings of single queries, which the intent
    classifier has cached: a reconstruction, a fifth of the work or less. The logarithm keeps
    the turn at the scale of the rest (ours).

    Parameters
    ----------
    means : float32[n, d]
        Of each turn's query, as `Embedder.embed` returns them; conversations contiguous.
    tokens : int32[n]
    turns : int[n]
        Running 1, 2, 3 ... within a conversation, as in `Conversations.turns`.
    """
    turns = np.asarray(turns, np.int64)
    last = np.arange(len(turns))
    pooled = pool_requests(means, tokens, last - np.minimum(turns, PROMPTS) + 1, last)
    return np.column_stack([pooled, np.log(turns)]).astype(np.float32)


def name_shapes(dimension: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a predictor with `dimension` inputs."""
    sizes = [dimension, *[WIDTH] * (len(LAYERS) - 1), 1]
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, fan_in, fan_out in zip(LAYERS, sizes[:-1], sizes[1:], strict=True):
        shapes |= {f"{layer}.weight": (fan_out, fan_in), f"{layer}.bias": (fan_out,)}
    return shapes


@dataclass(frozen=True, eq=False)
class ContinuationPredictor:
    """Three hidden layers of 128 with ReLU, and one output (LPC; IAC, A.3).

    Parameters
    ----------
    arrays : dict of str to float32 array
        As `name_shapes` names them.
    embedder : str
        Key of the embedder it was trained on.
    about : dict
        For the card: data, seed, metrics; whatever JSON can hold.

    Raises
    ------
    WeightsError
        If an array is missing or of another shape.
    """

    arrays: dict[str, np.ndarray]
    embedder: str
    about: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = {name: array.shape for name, array in self.arrays.items()}
        needed = name_shapes(found.get("hidden1.weight", (0, 0))[1])
        if found != needed:
            raise WeightsError(f"a continuation predictor needs arrays {needed}, got {found}")

    @property
    def dimension(self) -> int:
        """Number of inputs: those of the embedding, and the turn."""
        return self.arrays["hidden1.weight"].shape[1]

    def logits(self, inputs: np.ndarray) -> np.ndarray:
        """Return float32[n] for `inputs`, float32[n, d + 1] as `build_inputs` makes them."""
        x = inputs
        for layer in LAYERS[:-1]:
            x = np.maximum(x @ self.arrays[f"{layer}.weight"].T + self.arrays[f"{layer}.bias"], 0)
        return (x @ self.arrays["output.weight"].T + self.arrays["output.bias"])[..., 0]

    def score(self, inputs: np.ndarray) -> np.ndarray:
        """Return float64[n]: the probability of a follow-up."""
        return expit(self.logits(inputs).astype(np.float64))

    def save(self, path: str | Path) -> Path:
        """Write weights to `path` (``.safetensors``) and a card (``.json``) beside it."""
        card = {
            "format": FORMAT,
            "embedder": self.embedder,
            "dimension": self.dimension,
            "about": self.about,
        }
        return save_weights(path, self.arrays, card)

    @classmethod
    def load(cls, path: str | Path, embedder: str | None = None) -> ContinuationPredictor:
        """Return the predictor in `path`.

        Parameters
        ----------
        path : str or Path
        embedder : str or None
            Key that it has to have been trained on; None takes any.

        Raises
        ------
        WeightsError
            Saying what does not fit, before any weight is loaded.
        """
        card = read_card(path, FORMAT)
        if missing := [name for name in CARD_FIELDS if name not in card]:
            raise WeightsError(f"the card of {path} lacks {', '.join(missing)}")
        if embedder is not None and card["embedder"] != embedder:
            raise WeightsError(
                f"{path} was trained on {card['embedder']}, not on {embedder}: "
                "use that embedder or train another predictor"
            )
        arrays = read_arrays(path, name_shapes(card["dimension"]))
        return cls(arrays, card["embedder"], card["about"])
