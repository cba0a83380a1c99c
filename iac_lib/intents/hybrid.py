"""A small language model's opinion and an embedder's, added up (ours, not the paper's).

For models that fit a CPU: the log-probability of each intent given a context, plus a weight
times the log-softmax of how similar the context's embedding is to that of each intent's
description. Two arrays in, one out; knows neither model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
TEMPERATURES = (0.01, 0.02, 0.05, 0.1)


class Mixture(NamedTuple):
    """How much the embedder counts.

    Parameters
    ----------
    weight : float
        Of the similarities; 0 leaves the language model alone.
    temperature : float
        What similarities are divided by before the softmax.
    """

    weight: float
    temperature: float


def mix(log_probabilities: np.ndarray, similarities: np.ndarray, mixture: Mixture) -> np.ndarray:
    """Return float64[n, K], the mixed log-probabilities; each row's exponentials sum to one.

    Parameters
    ----------
    log_probabilities : float[n, K]
        The language model's.
    similarities : float[n, K]
        Cosine of context and description.
    mixture : Mixture

    Raises
    ------
    ValueError
        If the shapes differ.
    """
    log_probabilities = np.asarray(log_probabilities, np.float64)
    similarities = np.asarray(similarities, np.float64)
    if log_probabilities.shape != similarities.shape:
        raise ValueError(
            f"log-probabilities {log_probabilities.shape} and similarities {similarities.shape} "
            "must have one shape"
        )
    # Normalised first, so that a weight means the same whatever a row's sum.
    seen = log_softmax(similarities / mixture.temperature)
    return log_softmax(log_softmax(log_probabilities) + mixture.weight * seen)


def tune_mixture(
    log_probabilities: np.ndarray,
    similarities: np.ndarray,
    codes: np.ndarray,
    weights: Sequence[float] = WEIGHTS,
    temperatures: Sequence[float] = TEMPERATURES,
) -> Mixture:
    """Return the mixture under which the given labels are most probable.

    Probability, not accuracy: it is smooth in few labels, and confidences are used later on.

    Parameters
    ----------
    log_probabilities, similarities : float[n, K]
        As in `mix`, of the contexts whose labels are known. Keep them apart from those that
        the labeller is judged by.
    codes : int[n]
        The known labels.
    weights, temperatures : sequence of float
        What is tried; of equals, the first.
    """
    rows = np.arange(len(codes))
    tried = [Mixture(weight, temperature) for weight in weights for temperature in temperatures]
    return max(
        tried,
        key=lambda mixture: mix(log_probabilities, similarities, mixture)[rows, codes].mean(),
    )


def log_softmax(scores: np.ndarray) -> np.ndarray:
    """Return the logarithms of a softmax over the last axis."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
