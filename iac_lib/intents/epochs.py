"""The one training loop: epochs over shuffled batches, the best on validation is kept.

Needs torch, imported inside. Knows neither intents nor conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.intents.evaluation import count_confusion, macro_f1
from iac_lib.progress import progress

if TYPE_CHECKING:
    import torch

    from iac_lib.intents.splits import Split


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Parameters
    ----------
    learning_rate : float
    epochs : int
        At most; which one is kept is up to validation.
    batch_size : int
    weight_decay : float
        Decoupled, as in AdamW; 0 makes it Adam.
    warm_up : float or None
        Share of all steps over which the rate rises linearly before it falls as a cosine
        to 0. None keeps it constant.
    """

    learning_rate: float
    epochs: int
    batch_size: int
    weight_decay: float = 0.0
    warm_up: float | None = None

    def rate(self, step: int, steps: int) -> float:
        """Return the factor on the learning rate at `step` of `steps`."""
        if self.warm_up is None:
            return 1.0
        rising = max(1, round(self.warm_up * steps))
        if step < rising:
            return (step + 1) / rising
        return 0.5 * (1 + np.cos(np.pi * (step - rising) / max(1, steps - rising)))


def import_torch():
    """Return torch, or say how to get it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("training needs torch, which is not installed: make models") from error
    return torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread: the order of its sums then depends on no core count.

    Networks as small as these gain little from more, and lose much where cores are shared.
    """
    torch = import_torch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train_best(
    build: Callable[[], torch.nn.Module],
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    decide: Callable[[torch.Tensor], torch.Tensor],
    recipe: Recipe,
    inputs: np.ndarray,
    targets: np.ndarray,
    split: Split,
    seed: int = 0,
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """Train a network and return its weights at the epoch of best validation macro-F1.

    Deterministic for a seed on one kind of processor, whatever its number of cores; leaves
    torch's random state and threads as they were.

    Parameters
    ----------
    build : callable
        Makes the network; called after seeding, since its first weights are random.
    loss : callable (outputs, targets) -> scalar
    decide : callable (outputs) -> int64[n]
        The classes that outputs stand for.
    recipe : Recipe
    inputs : float32[n, d]
    targets : int64[n]
    split : Split
        ``train`` is learned from, ``validation`` chooses the epoch, ``test`` is not seen.
    seed : int

    Returns
    -------
    arrays : dict of str to float32 array
    curve : DataFrame
        ``epoch`` (from 1), ``train_loss`` (dropout on), ``validation_loss,
        validation_accuracy, validation_macro_f1`` and ``kept``, true in one row.

    Raises
    ------
    ValueError
        If there is nothing to train on or to validate on, or an input is not finite.
    """
    torch = import_torch()
    for part in ("train", "validation"):
        if not len(getattr(split, part)):
            raise ValueError(f"the split has no {part} rows: {len(targets)} rows are too few")
    if not np.isfinite(inputs).all():
        row = int(np.flatnonzero(~np.isfinite(inputs).all(axis=1))[0])
        raise ValueError(f"input row {row} is not finite: embed it again")
    x, y = torch.as_tensor(np.asarray(inputs, np.float32)), torch.as_tensor(np.asarray(targets))
    train, validation = torch.as_tensor(split.train), torch.as_tensor(split.validation)
    truth, classes = targets[split.validation], int(targets.max()) + 1
    steps = recipe.epochs * -(-len(train) // recipe.batch_size)
    best, kept, curve = -1.0, {}, []
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(seed)
        network = build()
        optimiser = torch.optim.AdamW(
            network.parameters(),
            lr=recipe.learning_rate,
            weight_decay=recipe.weight_decay,
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: recipe.rate(s, steps))
        for epoch in progress(range(1, recipe.epochs + 1), "training"):
            network.train()
            total = 0.0
            for batch in train[torch.randperm(len(train))].split(recipe.batch_size):
                optimiser.zero_grad()
                value = loss(network(x[batch]), y[batch])
                value.backward()
                optimiser.step()
                schedule.step()
                total += value.item() * len(batch)
            network.eval()
            with torch.no_grad():
                outputs = network(x[validation])
                validation_loss = loss(outputs, y[validation]).item()
                decided = decide(outputs).numpy()
            confusion = count_confusion(truth, decided, max(classes, int(decided.max()) + 1))
            score = float(macro_f1(confusion))
            accuracy = float((truth == decided).mean())
            curve.append((epoch, total / len(train), validation_loss, accuracy, score))
            if score > best:
                best, kept = score, {k: v.numpy().copy() for k, v in network.state_dict().items()}
    names = ["epoch", "train_loss", "validation_loss", "validation_accuracy", "validation_macro_f1"]
    frame = pd.DataFrame(curve, columns=names)
    chosen = frame["validation_macro_f1"].idxmax()
    return kept, frame.assign(kept=frame.index == chosen)
