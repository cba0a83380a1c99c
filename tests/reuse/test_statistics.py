from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from iac_lib.reuse.statistics import ReuseStatistics, fit_statistics
from iac_lib.traces.schema import Trace

A, B, UNKNOWN = 0, 1, -1


def trace_of(*conversations: list[tuple[float, str | None]]) -> Trace:
    """Each conversation is a list of (arrival, intent)."""
    rows = [
        (c, turn, arrival, intent)
        for c, requests in enumerate(conversations)
        for turn, (arrival, intent) in enumerate(requests, 1)
    ]
    frame = pd.DataFrame(rows, columns=["conversation_id", "turn", "arrival_s", "intent"])
    frame["intent"] = pd.Categorical(frame["intent"], categories=["a", "b"])
    frame["input_tokens"], frame["output_tokens"] = 100 * frame["turn"], 1
    frame = frame.sort_values("arrival_s", kind="stable")
    return Trace("hand-made", frame.assign(request_id=range(len(frame))))


def test_counts_and_moments_by_hand():
    trace = trace_of(
        [(0, "a"), (10, "a"), (50, "a")],
        [(5, "a"), (45, "a")],
        [(7, "b")],
    )
    s = fit_statistics(trace)
    assert s.reuse.shape == (3, 5)
    assert s.reached[A].tolist() == [0, 2, 2, 1, 0]
    assert s.continued[A].tolist() == [0, 2, 1, 0, 0]
    assert s.reuse[A].tolist() == [0.5, 1.0, 0.5, 0.0, 0.5]
    logs = np.log([10, 40])
    assert s.mu[A, 1] == pytest.approx(logs.mean())
    assert s.sigma[A, 1] == pytest.approx(logs.std())
    assert (s.mu[A, 2], s.sigma[A, 2]) == pytest.approx((np.log(40), 0))
    assert s.reuse[B].tolist() == [0.5, 0.0, 0.5, 0.5, 0.5]


def test_unobserved_states_hold_the_defaults():
    s = fit_statistics(trace_of([(0, "a"), (10, "a")]))
    for state in [(UNKNOWN, 1), (B, 1), (A, -1), (A, 0), (UNKNOWN, -1)]:
        assert s.reuse[state] == 0.5
        assert s.windows("median")[state] == pytest.approx(150)
        assert s.sigma[state] == 1
    assert s.windows("median")[A, 2] == pytest.approx(150)  # reached, never continued
    assert s.reuse[A, 2] == 0


def test_a_conversation_takes_its_most_recent_intent():
    s = fit_statistics(trace_of([(0, "a"), (10, "a"), (30, "b")]))
    assert s.reached[A].sum() == 0
    assert s.reached[B].tolist() == [0, 1, 1, 1, 0]
    assert s.continued[B].tolist() == [0, 1, 1, 0, 0]


def test_a_long_silence_completes_a_conversation():
    s = fit_statistics(trace_of([(0, "a"), (1800, "a"), (3600.5, "b"), (3700, "b")]))
    assert s.reached[A].tolist() == [0, 1, 1, 0, 0, 0]
    assert s.continued[A].tolist() == [0, 1, 0, 0, 0, 0]
    assert s.reached[B].tolist() == [0, 0, 0, 1, 1, 0]  # own turn numbers
    assert s.continued[B].tolist() == [0, 0, 0, 1, 0, 0]


def test_unknown_intent_is_a_state_of_its_own():
    s = fit_statistics(trace_of([(0, None), (20, None)], [(1, "a")]))
    assert s.reuse[UNKNOWN, 1] == 1
    assert s.windows()[UNKNOWN, 1] == pytest.approx(20)
    assert s.reached[A, 1] == 1


def test_zero_delay_is_floored_at_a_millisecond():
    s = fit_statistics(trace_of([(0, "a"), (0, "a")]))
    assert s.windows()[A, 1] == pytest.approx(1e-3)


def test_deep_turns_fall_in_the_default_column():
    trace = trace_of([(10.0 * t, "a") for t in range(9)])
    s = fit_statistics(trace, max_turn=4)
    assert s.reuse.shape == (3, 6)
    assert s.reached[A].tolist() == [0, 1, 1, 1, 1, 0]
    assert s.reuse[A].tolist() == [0.5, 1, 1, 1, 1, 0.5]


def test_windows():
    s = fit_statistics(trace_of([(0, "a"), (10, "a")], [(0, "a"), (1000, "a")]))
    mu, sigma = np.log(100), np.log(10)
    assert s.windows("median")[A, 1] == pytest.approx(100)
    assert s.windows("mean")[A, 1] == pytest.approx(np.exp(mu + sigma**2 / 2))
    assert s.windows("mode")[A, 1] == pytest.approx(np.exp(mu - sigma**2))
    with pytest.raises(ValueError, match="'max'"):
        s.windows("max")


def random_trace(seed: int, conversations: int = 300) -> Trace:
    rng = np.random.default_rng(seed)
    return trace_of(
        *(
            [
                (float(t), rng.choice(["a", "b"]))
                for t in rng.uniform(0, 50) + np.cumsum(rng.lognormal(4, 2, rng.integers(1, 6)))
            ]
            for _ in range(conversations)
        )
    )


def assert_same(x: ReuseStatistics, y: ReuseStatistics) -> None:
    for name in ("reached", "continued", "reuse", "mu", "sigma"):
        np.testing.assert_allclose(getattr(x, name), getattr(y, name), atol=1e-7, err_msg=name)


def final_intent_trace(trace: Trace, intent: str) -> Trace:
    return trace.assign(intent=pd.Categorical([intent] * len(trace), categories=["a", "b"]))


def test_merging_equals_fitting_merged_labels():
    trace = random_trace(7)
    merged = fit_statistics(trace).merge(np.array([0, 0]))
    relabelled = fit_statistics(final_intent_trace(trace, "a"))
    for row in (A, B):
        np.testing.assert_allclose(merged.mu[row], relabelled.mu[A])
        np.testing.assert_allclose(merged.sigma[row], relabelled.sigma[A])
        np.testing.assert_allclose(merged.reuse[row], relabelled.reuse[A])
    assert merged.reuse[UNKNOWN, 1] == 0.5


def test_merging_into_own_groups_changes_nothing():
    s = fit_statistics(random_trace(8))
    assert_same(s.merge(np.array([4, 2])), s)
    with pytest.raises(ValueError, match="need 2 groups"):
        s.merge(np.array([0]))


def test_without_intent_every_row_is_the_same():
    s = fit_statistics(random_trace(9)).without_intent()
    for row in (A, UNKNOWN):
        np.testing.assert_array_equal(s.reuse[row], s.reuse[B])
        np.testing.assert_array_equal(s.mu[row], s.mu[B])
    assert s.reached[A, 1] == 300


def test_an_empty_history_gives_defaults():
    s = fit_statistics(trace_of([(0, "a")]).select(np.array([], np.int64)))
    assert s.reuse.shape == (3, 2)
    assert (s.reuse == 0.5).all()


def test_ten_thousand_conversations_fit_in_well_under_a_tenth_of_a_second():
    rng = np.random.default_rng(0)
    lengths = rng.geometric(0.4, 10_000)
    n = lengths.sum()
    frame = pd.DataFrame(
        {
            "conversation_id": np.repeat(np.arange(10_000), lengths),
            "turn": np.concatenate([np.arange(1, k + 1) for k in lengths]),
            "output_tokens": 1,
            "intent": pd.Categorical.from_codes(rng.integers(0, 30, n), categories=range(30)),
        }
    )
    frame["input_tokens"] = 100 * frame["turn"]
    start = np.repeat(rng.uniform(0, 1e4, 10_000), lengths)
    frame["arrival_s"] = start + 60 * frame["turn"]
    frame = frame.sort_values("arrival_s").assign(request_id=range(n))
    best = np.inf
    for _ in range(3):
        trace = Trace("speed", frame)  # a new one: nothing is cached
        begin = time.perf_counter()
        fit_statistics(trace)
        best = min(best, time.perf_counter() - begin)
    assert best < 0.1
