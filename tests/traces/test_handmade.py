"""The hand-made example shows what the notebook says it shows."""

import pytest

from iac_lib.cache.compare import rank_leaves, unlimited
from iac_lib.cache.replay import replay
from iac_lib.cache.snapshot import take_snapshot
from iac_lib.policies import IAC, LFU, LPC, LRU, MIN, SLRU, TB, TBS, TLRU, WA, FullHorizon
from iac_lib.policies.gdsf import GDSF
from iac_lib.reuse.statistics import fit_statistics
from iac_lib.traces.handmade import BEHAVIOUR, HISTORY_PER_INTENT, NOW_S, make_example, make_history

pytestmark = pytest.mark.slow  # every policy is compiled
HISTORY, EXAMPLE = make_history(), make_example()
SERVED = int((EXAMPLE.column("arrival_s") < NOW_S).sum())


def first_victim(policy):
    ranks = rank_leaves(EXAMPLE, {"it": policy.fit(HISTORY)}, SERVED, NOW_S)
    return ranks.loc["it"].idxmin()


def test_history_and_example_use_the_same_codes():
    assert HISTORY.intents == EXAMPLE.intents == tuple(BEHAVIOUR)
    assert HISTORY.request_types == EXAMPLE.request_types


@pytest.mark.parametrize("intent", BEHAVIOUR)
def test_the_history_behaves_as_its_table_says(intent):
    statistics, code = fit_statistics(HISTORY), HISTORY.intents.index(intent)
    reached = HISTORY_PER_INTENT
    for turn, (go_on, median_s) in enumerate(BEHAVIOUR[intent].follow_ups, start=1):
        assert statistics.reuse[code, turn] == go_on / reached
        assert statistics.windows("median")[code, turn] == pytest.approx(median_s)
        reached = go_on


@pytest.mark.parametrize(
    ("signals", "victim"),
    [
        (("recency",), "bob"),
        (("reuse",), "gus"),
        (("recency", "reuse"), "eva"),
        (("recency", "reuse", "size"), "fay"),
    ],
)
def test_every_signal_of_iac_changes_the_victim(signals, victim):
    assert first_victim(IAC(signals=signals)) == victim


@pytest.mark.parametrize(
    ("policy", "victim"),
    [
        (LRU(), "dan"),
        (LFU(), "ada"),
        (SLRU(), "ada"),
        (GDSF("tokens"), "ada"),
        (GDSF("one"), "eva"),
        (LPC(), "dan"),
        (TLRU(), "fay"),
        (WA(), "eva"),
        (FullHorizon(), "eva"),
        (TB(threshold_s=150.0), "bob"),
        (TBS(threshold_s=150.0), "fay"),
        (MIN(), "fay"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_who_goes_first(policy, victim):
    assert first_victim(policy) == victim


@pytest.mark.parametrize("policy", [LRU(), IAC(), MIN()], ids=lambda policy: policy.name)
def test_the_replay_evicts_what_the_drawing_says(policy):
    policy = policy.fit(HISTORY)
    nodes = take_snapshot(EXAMPLE, policy, unlimited(EXAMPLE), SERVED, NOW_S)
    full = int(nodes["tokens"].sum())
    victim = replay(EXAMPLE, policy, full, record_victims=True).victims.iloc[0]
    drawn = nodes[nodes["rank"] == 0].iloc[0]
    assert victim["request"] == SERVED
    assert (victim["depth_tokens"], victim["tokens"]) == (drawn["depth_tokens"], drawn["tokens"])
