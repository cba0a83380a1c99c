"""Train the classifier's head on cached embeddings (IAC, A.1). Needs torch, imported inside.

The embedder stays frozen and is not seen here: only embeddings and codes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from iac_lib.intents.calibration import calibration_error, fit_temperature
from iac_lib.intents.classifier import HIDDEN, Head
from iac_lib.intents.epochs import Recipe, import_torch, train_best
from iac_lib.intents.evaluation import accuracy, count_confusion, macro_f1
from iac_lib.intents.splits import Split, refuse_leaks, split_stratified

DROPOUT = 0.25
# All of A.1 but the batch size, which the paper does not give.
PAPER_RECIPE = Recipe(3e-3, epochs=25, batch_size=128, weight_decay=0.01, warm_up=0.05)


class TrainedHead(NamedTuple):
    """A head, how its training went epoch by epoch, and which rows it was trained on."""

    head: Head
    curve: pd.DataFrame
    split: Split


def train_head(
    embeddings: np.ndarray,
    codes: np.ndarray,
    intents: Sequence[str],
    embedder: str,
    *,
    about: dict | None = None,
    conversations: np.ndarray | None = None,
    split: Split | None = None,
    recipe: Recipe = PAPER_RECIPE,
    seed: int = 0,
) -> TrainedHead:
    """Train a head and judge it on the test rows of the split.

    Parameters
    ----------
    embeddings : float32[n, d]
        L2-normalised, one per request.
    codes : int[n]
        Position in `intents`.
    intents : sequence of str
    embedder : str
        Name of the embedder that made `embeddings`.
    about : dict or None
        What the card has to say of the text recipe, the data and who labelled it; seed, rows
        of each part and metrics are added.
    conversations : int[n] or None
        Conversation of each row, so that none is on two sides of the split; None says that
        every row is of another.
    split : Split or None
        Default: `split_stratified` with `seed`.
    recipe : Recipe
        Default: the paper's; batches of 128 are ours.
    seed : int
        Of split, first weights, batches and dropout.

    Returns
    -------
    TrainedHead
        The head of the epoch with the best validation macro-F1, not calibrated;
        ``about["metrics"]["temperature"]`` is what `Head.cool` would take.

    Raises
    ------
    ValueError
        If lengths or codes do not fit, there are too few rows to validate on, or a given
        split has a conversation on two sides.
    """
    embeddings, codes = np.asarray(embeddings, np.float32), np.asarray(codes, np.int64)
    if embeddings.ndim != 2 or len(embeddings) != len(codes):
        raise ValueError(f"{len(codes)} codes for embeddings of shape {embeddings.shape}")
    outside = np.flatnonzero((codes < 0) | (codes >= len(intents)))
    if len(outside):
        row = int(outside[0])
        raise ValueError(
            f"row {row} has code {codes[row]}, there are {len(intents)} intents: leave out "
            "requests without a label"
        )
    split = split_stratified(codes, seed, conversations) if split is None else split
    if conversations is not None:
        refuse_leaks(split, conversations)
    cross_entropy = import_torch().nn.functional.cross_entropy
    arrays, curve = train_best(
        build=lambda: build_network(embeddings.shape[1], len(intents)),
        loss=cross_entropy,
        decide=lambda logits: logits.argmax(dim=1),
        recipe=recipe,
        inputs=embeddings,
        targets=codes,
        split=split,
        seed=seed,
    )
    head = Head(arrays, tuple(intents), embedder)
    said = {
        **(about or {}),
        "seed": seed,
        "rows": {part: len(rows) for part, rows in split._asdict().items()},
        "metrics": measure(head, embeddings, codes, split),
    }
    return TrainedHead(Head(arrays, head.intents, embedder, said), curve, split)


def build_network(dimension: int, classes: int):
    """Return the torch network whose weights `Head` reads, with dropout while it trains."""
    nn = import_torch().nn
    wide, narrow = HIDDEN
    return nn.Sequential(
        OrderedDict(
            norm=nn.LayerNorm(dimension),
            hidden1=nn.Linear(dimension, wide),
            gelu1=nn.GELU(),
            dropout1=nn.Dropout(DROPOUT),
            hidden2=nn.Linear(wide, narrow),
            gelu2=nn.GELU(),
            dropout2=nn.Dropout(DROPOUT),
            output=nn.Linear(narrow, classes),
        )
    )


def measure(
    head: Head, embeddings: np.ndarray, codes: np.ndarray, split: Split
) -> dict[str, float]:
    """Return the card's metrics: of the test rows, and the temperature of the validation rows."""
    truth, found = codes[split.test], head.probabilities(embeddings[split.test])
    confusion = count_confusion(truth, found.argmax(axis=1), len(head.intents))
    checked = head.probabilities(embeddings[split.validation])
    return {
        "test_accuracy": float(accuracy(confusion)),
        "test_macro_f1": float(macro_f1(confusion)),
        "test_calibration_error": calibration_error(truth, found),
        "temperature": fit_temperature(codes[split.validation], checked),
    }
