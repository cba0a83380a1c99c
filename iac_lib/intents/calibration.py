"""Does a probability of 0.8 come true eight times in ten, and if not, by how much to cool?

Pure functions over codes and probabilities; `Head.cool` applies a temperature for good.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from iac_lib.traces.describe import wilson_interval

BINS = 15
HOTTEST = 100.0


def tabulate_reliability(
    truth: np.ndarray, probabilities: np.ndarray, bins: int = BINS
) -> pd.DataFrame:
    """Return one row per bin of equal width: how sure, how often right.

    Parameters
    ----------
    truth : int[n]
    probabilities : float[n, K]
    bins : int

    Returns
    -------
    DataFrame
        ``low, high`` (low < confidence <= high), ``requests``, the means ``confidence`` and
        ``accuracy``, and ``accuracy_low, accuracy_high``, its 95 % Wilson interval; NaN in an
        empty bin.
    """
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = (probabilities.argmax(axis=1) == truth).astype(np.float64)
    number = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    count = np.bincount(number, minlength=bins)
    edges = np.linspace(0, 1, bins + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.bincount(number, right, bins) / count
        low, high = wilson_interval(share, count)
        return pd.DataFrame(
            {
                "low": edges[:-1],
                "high": edges[1:],
                "requests": count,
                "confidence": np.bincount(number, confidence, bins) / count,
                "accuracy": share,
                "accuracy_low": low,
                "accuracy_high": high,
            }
        )


def calibration_error(truth: np.ndarray, probabilities: np.ndarray, bins: int = BINS) -> float:
    """Return the expected calibration error: |accuracy - confidence|, averaged over requests."""
    table = tabulate_reliability(truth, probabilities, bins).dropna()
    gap = (table["accuracy"] - table["confidence"]).abs()
    return float((gap * table["requests"]).sum() / table["requests"].sum())


def scale_temperature(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Return float64[n, K]: `probabilities` as if their logits were divided by `temperature`."""
    return softmax(log_probabilities(probabilities) / temperature, axis=1)


def fit_temperature(truth: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the temperature, 0.01 to 100, of least negative log-likelihood.

    Fit it on validation rows, never on those that calibration is judged on.

    Parameters
    ----------
    truth : int[n]
    probabilities : float[n, K]
    """
    logs = log_probabilities(probabilities)
    rows = np.arange(len(truth))

    def loss(log_temperature: float) -> float:
        scaled = logs / np.exp(log_temperature)
        return float((np.logaddexp.reduce(scaled, axis=1) - scaled[rows, truth]).mean())

    bound = np.log(HOTTEST)
    return float(np.exp(minimize_scalar(loss, bounds=(-bound, bound), method="bounded").x))


def log_probabilities(probabilities: np.ndarray) -> np.ndarray:
    """Return float64[n, K]: logarithms, those of 0 finite."""
    smallest = np.finfo(np.float64).tiny
    return np.log(np.maximum(probabilities.astype(np.float64), smallest))


def refuse_unsure(truth: np.ndarray, probabilities: np.ndarray, steps: int = 21) -> pd.DataFrame:
    """Return how accurate predictions are if those below a confidence are refused.

    Parameters
    ----------
    truth : int[n]
    probabilities : float[n, K]
    steps : int
        Thresholds from 0 to 1.

    Returns
    -------
    DataFrame
        ``threshold, kept`` (share), ``accuracy`` (of those kept); thresholds that keep
        nothing are left out.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    rows = [
        (threshold, kept.mean(), right[kept].mean())
        for threshold in np.linspace(0, 1, steps)
        if (kept := confidence >= threshold).any()
    ]
    return pd.DataFrame(rows, columns=["threshold", "kept", "accuracy"])
