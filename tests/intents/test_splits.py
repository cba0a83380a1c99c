from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_lib.intents.splits import Split, refuse_leaks, split_conversations, split_stratified


def covers(split: Split, count: int) -> bool:
    return np.array_equal(np.sort(np.concatenate(split)), np.arange(count))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60), st.integers(0, 9))
def test_every_row_is_in_one_part(codes, seed):
    codes = np.array(codes)
    assert covers(split_stratified(codes, seed), len(codes))
    assert covers(split_conversations(codes, seed), len(codes))


def test_classes_are_split_alike():
    codes = np.repeat([0, 1, 2], [1000, 100, 10])
    split = split_stratified(codes)
    for part, counts in zip(split, [(800, 80, 8), (100, 10, 1), (100, 10, 1)], strict=True):
        assert tuple(np.bincount(codes[part])) == counts


@pytest.mark.parametrize(("members", "expected"), [(1, (1, 0, 0)), (2, (2, 0, 0)), (3, (1, 1, 1))])
def test_rare_classes(members, expected):
    split = split_stratified(np.zeros(members, int))
    assert tuple(map(len, split)) == expected


def test_same_seed_same_split():
    codes = np.random.default_rng(0).integers(5, size=300)
    for split in (split_stratified, split_conversations):
        first, again, other = split(codes, 1), split(codes, 1), split(codes, 2)
        assert all(map(np.array_equal, first, again))
        assert not np.array_equal(first.test, other.test)


def test_conversations_stay_whole_and_rows_would_not():
    conversations = np.repeat(np.arange(500), 4)
    split = split_conversations(conversations)
    sides = [set(conversations[part]) for part in split]
    assert [len(side) for side in sides] == [400, 50, 50]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])
    by_row = split_stratified(np.zeros(len(conversations), int))
    shared = set(conversations[by_row.train]) & set(conversations[by_row.test])
    assert len(shared) > 0.9 * len(set(conversations[by_row.test]))


def test_stratified_conversations_stay_whole():
    rng = np.random.default_rng(0)
    conversations = rng.integers(400, size=900)
    codes = conversations % 3  # one class each
    split = split_stratified(codes, 1, conversations)
    assert covers(split, 900)
    refuse_leaks(split, conversations)
    ids = np.unique(conversations)
    for code in range(3):
        tested = np.unique(conversations[split.test])
        assert (tested % 3 == code).sum() == round(0.1 * (ids % 3 == code).sum())
    with pytest.raises(ValueError, match="is in two parts of the split"):
        refuse_leaks(split_stratified(codes, 1), conversations)
