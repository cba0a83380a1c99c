from __future__ import annotations

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iac_lib.reuse.online import OnlineStatistics
from iac_lib.reuse.statistics import ReuseStatistics, fit_statistics
from iac_lib.traces.schema import Trace

INTENTS = 3
TIMEOUT_S = 100.0


def trace_of(rows: list[tuple[object, int, int, float]]) -> Trace:
    """Rows are (conversation, turn, intent code, arrival), by arrival."""
    frame = pd.DataFrame(rows, columns=["conversation_id", "turn", "code", "arrival_s"])
    frame["intent"] = pd.Categorical.from_codes(frame["code"].astype(int), range(INTENTS))
    return Trace(
        "random",
        frame.assign(
            request_id=range(len(frame)), input_tokens=10 * frame["turn"], output_tokens=1
        ),
    )


def assert_equal(snapshot: ReuseStatistics, fitted: ReuseStatistics) -> None:
    for name in ("reached", "continued", "reuse"):
        np.testing.assert_array_equal(getattr(snapshot, name), getattr(fitted, name), name)
    np.testing.assert_allclose(snapshot.mu, fitted.mu, atol=1e-9)
    np.testing.assert_allclose(snapshot.sigma, fitted.sigma, atol=1e-4)  # near 0: a square root
    np.testing.assert_allclose(snapshot.sigma**2, fitted.sigma**2, atol=1e-8)


def records_of(rows: list[tuple[object, int, int, float]], now_s: float) -> list[list]:
    """Completed records in order of completion, found the slow way."""
    by_id, records = defaultdict(list), []
    for number, (conversation, turn, intent, arrival) in enumerate(rows):
        record = by_id[conversation]
        if record and arrival - record[-1][3] > TIMEOUT_S:
            records.append(by_id.pop(conversation))
            record = by_id[conversation]
        record.append((conversation, turn, intent, arrival, number))
    records += by_id.values()
    done = [r for r in records if now_s - r[-1][3] > TIMEOUT_S]
    return sorted(done, key=lambda r: r[-1][4])


requests = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.integers(-1, INTENTS - 1),
        st.one_of(st.just(0.0), st.just(TIMEOUT_S), st.floats(0, 130, allow_subnormal=False)),
    ),
    max_size=60,
)


@settings(deadline=None, max_examples=300)
@given(requests=requests, window=st.integers(1, 8), silence=st.sampled_from([0.0, 50.0, 1e6]))
def test_snapshot_equals_a_batch_fit_on_the_window(requests, window, silence):
    online = OnlineStatistics(window, TIMEOUT_S, INTENTS, max_turn=5)
    rows, turns, now = [], defaultdict(int), 0.0
    for conversation, intent, gap in requests:
        now += gap
        turns[conversation] += 1
        rows.append((conversation, turns[conversation], intent, now))
        online.observe(*rows[-1])
    now += silence
    online.advance(now)

    kept = records_of(rows, now)[-window:]
    # A record may start at a later turn, which no trace may: fit on the whole conversations
    # of the kept records is not the same, so compare with the definition itself.
    reached, delays = np.zeros((INTENTS + 1, 6)), defaultdict(list)
    for record in kept:
        intent = record[-1][2]
        for here, following in zip(record, [*record[1:], None], strict=True):
            if here[1] <= 5:
                reached[intent, here[1]] += 1
                if following:
                    delays[intent, here[1]].append(max(following[3] - here[3], 1e-3))
    snapshot = online.snapshot()
    width = snapshot.reuse.shape[1] - 1
    np.testing.assert_array_equal(snapshot.reached[:, :-1], reached[:, :width])
    assert not reached[:, width:].any()
    for (intent, turn), values in delays.items():
        assert snapshot.continued[intent, turn] == len(values)
        assert snapshot.mu[intent, turn] == pytest.approx(np.log(values).mean(), abs=1e-9)
        assert snapshot.sigma[intent, turn] ** 2 == pytest.approx(np.log(values).var(), abs=1e-8)
    assert snapshot.continued.sum() == sum(map(len, delays.values()))


@settings(deadline=None, max_examples=100)
@given(requests=requests, window=st.integers(1, 8))
def test_snapshot_equals_fit_statistics_on_whole_conversations(requests, window):
    """Ids are fresh for every record, so each record is a conversation of its own."""
    online = OnlineStatistics(window, TIMEOUT_S, INTENTS)
    rows, turns, last, current, now = [], {}, {}, {}, 0.0
    for number, (conversation, intent, gap) in enumerate(requests):
        now += gap
        if now - last.get(conversation, -np.inf) > TIMEOUT_S:
            current[conversation], turns[conversation] = number, 0
        last[conversation] = now
        turns[conversation] += 1
        rows.append((current[conversation], turns[conversation], intent, now))
        online.observe(*rows[-1])
    online.advance(now + 2 * TIMEOUT_S)
    kept = {record[0][0] for record in records_of(rows, now + 2 * TIMEOUT_S)[-window:]}
    trace = trace_of([row for row in rows if row[0] in kept])
    assert_equal(online.snapshot(), fit_statistics(trace, TIMEOUT_S))


def test_only_completed_conversations_count():
    online = OnlineStatistics(window=2, timeout_s=100, intents=1)
    online.observe("x", 1, 0, 0.0)
    online.observe("x", 2, 0, 100.0)
    assert online.snapshot().reached.sum() == 0
    online.advance(200.0)
    assert online.snapshot().reached.sum() == 0  # exactly the timeout is not yet over it
    online.advance(200.5)
    assert online.snapshot().reached[0].tolist() == [0, 1, 1, 0]
    assert online.snapshot().reuse[0].tolist() == [0.5, 1, 0, 0.5]


def test_old_conversations_leave_without_a_trace():
    online = OnlineStatistics(window=3, timeout_s=10, intents=2)
    rng = np.random.default_rng(0)
    now = 0.0
    for number in range(500):
        now += rng.uniform(0, 9)
        online.observe(number // 4, number % 4 + 1, int(rng.integers(2)), now)
    online.advance(now + 11)
    for number in range(3):
        online.observe(f"last {number}", 1, 0, now + 100 + number)
    online.advance(now + 200)
    assert (online.log_sum == 0).all() and (online.square_sum == 0).all()
    assert online.snapshot().reached[0].tolist() == [0, 3, 0]
    assert not online.open and not online.silence


def test_simultaneous_requests_complete_in_order_of_their_last_one():
    online = OnlineStatistics(window=1, timeout_s=10, intents=2)
    for conversation, turn, intent in [("x", 1, 0), ("y", 1, 0), ("x", 2, 1)]:
        online.observe(conversation, turn, intent, 0.0)
    online.advance(11)
    assert online.snapshot().reached[1].tolist() == [0, 1, 1, 0]  # x is the newest


def test_bad_input_is_refused():
    online = OnlineStatistics(intents=2)
    online.observe("x", 1, 1, 10.0)
    with pytest.raises(ValueError, match="backwards"):
        online.observe("x", 2, 1, 9.0)
    with pytest.raises(ValueError, match="got 2"):
        online.observe("x", 2, 2, 11.0)
    with pytest.raises(ValueError, match="at least 1"):
        OnlineStatistics(window=0)
