"""What a classifier has to beat: the commonest intent, and the nearest description.

Neither learns from labelled requests more than how often each intent occurs.
"""

from __future__ import annotations

import numpy as np


def predict_commonest(history: np.ndarray, count: int) -> np.ndarray:
    """Return int64[count]: the commonest code of `history` (int[n]), the lowest of equals."""
    return np.full(count, np.bincount(history).argmax(), np.int64)


def compare_descriptions(embeddings: np.ndarray, descriptions: np.ndarray) -> np.ndarray:
    """Return float32[n, K]: cosine of each request and each intent's description.

    The nearest description is the arg max along the last axis.

    Parameters
    ----------
    embeddings : float32[n, d]
        Of requests, of any length.
    descriptions : float32[K, d]
        Embeddings by the same embedder, in code order; `describe_intents` words them.
    """
    return normalise_rows(embeddings) @ normalise_rows(descriptions).T


def describe_intents(names: tuple[str, ...], descriptions: tuple[str, ...]) -> list[str]:
    """Return one text per intent to embed, such as ``"code debugging: find and fix a bug"``."""
    return [
        f"{name.replace('_', ' ')}: {description}"
        for name, description in zip(names, descriptions, strict=True)
    ]


def normalise_rows(x: np.ndarray) -> np.ndarray:
    """Return `x` with rows of length 1; rows of zeros stay."""
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return x / np.where(length == 0, 1, length)
