"""Embeddings of which the class is known, and an embedder that needs no model file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

DIMENSION = 32


def draw_embeddings(codes: np.ndarray, noise: float, seed: int = 0) -> np.ndarray:
    """Return float32[n, 32], rows of length 1, around a random direction for each code."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(codes.max() + 1, DIMENSION)) / np.sqrt(DIMENSION)
    x = centres[codes] + noise * rng.normal(size=(len(codes), DIMENSION)) / np.sqrt(DIMENSION)
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


class LetterEmbedder:
    """How often each letter occurs: a text has as many tokens as letters.

    ``asked`` lists the texts of each call.
    """

    name = key = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(list(texts))
        counts = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            for letter in text:
                if "a" <= letter <= "z":
                    counts[row, ord(letter) - ord("a")] += 1
        tokens = counts.sum(axis=1).astype(np.int32)
        return counts / tokens[:, None], tokens
