from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from iac_lib.intents.noise import randomise_intents
from iac_lib.traces.schema import Trace

CATEGORIES = [f"intent {k}" for k in range(30)]


@pytest.fixture
def trace() -> Trace:
    n = 4_001
    return Trace(
        "labelled",
        pd.DataFrame(
            {
                "request_id": range(n),
                "conversation_id": range(n),
                "turn": 1,
                "arrival_s": np.arange(n, dtype=float),
                "input_tokens": 1,
                "output_tokens": 1,
                "intent": pd.Categorical.from_codes([7] * n, categories=CATEGORIES),
            }
        ),
    )


def changed(trace: Trace, share: float, seed: int = 0) -> np.ndarray:
    return randomise_intents(trace, share, seed).column("intent") != 7


def test_no_share_changes_nothing_and_the_input_stays(trace):
    assert not changed(trace, 0).any()
    changed(trace, 1)
    assert (trace.column("intent") == 7).all()


def test_the_share_is_exact_up_to_the_labels_hit_again(trace):
    before = changed(trace, 0.25).sum()
    assert before <= 1000
    assert before == pytest.approx(1000 * 29 / 30, abs=25)


def test_all_random_is_uniform_over_the_categories(trace):
    labels = randomise_intents(trace, 1.0, seed=3)
    assert labels.intents == tuple(CATEGORIES)
    counts = np.bincount(labels.column("intent"), minlength=30)
    chi_square = ((counts - 4001 / 30) ** 2 / (4001 / 30)).sum()
    assert chi_square < 52.3  # 99.5 % of chi-square with 29 degrees of freedom


def test_shares_are_nested(trace):
    labels = [randomise_intents(trace, share).column("intent") for share in (0.25, 0.5, 1.0)]
    for small, large in itertools.pairwise(labels):
        touched = small != 7
        assert (large[touched] == small[touched]).all()


def test_seeds_differ_and_repeat(trace):
    assert (changed(trace, 0.5, 1) == changed(trace, 0.5, 1)).all()
    assert (changed(trace, 0.5, 1) != changed(trace, 0.5, 2)).any()


def test_unknown_intents_can_be_randomised(trace):
    unknown = trace.assign(intent=pd.Categorical([None] * len(trace), categories=CATEGORIES))
    assert (randomise_intents(unknown, 1.0).column("intent") >= 0).all()


def test_impossible_requests_are_refused(trace):
    with pytest.raises(ValueError, match="share"):
        randomise_intents(trace, 1.1)
    with pytest.raises(ValueError, match="no intents"):
        randomise_intents(trace.assign(intent=pd.Categorical([None] * len(trace))), 0.5)
