"""How good are predicted classes: accuracy, F1, agreement, and how sure one may be of them.

Pure functions over codes and probabilities; every score is one of a confusion matrix, whose
rows are the truth, and takes a stack of them too. Knows no model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from iac_lib.intents.taxonomy import LEVELS, group_codes

RESAMPLES = 2000


def count_confusion(truth: np.ndarray, predicted: np.ndarray, classes: int) -> np.ndarray:
    """Return int64[K, K]: rows of `truth` (int[n]) by columns of `predicted` (int[n]).

    Raises
    ------
    ValueError
        If the lengths differ or a code is not within 0 and K - 1.
    """
    truth, predicted = np.asarray(truth, np.int64), np.asarray(predicted, np.int64)
    if truth.shape != predicted.shape:
        raise ValueError(f"{len(truth)} true codes, {len(predicted)} predicted ones")
    for name, codes in (("true", truth), ("predicted", predicted)):
        outside = np.flatnonzero((codes < 0) | (codes >= classes))
        if len(outside):
            row = int(outside[0])
            raise ValueError(f"{name} code {codes[row]} in row {row} is not one of {classes}")
    counts = np.bincount(truth * classes + predicted, minlength=classes**2)
    return counts.reshape(classes, classes)


def accuracy(confusion: np.ndarray) -> np.ndarray:
    """Return float64[...]: share on the diagonal of `confusion`, [..., K, K]."""
    return diagonal(confusion).sum(-1) / confusion.sum((-2, -1))


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """Return float64[...]: F1 averaged over the classes that are true or predicted anywhere."""
    twice = 2 * diagonal(confusion)
    total = confusion.sum(-1) + confusion.sum(-2)
    return (twice / np.maximum(total, 1)).sum(-1) / (total > 0).sum(-1)


def cohen_kappa(confusion: np.ndarray) -> np.ndarray:
    """Return float64[...]: agreement beyond chance; NaN where chance alone agrees always."""
    count = confusion.sum((-2, -1))
    chance = (confusion.sum(-1) * confusion.sum(-2)).sum(-1) / count**2
    with np.errstate(invalid="ignore"):
        return (accuracy(confusion) - chance) / np.where(chance == 1, np.nan, 1 - chance)


def diagonal(confusion: np.ndarray) -> np.ndarray:
    """Return float64[..., K]: the diagonals of a stack of matrices."""
    return np.diagonal(confusion, axis1=-2, axis2=-1).astype(np.float64)


def confidence_interval(
    confusion: np.ndarray,
    score: Callable[[np.ndarray], np.ndarray],
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of `score`.

    Drawing n rows with replacement is drawing the cells of the confusion matrix from a
    multinomial: all resamples at once, without the rows.

    Parameters
    ----------
    confusion : int64[K, K]
    score : callable
        `accuracy`, `macro_f1`, `cohen_kappa`, or another of [..., K, K].
    level : float
        Share of the resamples within the interval.
    resamples : int
    seed : int
    """
    count = int(confusion.sum())
    if not count:
        return np.nan, np.nan
    drawn = np.random.default_rng(seed).multinomial(count, confusion.ravel() / count, resamples)
    scores = score(drawn.reshape(resamples, *confusion.shape))
    low, high = np.nanquantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def score_classes(confusion: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Return one row per class: ``intent, precision, recall, f1, true, predicted``.

    Precision of a class that was never predicted and recall of one that never occurred are
    NaN; its F1 is 0 if it occurred at all.

    Parameters
    ----------
    confusion : int64[K, K]
    names : sequence of str
        K names in code order.
    """
    right, true, predicted = diagonal(confusion), confusion.sum(1), confusion.sum(0)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(
            {
                "intent": list(names),
                "precision": right / predicted,
                "recall": right / true,
                "f1": 2 * right / (true + predicted),
                "true": true,
                "predicted": predicted,
            }
        )


def merge_probabilities(probabilities: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return [n, G]: the probabilities of each group's members, summed.

    Parameters
    ----------
    probabilities : float[n, K]
    groups : int64[K]
        Group of each class, as `taxonomy.group_codes` gives them.
    """
    members = groups[:, None] == np.arange(groups.max() + 1)
    return probabilities @ members.astype(probabilities.dtype)


def evaluate_levels(
    truth: np.ndarray, probabilities: np.ndarray, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Score thirty-intent predictions at 30, 20 and 10 intents, merged in two ways.

    ``sum`` takes the group of largest summed probability; ``class`` the group of the most
    probable class. At 30 they are the same.

    Parameters
    ----------
    truth : int[n]
        Codes among the thirty.
    probabilities : float[n, 30]
    resamples, seed : int
        Of the bootstrap, see `confidence_interval`.

    Returns
    -------
    DataFrame
        ``classes, merged_by, accuracy, accuracy_low, accuracy_high, macro_f1, macro_f1_low,
        macro_f1_high, requests``.
    """
    rows = []
    for classes in LEVELS:
        groups = group_codes(classes)
        predictions = {
            "sum": merge_probabilities(probabilities, groups).argmax(axis=1),
            "class": groups[probabilities.argmax(axis=1)],
        }
        for rule, predicted in predictions.items():
            confusion = count_confusion(groups[truth], predicted, classes)
            row = {"classes": classes, "merged_by": rule}
            for score in (accuracy, macro_f1):
                low, high = confidence_interval(confusion, score, resamples=resamples, seed=seed)
                name = score.__name__
                row |= {name: float(score(confusion)), f"{name}_low": low, f"{name}_high": high}
            rows.append({**row, "requests": len(truth)})
    return pd.DataFrame(rows)
