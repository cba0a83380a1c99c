"""Training, validation and test rows: stratified by class, or by whole conversations.

Knows codes only; not what is learned from them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

TRAIN_SHARE, OTHER_SHARE = 0.8, 0.1
SMALLEST_SPLIT = 3


class Split(NamedTuple):
    """Row numbers, int64, ascending and disjoint."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split_stratified(
    codes: np.ndarray, seed: int = 0, conversations: np.ndarray | None = None
) -> Split:
    """Split rows 80/10/10 within every class (IAC, A.1).

    A tenth of a class is rounded, but at least one row, so that rare classes are judged
    too; classes of one or two rows go to training whole (ours).

    Parameters
    ----------
    codes : int[n]
        Class of each row.
    seed : int
        Same seed, same split.
    conversations : int[n] or None
        Conversation of each row, where several are of one: then whole conversations are
        split, each as of the class of its first row.
    """
    if conversations is not None:
        _, first, number = np.unique(conversations, return_index=True, return_inverse=True)
        whole = split_stratified(np.asarray(codes)[first], seed)
        return Split(*(np.flatnonzero(np.isin(number, part)) for part in whole))
    rng = np.random.default_rng(seed)
    parts: tuple[list[np.ndarray], ...] = ([], [], [])
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        tenth = max(1, round(OTHER_SHARE * len(rows))) if len(rows) >= SMALLEST_SPLIT else 0
        pieces = np.split(rows, [len(rows) - 2 * tenth, len(rows) - tenth])
        for part, piece in zip(parts, pieces, strict=True):
            part.append(piece)
    return Split(*(np.sort(np.concatenate([np.empty(0, np.int64), *part])) for part in parts))


def split_conversations(conversations: np.ndarray, seed: int = 0) -> Split:
    """Split rows 80/10/10 by conversation, so that no conversation is on two sides.

    A split by row leaks: of one conversation, a validation row repeats most of the text of
    a training row, and whether that conversation went on is known from the training rows.

    Parameters
    ----------
    conversations : int[n]
        Conversation of each row.
    seed : int
    """
    ids, code = np.unique(conversations, return_inverse=True)
    position = np.random.default_rng(seed).permutation(len(ids))[code]
    first, second = (round(share * len(ids)) for share in (TRAIN_SHARE, TRAIN_SHARE + OTHER_SHARE))
    return Split(
        np.flatnonzero(position < first),
        np.flatnonzero((position >= first) & (position < second)),
        np.flatnonzero(position >= second),
    )


def refuse_leaks(split: Split, conversations: np.ndarray) -> None:
    """Raise `ValueError` if a conversation has rows in two parts of `split`."""
    seen: set = set()
    for part in split:
        here = set(np.asarray(conversations)[part].tolist())
        if shared := seen & here:
            raise ValueError(
                f"conversation {min(shared)} is in two parts of the split, which leaks: "
                "split whole conversations"
            )
        seen |= here
