from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iac_lib.intents.queries import QUERY_TOKENS, cut_tokens, mark_queries, window_rows


def test_queries_are_marked_with_their_turn():
    assert mark_queries(["a", ""], [1, 12]) == ["[turn 1] a", "[turn 12] "]


def test_four_queries_fit_the_papers_limit():
    assert QUERY_TOKENS == 256


@given(st.integers(0, 60), st.integers(0, 50))
def test_head_and_tail_are_kept(length, limit):
    cut = cut_tokens(range(length), limit)
    assert len(cut) == min(length, limit)
    assert cut == sorted(set(cut))
    gaps = np.flatnonzero(np.diff(cut) > 1)
    if length <= limit:
        assert cut == list(range(length))
    elif limit > 1:
        assert (cut[0], cut[-1]) == (0, length - 1)
        assert gaps.tolist() == [limit - limit // 2 - 1]


@given(st.lists(st.integers(1, 9), max_size=8))
def test_windows_are_the_last_four_queries_of_the_same_conversation(lengths):
    turns = np.array([turn for length in lengths for turn in range(1, length + 1)], np.int64)
    first, last = window_rows(turns)
    rows = [(start, turn) for start, turn in zip(np.cumsum([0, *lengths]), lengths, strict=False)]
    expected = [
        list(range(start + length))[start:][: turn + 1][-4:]
        for start, length in rows
        for turn in range(length)
    ]
    got = [list(range(a, b + 1)) for a, b in zip(first, last, strict=True)]
    assert got == expected


@given(st.text(st.characters(min_codepoint=0), max_size=20), st.integers(1, 99))
def test_any_text_becomes_one_that_can_be_encoded(text, turn):
    (marked,) = mark_queries([text], [turn])
    assert marked.encode() and marked.startswith(f"[turn {turn}] ")
    (broken,) = mark_queries(["a\ud800b"], [turn])
    assert broken.endswith("a?b")
