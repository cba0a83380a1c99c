"""Train LPC's predictor on embedded conversations. Needs torch, imported inside.

Knows inputs, labels and which conversation each row is of; no text.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pandas as pd

from iac_lib.intents.epochs import Recipe, import_torch, train_best
from iac_lib.intents.splits import Split, refuse_leaks, split_conversations
from iac_lib.reuse.continuation import LAYERS, WIDTH, ContinuationPredictor
from iac_lib.reuse.continuation_quality import area_under_curve, log_loss

# LPC's, but for the batch size (ours).
LPC_RECIPE = Recipe(5e-4, epochs=20, batch_size=256)


class TrainedPredictor(NamedTuple):
    """A predictor, how its training went epoch by epoch, and which rows it was trained on."""

    predictor: ContinuationPredictor
    curve: pd.DataFrame
    split: Split


def train_predictor(
    inputs: np.ndarray,
    followed: np.ndarray,
    conversations: np.ndarray,
    embedder: str,
    *,
    about: dict | None = None,
    split: Split | None = None,
    recipe: Recipe = LPC_RECIPE,
    seed: int = 0,
) -> TrainedPredictor:
    """Train a predictor and judge it on conversations that it has not seen.

    Followed and unfollowed requests weigh alike in the loss. That shifts every logit by one
    constant, which LPC's order does not see but a probability does: it is taken out of the
    last bias again. Inputs are standardised by the training rows, which is folded into the
    first layer. Both, and 80/10/10, are ours.

    Parameters
    ----------
    inputs : float32[n, d + 1]
        As `continuation.build_inputs` makes them.
    followed : bool[n]
        As `continuation.label_turns` or `label_requests` gives them.
    conversations : int[n]
        Conversation of each row: the split is by these, never by row, since the turns of a
        conversation share text and one tells that another was followed.
    embedder : str
        Key of the embedder.
    about : dict or None
        What the card has to say of the data; seed, rows and metrics are added.
    split : Split or None
        Default: `split_conversations` with `seed`.
    recipe : Recipe
        Default: Adam at 5e-4, at most 20 epochs, the best validation macro-F1 kept.
    seed : int

    Raises
    ------
    ValueError
        If lengths differ, a given split has a conversation on two sides, or the training rows
        are all followed or all not.
    """
    inputs, followed = np.asarray(inputs, np.float32), np.asarray(followed, bool)
    if not len(inputs) == len(followed) == len(conversations):
        raise ValueError(
            f"{len(inputs)} inputs, {len(followed)} labels and {len(conversations)} conversations"
        )
    split = split_conversations(conversations, seed) if split is None else split
    refuse_leaks(split, conversations)
    positives = int(followed[split.train].sum())
    negatives = len(split.train) - positives
    if not positives or not negatives:
        raise ValueError("the training rows are all followed or all not: nothing to learn")
    torch = import_torch()
    mean, spread = inputs[split.train].mean(axis=0), inputs[split.train].std(axis=0)
    spread = np.where(spread > 0, spread, 1).astype(np.float32)
    weight = torch.tensor(negatives / positives)

    def loss(logits, targets):
        return torch.nn.functional.binary_cross_entropy_with_logits(
            logits[:, 0], targets.float(), pos_weight=weight
        )

    arrays, curve = train_best(
        build=lambda: build_network(inputs.shape[1]),
        loss=loss,
        decide=lambda logits: (logits[:, 0] > 0).long(),
        recipe=recipe,
        inputs=(inputs - mean) / spread,
        targets=followed.astype(np.int64),
        split=split,
        seed=seed,
    )
    arrays["hidden1.weight"] = arrays["hidden1.weight"] / spread
    arrays["hidden1.bias"] = arrays["hidden1.bias"] - arrays["hidden1.weight"] @ mean
    arrays["output.bias"] = arrays["output.bias"] - np.float32(np.log(negatives / positives))
    predictor = ContinuationPredictor(arrays, embedder)
    truth, scores = followed[split.test], predictor.score(inputs[split.test])
    said = {
        **(about or {}),
        "seed": seed,
        "rows": {part: len(rows) for part, rows in split._asdict().items()},
        "metrics": {
            "test_auc": area_under_curve(truth, scores),
            "test_log_loss": log_loss(truth, scores),
        },
    }
    return TrainedPredictor(ContinuationPredictor(arrays, embedder, said), curve, split)


def build_network(dimension: int):
    """Return the torch network whose weights `ContinuationPredictor` reads."""
    nn = import_torch().nn
    layers, size = OrderedDict(), dimension
    for name in LAYERS[:-1]:
        layers |= {name: nn.Linear(size, WIDTH), f"{name}_relu": nn.ReLU()}
        size = WIDTH
    return nn.Sequential(layers | {LAYERS[-1]: nn.Linear(size, 1)})
