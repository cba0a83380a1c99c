"""A slider can be dragged: 10,000 conversations are replayed and drawn in under 0.3 s."""

from dataclasses import replace
from time import perf_counter

import pytest

from iac_lib.cache.whatif import Bench, Settings, measure_hit_rates
from iac_lib.figures.whatif import draw_hit_rates, to_png
from iac_lib.traces.arrivals import OriginalDelays
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.synthetic import generate

pytestmark = pytest.mark.benchmark
CONVERSATIONS = 10_000
MOVES = {
    "capacity_tokens": [160_000, 170_000, 180_000],
    "rate_per_s": [6.0, 7.0, 8.0],
    "window": ["mean", "mode"],
    "signals": [("recency",), ("reuse",), ("recency", "reuse")],
    "noise": [0.1, 0.2, 0.3],
}


@pytest.fixture(scope="module")
def bench():
    made = generate("wildchat-shaped", 2 * CONVERSATIONS)
    bench = Bench(Experiment(made, CONVERSATIONS, CONVERSATIONS, delays=OriginalDelays()))
    measure_hit_rates([bench], Settings())  # compiles
    return bench


@pytest.mark.parametrize("slider", MOVES)
def test_a_change_is_shown_quickly(bench, slider):
    before = measure_hit_rates([bench], Settings())
    to_png(draw_hit_rates(before, Settings(), before, 100.0))
    spent = []
    for value in MOVES[slider]:
        settings = replace(Settings(), **{slider: value})
        started = perf_counter()
        rates = measure_hit_rates([bench], settings)
        replayed = perf_counter()
        to_png(draw_hit_rates(rates, settings, before, 100.0))
        spent.append((perf_counter() - started, replayed - started))
    total, replaying = min(spent)
    requests = len(bench.trace(5.0, 0.0))
    print(
        f"\n{slider}: {1000 * total:.0f} ms, of which replay {1000 * replaying:.0f} ms "
        f"({requests:,} requests)"
    )
    assert total < 0.3
