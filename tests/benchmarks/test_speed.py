"""How fast the replay is: requests per second of CPU time, the best of several runs.

The bars are those of the kit's goals on one core. `make bench` prints what was measured.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from iac_lib.cache.replay import replay
from iac_lib.policies import IAC
from iac_lib.reuse.statistics import fit_statistics
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.schema import Trace
from iac_lib.traces.synthetic import generate

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(900)]

MILLION = """
import resource, time
from iac_lib.cache.replay import replay
from iac_lib.policies import IAC
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.synthetic import generate
trace = schedule(generate("wildchat-shaped", {n}), Poisson(500.0), OriginalDelays())
policy = IAC().fit(trace)
small = schedule(generate("wildchat-shaped", 100), Poisson(5.0), OriginalDelays())
replay(small, IAC().fit(small), 10_000)
started = time.process_time()
result = replay(trace, policy, 10_000_000)
print(len(trace), time.process_time() - started, result.hit_rate)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def make_trace(conversations: int, rate: float) -> Trace:
    return schedule(generate("wildchat-shaped", conversations), Poisson(rate), OriginalDelays())


def best_of(runs: int, action: Callable[[], object]) -> float:
    action()
    times = []
    for _ in range(runs):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)


@pytest.fixture(scope="module")
def speed_at_140k() -> float:
    trace = make_trace(12_000, 5.0)
    policy = IAC().fit(trace)
    _ = trace.segments
    speed = len(trace) / best_of(7, lambda: replay(trace, policy, 140_000))
    print(f"\nIAC, {len(trace):,} requests, 140K tokens: {speed:,.0f} requests/s")
    return speed


def test_half_a_million_requests_a_second(speed_at_140k):
    assert speed_at_140k >= 500_000


def test_thousands_of_leaves_cost_at_most_three_times_as_much(speed_at_140k):
    trace = make_trace(150_000, 500.0)
    policy = IAC().fit(trace)
    result = replay(trace, policy, 10_000_000, record_victims=True)
    assert len(result.victims) > 10_000, "nothing is being evicted: the bar would be empty"
    speed = len(trace) / best_of(3, lambda: replay(trace, policy, 10_000_000))
    print(f"\nIAC, {len(trace):,} requests, 10M tokens: {speed:,.0f} requests/s")
    assert speed >= speed_at_140k / 3


def test_a_million_conversations_in_ten_seconds_and_four_gigabytes():
    script = MILLION.format(n=1_000_000)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    head, peak = run.stdout.strip().splitlines()
    requests, seconds, hit_rate = map(float, head.split())
    print(
        f"\n{requests:,.0f} requests in {seconds:.1f} s, {float(peak):.2f} GiB; hits {hit_rate:.3f}"
    )
    assert seconds < 10
    assert float(peak) < 4


def test_statistics_of_ten_thousand_conversations_in_a_tenth_of_a_second():
    trace = make_trace(10_000, 5.0)
    _ = trace.next_gap_s
    seconds = best_of(5, lambda: fit_statistics(trace))
    print(f"\nstatistics of {len(trace):,} requests: {1000 * seconds:.1f} ms (the paper: 1.4 s)")
    assert seconds < 0.1
