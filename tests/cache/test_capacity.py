"""One rule for capacities, wherever one is given."""

from __future__ import annotations

import math

import numpy as np
import pytest

from iac_lib.cache.capacity import check_capacity
from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import replay
from iac_lib.policies import LRU
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.synthetic import generate


@pytest.mark.parametrize("capacity", [1, 10**18, np.int32(7), 1e6, np.float64(5e4)])
def test_whole_numbers_of_any_type(capacity):
    assert check_capacity(capacity) == int(capacity)
    assert type(check_capacity(capacity)) is int


@pytest.mark.parametrize("capacity", [0, -5, 0.5, 50000.7, math.nan, math.inf, 1e19, "100", None])
def test_anything_else_is_refused_by_replay_and_optimum_alike(capacity):
    trace = schedule(generate("wildchat-shaped", 20), Poisson(5.0), OriginalDelays())
    for run in (lambda: replay(trace, LRU(), capacity), lambda: optimum(trace, capacity)):
        with pytest.raises(ValueError, match="capacity_tokens"):
            run()


def test_a_float_capacity_means_the_same_as_an_int():
    trace = schedule(generate("wildchat-shaped", 200), Poisson(5.0), OriginalDelays())
    assert replay(trace, LRU(), 3e3).hit_rate == replay(trace, LRU(), 3000).hit_rate
