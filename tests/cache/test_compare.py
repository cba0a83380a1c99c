import pytest

from iac_lib.cache.compare import follow_priorities, rank_leaves
from iac_lib.policies import IAC, LRU
from iac_lib.traces.handmade import NOW_S, make_example, make_history

EXAMPLE = make_example()
SERVED = 9
IAC_FITTED = IAC().fit(make_history())


def test_every_row_is_a_queue():
    ranks = rank_leaves(EXAMPLE, {"lru": LRU(), "iac": IAC_FITTED}, SERVED, NOW_S)
    for _, row in ranks.iterrows():
        assert sorted(row) == list(range(1, len(row) + 1))


def test_an_unused_leaf_falls_when_its_window_ends_and_not_under_lru():
    # Gus wrote at 880 s; chitchat's window is 30 s.
    judged = follow_priorities(EXAMPLE, {"lru": LRU(), "iac": IAC_FITTED}, SERVED, [909.0, 911.0])
    gus = judged[judged["conversation"] == "gus"].set_index(["policy", "time_s"])
    assert gus.loc[("iac", 909.0), "priority"][0] == 1
    assert gus.loc[("iac", 911.0), "priority"][0] == 0
    assert gus.loc[("iac", 911.0), "rank"] == 0
    lru = judged[judged["policy"] == "lru"].pivot(
        index="conversation", columns="time_s", values="rank"
    )
    assert lru[909.0].equals(lru[911.0].rename(909.0))


def test_the_policy_has_to_be_fitted():
    with pytest.raises(ValueError, match="fit"):
        rank_leaves(EXAMPLE, {"iac": IAC()}, SERVED, NOW_S)
