from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iac_lib.traces.arrivals import (
    DROPPED,
    ConstantDelays,
    Diurnal,
    LogNormalDelays,
    OnOff,
    OriginalDelays,
    OriginalTimes,
    Pareto,
    Poisson,
    limit_context,
    schedule,
)
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.errors import TraceError

STARTS = [Poisson(4), OnOff(4, 10, 30), Pareto(4, 1.8), Diurnal(4, 0.9, 500)]


def conversations_of(lengths: list[int], **columns: object) -> Conversations:
    turns = pd.DataFrame(
        {
            "conversation_id": np.repeat(np.arange(len(lengths)), lengths),
            "turn": np.concatenate([np.arange(1, n + 1) for n in lengths]),
            "user_tokens": 10,
            "output_tokens": 5,
        }
    )
    return Conversations("hand-made", turns.assign(**columns))


@pytest.fixture
def two() -> Conversations:
    """Conversation 0 has three turns, conversation 1 has two."""
    return conversations_of(
        [3, 2],
        user_tokens=[10, 20, 30, 7, 9],
        output_tokens=[1, 2, 3, 4, 5],
        start_s=[1000.0, 1060.0, 1061.0, 1030.0, 1090.0],
        intent=pd.Categorical(["a", "a", "b", "b", "b"]),
    )


def test_original_times_and_growing_context(two):
    trace = schedule(two, OriginalTimes(), OriginalDelays(), seed=0)
    requests = trace.requests
    assert requests["conversation_id"].tolist() == [0, 1, 0, 0, 1]
    assert requests["arrival_s"].tolist() == [0, 30, 60, 61, 90]
    assert requests["turn"].tolist() == [1, 1, 2, 3, 2]
    assert requests["input_tokens"].tolist() == [10, 7, 31, 63, 20]
    assert requests["output_tokens"].tolist() == [1, 4, 2, 3, 5]
    assert requests["intent"].tolist() == ["a", "b", "a", "b", "b"]


def test_original_delays_with_other_starts(two):
    trace = schedule(two, Poisson(1), OriginalDelays(), seed=3)
    gaps = trace.next_gap_s[np.argsort(trace.column("request_id"))]
    np.testing.assert_allclose(gaps, [60, 1, np.nan, 60, np.nan])


def test_simultaneous_requests_stay_in_data_set_order():
    conversations = conversations_of([2, 2, 2], start_s=[5.0, 5.0] * 3)
    trace = schedule(conversations, OriginalTimes(), ConstantDelays(0), seed=0)
    assert trace.column("request_id").tolist() == [0, 1, 2, 3, 4, 5]


def test_missing_original_time_names_the_row(two):
    turns = two.turns.assign(start_s=[0.0, 1.0, np.nan, 0.0, 1.0])
    with pytest.raises(TraceError, match=r"row 2.*start_s = nan"):
        schedule(Conversations("gap", turns), OriginalTimes(), OriginalDelays(), seed=0)
    with pytest.raises(TraceError, match="no original times"):
        schedule(conversations_of([2]), Poisson(), OriginalDelays(), seed=0)


def test_backward_original_time_names_the_row(two):
    turns = two.turns.assign(start_s=[0.0, 5.0, 4.0, 0.0, 1.0])
    with pytest.raises(TraceError, match=r"row 2.*earlier than the turn before"):
        schedule(Conversations("back", turns), Poisson(), OriginalDelays(), seed=0)


def test_single_turns_need_no_time_for_original_delays():
    conversations = conversations_of([1, 2], start_s=[np.nan, 3.0, 10.0])
    trace = schedule(conversations, Poisson(), OriginalDelays(), seed=0)
    assert np.nanmax(trace.next_gap_s) == pytest.approx(7)


def test_context_limit_drops_the_rest_of_the_conversation(two):
    limited = limit_context(two, 33)  # contexts 11 33 66 | 11 25
    assert limited.turns["turn"].tolist() == [1, 2, 1, 2]
    assert limited.skipped == {DROPPED: 1}
    assert len(schedule(two, Poisson(), ConstantDelays(), seed=0, max_context_tokens=33)) == 4
    assert limit_context(two, 66) is two


@pytest.mark.parametrize("starts", STARTS, ids=lambda s: type(s).__name__)
def test_starts_ascend_and_keep_the_mean_rate(starts):
    times = starts.sample(200_000, np.random.default_rng(1))
    assert len(times) == 200_000
    assert times[0] >= 0 and (np.diff(times) >= 0).all()
    tolerance = 0.25 if isinstance(starts, Pareto) else 0.02  # infinite variance
    assert len(times) / times[-1] == pytest.approx(4, rel=tolerance)


def test_on_off_is_silent_when_off():
    times = OnOff(4, 10, 30).sample(50_000, np.random.default_rng(2))
    assert (times % 40 <= 10).all()


def test_diurnal_follows_its_sine():
    times = Diurnal(4, 0.9, 500).sample(200_000, np.random.default_rng(3)) % 500
    counts = np.histogram(times, bins=4, range=(0, 500))[0] / 50_000
    swing = 0.9 * 2 / np.pi  # mean of a sine over half a period
    np.testing.assert_allclose(counts, [1 + swing, 1 + swing, 1 - swing, 1 - swing], rtol=0.03)


def test_pareto_gaps_are_heavier_than_exponential():
    gaps = np.diff(Pareto(4, 1.5).sample(100_000, np.random.default_rng(4)))
    assert np.std(gaps) / np.mean(gaps) > 2
    assert np.median(gaps) < np.log(2) / 4 / 1.5


def test_lognormal_delays_have_the_papers_moments():
    delays = np.log(LogNormalDelays().sample(100_000, np.random.default_rng(5)))
    assert delays.mean() == pytest.approx(4.6, abs=0.02)
    assert delays.var() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Poisson(0),
        lambda: OnOff(1, 0, 1),
        lambda: Pareto(1, 1),
        lambda: Diurnal(1, 1.1),
        lambda: LogNormalDelays(1, -1),
        lambda: ConstantDelays(-1),
    ],
)
def test_impossible_parameters_are_refused(make):
    with pytest.raises(ValueError, match="must"):
        make()


@settings(deadline=None)
@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=30),
    starts=st.sampled_from(STARTS),
    seed=st.integers(0, 2**32),
)
def test_changing_the_starts_keeps_the_delays(lengths, starts, seed):
    conversations = conversations_of(lengths)
    trace = schedule(conversations, starts, LogNormalDelays(), seed)
    again = schedule(conversations, starts, LogNormalDelays(), seed)
    pd.testing.assert_frame_equal(trace.requests, again.requests)
    other = schedule(conversations, Poisson(0.1), LogNormalDelays(), seed)

    def gaps(t):
        return t.next_gap_s[np.argsort(t.column("request_id"))]

    np.testing.assert_allclose(gaps(trace), gaps(other), rtol=1e-9, atol=1e-9)


def test_another_seed_gives_another_trace():
    conversations = conversations_of([2, 3])
    a, b = (schedule(conversations, Poisson(), LogNormalDelays(), seed) for seed in (1, 2))
    assert not np.array_equal(a.column("arrival_s"), b.column("arrival_s"))
