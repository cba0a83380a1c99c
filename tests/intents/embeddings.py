"""Embeddings of which the class is known: noise around one direction per class."""

from __future__ import annotations

import numpy as np

DIMENSION = 32


def draw_embeddings(codes: np.ndarray, noise: float, seed: int = 0) -> np.ndarray:
    """Return float32[n, 32], rows of length 1, around a random direction for each code."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(codes.max() + 1, DIMENSION)) / np.sqrt(DIMENSION)
    x = centres[codes] + noise * rng.normal(size=(len(codes), DIMENSION)) / np.sqrt(DIMENSION)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)
