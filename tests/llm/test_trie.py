from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iac_lib.llm.trie import weigh_choices

END = 9


def even(prefix, allowed):
    return [1 / len(allowed)] * len(allowed)


def test_the_model_is_asked_only_where_choices_part():
    asked = []

    def decide(prefix, allowed):
        asked.append((prefix, allowed))
        return {(): [0.75, 0.25], (1, 2): [0.4, 0.6]}[prefix]

    weights = weigh_choices([[1, 2, 3, END], [1, 2, 4, END], [5, 6, END]], decide)
    assert weights == pytest.approx([0.3, 0.45, 0.25])
    assert asked == [((), (1, 5)), ((1, 2), (3, 4))]


def test_a_choice_that_begins_another():
    assert weigh_choices([[1, END], [1, 2, END]], lambda p, a: [0.9, 0.1]) == [0.9, 0.1]


@given(st.sets(st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple), min_size=1))
def test_probabilities_sum_to_one(choices):
    weights = weigh_choices([[*choice, END] for choice in sorted(choices)], even)
    assert sum(weights) == pytest.approx(1)
    assert all(weight > 0 for weight in weights)


def test_they_are_what_constrained_decoding_draws():
    choices = [[0, 0, END], [0, 1, END], [1, END]]
    weights = weigh_choices(choices, even)
    drawn = {tuple(choice): 0.0 for choice in choices}
    for path in itertools.product((0, 1), repeat=2):
        reached = (1, END) if path[0] else (0, path[1], END)
        drawn[reached] += 0.25
    assert weights == pytest.approx(list(drawn.values()))
