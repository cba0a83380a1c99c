"""How well do scores tell which requests get a follow-up?

Pure functions over labels and scores, whoever made them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from iac_lib.reuse.statistics import fit_statistics

if TYPE_CHECKING:
    from iac_lib.traces.schema import Trace

SURE = 1e-6


def score_by_turn(history: Trace, replay: Trace) -> np.ndarray:
    """Return float64[n]: for each request of `replay`, how often its turn was followed before."""
    by_turn = fit_statistics(history).without_intent().reuse[-1]
    return by_turn[np.minimum(replay.column("turn"), len(by_turn) - 1)]


def area_under_curve(followed: np.ndarray, scores: np.ndarray) -> float:
    """Return how often a followed request scores above one that is not, ties counting half.

    NaN if all are followed or none is.
    """
    positives = int(np.sum(followed))
    negatives = len(followed) - positives
    if not positives or not negatives:
        return float("nan")
    ranks = rankdata(scores)[np.asarray(followed, bool)].sum()
    return float((ranks - positives * (positives + 1) / 2) / (positives * negatives))


def log_loss(followed: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean negative log-likelihood in nats; scores are kept 1e-6 from 0 and 1."""
    chance = np.clip(np.asarray(scores, np.float64), SURE, 1 - SURE)
    return float(-np.log(np.where(followed, chance, 1 - chance)).mean())


def compare_scores(followed: np.ndarray, scores: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return one row per way of scoring: ``scores, auc, log_loss, requests``.

    Parameters
    ----------
    followed : bool[n]
    scores : mapping of str to float64[n]
    """
    return pd.DataFrame(
        {
            "scores": name,
            "auc": area_under_curve(followed, values),
            "log_loss": log_loss(followed, values),
            "requests": len(followed),
        }
        for name, values in scores.items()
    )
