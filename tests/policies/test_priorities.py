"""The priorities themselves, in plain Python, on nodes made by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import lognorm

from iac_lib.policies import GDSF, IAC, LFU, LPC, LRU, MIN, SLRU, TB, TBS, TLRU, WA, FullHorizon
from iac_lib.reuse.statistics import ReuseStatistics


def node(**attributes) -> SimpleNamespace:
    usual = {
        "created_s": 0.0,
        "last_access_s": 0.0,
        "next_use_s": math.inf,
        "score": 0.5,
        "inflation": 0.0,
        "hits": 1,
        "tokens": 100,
        "depth_tokens": 100,
        "context_tokens": 100,
        "turn": 1,
        "intent": 0,
        "request_type": 0,
    }
    return SimpleNamespace(**usual | attributes)


def statistics(reuse=(0.2, 0.8), mu=(4.0, 5.0), sigma=(1.0, 0.5)) -> ReuseStatistics:
    def table(values):
        return np.tile(np.array([*values, 0.0])[:, None], (1, 4))

    return ReuseStatistics(table(reuse), table(mu), table(sigma), table((9, 9)), table((1, 7)))


def rank(policy, v, now=0.0):
    return policy.priority(v, now, policy.params())


def test_lru_lfu_slru():
    assert rank(LRU(), node(last_access_s=7.0)) == (7.0,)
    assert rank(LFU(), node(hits=3, last_access_s=7.0)) == (3.0, 7.0)
    assert rank(SLRU(threshold=2), node(hits=1)) < rank(SLRU(threshold=2), node(hits=2))


def test_gdsf_cost_of_tokens_ignores_size_and_cost_of_one_favours_small_nodes():
    small, large = node(tokens=10, hits=2, inflation=5.0), node(tokens=1000, hits=2, inflation=5.0)
    assert rank(GDSF("tokens"), small) == rank(GDSF("tokens"), large) == (7.0,)
    assert rank(GDSF("one"), small) == (5.2,)
    assert rank(GDSF("one"), large) < rank(GDSF("one"), small)


def test_gdsf_best_must_be_resolved_first():
    with pytest.raises(ValueError, match="candidates"):
        GDSF("best").params()
    assert [c.cost for c in GDSF("best").candidates()] == ["tokens", "one"]


@pytest.mark.parametrize("now", [500.0, 900.0])
def test_lpc_orders_by_the_decayed_probability(now):
    policy = LPC(decay_per_s=0.01)
    rng = np.random.default_rng(0)
    nodes = [node(score=p, last_access_s=t) for p, t in rng.random((50, 2)) * [0.98, 400] + 0.01]

    def decayed(v):
        d = math.exp(-0.01 * (now - v.last_access_s))
        return v.score * d / (v.score * d + 1 - v.score)

    assert sorted(nodes, key=decayed) == sorted(nodes, key=lambda v: rank(policy, v, now))


def test_lpc_survives_certain_scores():
    assert all(math.isfinite(rank(LPC(), node(score=p))[0]) for p in (0.0, 1.0))


def test_tlru_gives_up_only_what_is_beyond_the_budget():
    policy = TLRU(threshold_tokens=60, next_prompt_tokens=10)
    # budget = 200 + 10 - 60 = 150: without the last 50 tokens 150 are left, without 51 only 149
    assert rank(policy, node(context_tokens=200, depth_tokens=200, tokens=50))[0] == -1.0
    assert rank(policy, node(context_tokens=200, depth_tokens=200, tokens=51))[0] == 0.0
    assert rank(TLRU(500, next_prompt_tokens=0), node(context_tokens=200, tokens=100))[0] == -1.0


def test_wa_is_the_probability_of_reuse_within_five_seconds():
    policy = WA(np.array([[0.5, 0.25], [0.0, 0.0]]), np.array([[0.1, 0.01], [1.0, 1.0]]))
    v = node(request_type=0, turn=9, last_access_s=10.0)  # turn 9 falls in the last column
    assert rank(policy, v, 30.0)[0] == pytest.approx(0.25 * (math.exp(-0.2) - math.exp(-0.25)))
    assert rank(policy, node(request_type=-1), 30.0) == (0.0,)


def test_wa_groups_are_ordered_by_last_access_at_any_time():
    policy = WA(np.array([[0.5, 0.25]]), np.array([[0.1, 0.01]]))
    young, old = node(last_access_s=5.0), node(last_access_s=1.0)
    for now in (5.0, 50.0, 5e4):
        assert rank(policy, old, now) <= rank(policy, young, now)
    assert 0 <= policy.group(node(turn=7), policy.params()) < policy.count_groups()


def test_iac_is_window_then_reuse_then_size():
    policy = IAC(statistics=statistics())
    assert rank(policy, node(intent=1), now=math.exp(5.0) - 1) == (1.0, 0.8, 100.0)
    assert rank(policy, node(intent=1), now=math.exp(5.0)) == (0.0, 0.8, 100.0)
    assert policy.expires_s(node(intent=1, created_s=3.0), policy.params()) == pytest.approx(
        3 + math.exp(5.0)
    )


@pytest.mark.parametrize(
    ("signals", "expected"),
    [
        (("reuse", "recency"), (0.8, 1.0, 0.0)),
        (("size",), (100.0, 0.0, 0.0)),
        (("size", "reuse", "recency"), (100.0, 0.8, 1.0)),
    ],
)
def test_iac_signals_in_any_order_and_subset(signals, expected):
    assert rank(IAC(statistics=statistics(), signals=signals), node(intent=1)) == expected


@pytest.mark.parametrize("signals", [(), ("recency", "recency"), ("recency", "age")])
def test_iac_refuses_signals_that_are_none(signals):
    with pytest.raises(ValueError, match="signals"):
        IAC(signals=signals)


def test_iac_windows_and_merges():
    s = statistics()
    assert IAC(statistics=s, window="mean").params().window[0, 1] == pytest.approx(math.exp(4.5))
    assert IAC(statistics=s, window="mode").params().window[0, 1] == pytest.approx(math.exp(3.0))
    merged = IAC(statistics=s, groups=np.array([0, 0])).params().reuse
    assert merged[0, 1] == merged[1, 1] == pytest.approx(8 / 18)
    assert IAC(statistics=s, use_intent=False).params().reuse[-1, 1] == merged[0, 1]


@pytest.mark.parametrize("age", [1.0, 60.0, 400.0])
def test_full_horizon_is_the_conditional_probability(age):
    policy = FullHorizon(statistics=statistics(), horizon_s=30.0)
    f = lognorm(s=1.0, scale=math.exp(4.0)).cdf
    expected = 0.2 * (f(age + 30) - f(age)) / (1 - 0.2 * f(age))
    assert rank(policy, node(), now=age)[0] == pytest.approx(expected, rel=1e-9)


def test_full_horizon_keeps_its_digits_far_in_the_tail():
    """F rounds to 1 there; survival does not (a sure follow-up is still sure)."""
    policy = FullHorizon(statistics=statistics(reuse=(1.0, 1.0), sigma=(0.1, 0.1)))
    assert rank(policy, node(), now=5 * math.exp(4.0))[0] > 0.9


def test_oracles():
    soon, later = node(next_use_s=10.0), node(next_use_s=500.0)
    assert rank(MIN(), node()) < rank(MIN(), later) < rank(MIN(), soon)
    assert rank(TB(threshold_s=100.0), soon, now=0.0)[0] == 1.0
    assert rank(TBS(threshold_s=100.0), later, now=0.0) == (0.0, 100.0)
    assert rank(TBS(threshold_s=100.0), node(), now=0.0)[0] == 0.0


@pytest.mark.parametrize("policy", [IAC(), FullHorizon(), WA(), TB(), TBS()])
def test_what_is_not_fitted_says_so(policy):
    with pytest.raises(ValueError, match=r"fit|threshold"):
        policy.params()
