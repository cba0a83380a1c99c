"""The function behind the sliders: every slider matters, and nothing kept is ever stale."""

from dataclasses import replace

import pytest

from iac_lib.cache.optimum import optimum
from iac_lib.cache.replay import replay
from iac_lib.cache.whatif import Bench, Settings, measure_hit_rates
from iac_lib.intents.noise import randomise_intents
from iac_lib.policies import IAC, LRU
from iac_lib.traces.arrivals import OriginalDelays
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.synthetic import generate

START = Settings(capacity_tokens=40_000)
OTHER = {
    "capacity_tokens": 60_000,
    "rate_per_s": 8.0,
    "window": "mean",
    "signals": ("recency", "reuse"),
    "noise": 0.5,
}


def make_bench(labelled=True):
    made = generate("sharechat-shaped", 1600, seed=1)
    if not labelled:
        made = Conversations("unlabelled", made.turns.drop(columns="intent"))
    return Bench(Experiment(made, 800, 800, delays=OriginalDelays()))


@pytest.fixture(scope="module")
def bench():
    return make_bench()


def rates(bench, settings):
    return measure_hit_rates([bench], settings).set_index("policy")["hit_rate"]


@pytest.mark.parametrize("rate, noise", [(3.0, 0.0), (5.0, 0.4)])
def test_it_is_what_a_plain_replay_gives(bench, rate, noise):
    settings = replace(START, rate_per_s=rate, window="mode", noise=noise)
    history, trace = bench.experiment(bench.seed, rate)
    learned = IAC(window="mode").fit(randomise_intents(history, noise, seed=0))
    iac = replay(randomise_intents(trace, noise, seed=1), learned, settings.capacity_tokens)
    ours = rates(bench, settings)
    # Statistics of a history at another rate differ by rounding only.
    assert ours["iac"] == pytest.approx(iac.hit_rate, abs=1e-4)
    assert ours["lru"] == replay(trace, LRU(), settings.capacity_tokens).hit_rate
    assert ours["optimum"] == optimum(trace, settings.capacity_tokens).hit_rate


@pytest.mark.parametrize("slider", OTHER)
def test_every_slider_changes_iac(bench, slider):
    moved = replace(START, **{slider: OTHER[slider]})
    assert rates(bench, moved)["iac"] != rates(bench, START)["iac"]


@pytest.mark.parametrize("slider", OTHER)
def test_lru_and_optimum_follow_capacity_and_rate_alone(bench, slider):
    before, after = rates(bench, START), rates(bench, replace(START, **{slider: OTHER[slider]}))
    follows = slider in ("capacity_tokens", "rate_per_s")
    for policy in ("lru", "optimum"):
        assert (before[policy] != after[policy]) == follows


def test_more_capacity_lets_lru_and_the_optimum_serve_more(bench):
    less, more = rates(bench, START), rates(bench, replace(START, capacity_tokens=80_000))
    assert (more > less)[["lru", "optimum"]].all()


def test_back_at_the_start_everything_is_as_before(bench):
    before = rates(bench, START)
    for slider, value in OTHER.items():
        rates(bench, replace(START, **{slider: value}))
    assert rates(bench, START).equals(before)
    assert rates(make_bench(), START).equals(before)


def test_without_labels_iac_is_called_so_and_noise_does_nothing():
    bench = make_bench(labelled=False)
    clean, noisy = rates(bench, START), rates(bench, replace(START, noise=1.0))
    assert list(clean.index) == ["lru", "iac-no-intent", "optimum"]
    assert clean.equals(noisy)


def test_a_generator_is_called_once():
    calls = []

    def counted(seed):
        calls.append(seed)
        return generate("wildchat-shaped", 40, seed)

    bench = Bench(Experiment(counted, 20, 20, delays=OriginalDelays()), seed=3)
    for rate in (2.0, 5.0, 9.0):
        rates(bench, replace(START, rate_per_s=rate))
    assert calls == [3]
