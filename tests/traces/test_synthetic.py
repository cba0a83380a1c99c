from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.reuse.statistics import fit_statistics
from iac_lib.traces.arrivals import OriginalDelays, OriginalTimes, Poisson, schedule
from iac_lib.traces.synthetic import generate
from iac_lib.traces.workload import build_workload, expected_turns, read_parameters

REPORTED = Path(__file__).parents[2] / "data" / "paper" / "reported.yaml"
SHAPES = ("wildchat-shaped", "sharechat-shaped", "lmsys-shaped")


@pytest.fixture(scope="module", params=SHAPES)
def large(request):
    return generate(request.param, 100_000, seed=1)


@pytest.fixture(scope="module")
def wildchat():
    return generate("wildchat-shaped", 100_000, seed=2)


def turns_by_first_intent(conversations) -> pd.Series:
    by_id = conversations.turns.groupby("conversation_id")
    return by_id["turn"].max().groupby(by_id["intent"].first(), observed=True).mean()


def test_published_means_are_met(large):
    """Against the committed numbers of Table 2, not our own parameter file."""
    published = yaml.safe_load(REPORTED.read_text(encoding="utf-8"))["iac"]["datasets"]
    wanted = published[large.name.removeprefix("synthetic ").removesuffix("-shaped")]
    assert len(large.turns) / len(large) == pytest.approx(wanted["avg_turns"], rel=0.02)
    tokens = large.turns["user_tokens"].sum() + large.turns["output_tokens"].sum()
    assert tokens / len(large) == pytest.approx(wanted["avg_length"], rel=0.03)


def test_the_other_reading_of_length_is_per_turn_and_named():
    turns = generate("wildchat-shaped", 100_000, seed=1, length_of="turn")
    length = (turns.turns["user_tokens"] + turns.turns["output_tokens"]).mean()
    assert length == pytest.approx(736, rel=0.02)
    assert turns.name == "synthetic wildchat-shaped, length per turn"


def test_it_says_synthetic_and_uses_the_taxonomy(large):
    assert large.name.startswith("synthetic ")
    assert tuple(large.turns["intent"].cat.categories) == load_taxonomy(30).names
    assert large.turns["intent"].nunique() == 30 and not large.turns["intent"].isna().any()


def test_every_turn_has_a_time_and_conversations_start_in_order(large):
    starts = large.turns["start_s"][large.turns["turn"] == 1]
    assert starts.is_monotonic_increasing and starts.min() >= 0 and starts.max() <= 86_400
    trace = schedule(large.take(0, 2000), OriginalTimes(), OriginalDelays(), seed=0)
    assert np.nanmin(trace.next_gap_s) > 0
    assert trace.name == large.name


@pytest.mark.parametrize("length_of", ["conversation", "turn"])
@pytest.mark.parametrize("drift", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_calibration_solves_for_the_expected_means(shape, drift, length_of):
    w = build_workload(shape, drift, length_of)
    wanted = read_parameters("shapes")[shape]
    turns = expected_turns(w.arrivals, w.mix, w.follow, w.switch)
    assert turns.sum() == pytest.approx(wanted["turns"], rel=1e-9)
    mean = turns @ (w.user.mean() + w.output.mean())
    if length_of == "turn":
        mean /= turns.sum()
    assert mean == pytest.approx(wanted["length"], rel=1e-9)


def test_insight_1_turns_differ_by_intent(large):
    turns = turns_by_first_intent(large)
    mean = len(large.turns) / len(large)
    assert turns["code_generation"] > 1.3 * mean and turns["code_debugging"] > 1.3 * mean
    assert turns["chitchat"] < 0.8 * mean and turns["academic_writing"] < 0.8 * mean


def test_insight_2_delays_differ_by_intent_and_turn(wildchat):
    statistics = fit_statistics(schedule(wildchat, Poisson(), OriginalDelays(), seed=0))
    windows, names = statistics.windows("median"), load_taxonomy(30).names
    chitchat, code, story = map(names.index, ("chitchat", "code_generation", "creative_writing"))
    assert windows[code, 1] > 2.5 * windows[chitchat, 1]
    assert windows[story, 5] > 1.3 * windows[story, 1]
    assert statistics.reuse[code, 1] > 1.5 * statistics.reuse[chitchat, 1]
    assert statistics.reuse[story, 5] > statistics.reuse[story, 1]


def swing_over_the_day(conversations, intent: str) -> tuple[float, float, float]:
    """Largest over smallest of share, mean turns and median delay by 3-hour block."""
    turns = conversations.turns
    first = turns.groupby("conversation_id")[["start_s", "intent"]].first()
    block = (first["start_s"] // 10_800).astype(int)
    mine = first["intent"] == intent
    share = mine.groupby(block).mean()
    depth = turns.groupby("conversation_id")["turn"].max()[mine].groupby(block[mine]).mean()
    delay = turns["start_s"].diff().where(turns["turn"] > 1).shift(-1)
    own = turns["intent"] == intent
    median = delay[own].groupby(turns["conversation_id"][own].map(block)).median()
    return tuple(x.max() / x.min() for x in (share, depth, median))


def test_insight_3_behaviour_drifts_over_the_day(wildchat):
    still = generate("wildchat-shaped", 100_000, seed=2, drift=False)
    for moving, flat in zip(
        swing_over_the_day(wildchat, "creative_writing"),
        swing_over_the_day(still, "creative_writing"),
        strict=True,
    ):
        assert moving > 1.25
        assert flat < 1.18
        assert moving > flat + 0.1


def test_intents_switch_inside_conversations(wildchat):
    turns = wildchat.turns
    codes = turns["intent"].cat.codes.to_numpy()
    follow = np.flatnonzero(turns["turn"] > 1)
    switched = (codes[follow] != codes[follow - 1]).mean()
    assert 0.06 < switched < 0.08  # 8 % draw a new intent, which may be the old one


def test_sampled_follow_ups_match_the_model():
    conversations = generate("wildchat-shaped", 200_000, seed=5, drift=False)
    w = build_workload("wildchat-shaped", drift=False)
    turns = conversations.turns
    follows = np.append(turns["turn"].to_numpy()[1:] > 1, False)
    for name in ("creative_writing", "chitchat"):
        code = w.intents.index(name)
        for turn in (1, 3):
            here = ((turns["intent"] == name) & (turns["turn"] == turn)).to_numpy()
            p = w.follow[0, code, turn - 1]
            error = np.sqrt(p * (1 - p) / here.sum())
            assert follows[here].mean() == pytest.approx(p, abs=4 * error)


def test_pace_ties_the_delays_of_a_conversation_but_keeps_their_spread():
    def delays(pace: float) -> tuple[float, float]:
        turns = generate("wildchat-shaped", 100_000, 6, drift=False, pace=pace).turns
        log = np.log(turns["start_s"].diff().where(turns["turn"] > 1))
        code = turns["intent"] == "code_generation"
        follow = code & code.shift(fill_value=False)
        second = log[follow & (turns["turn"] == 2)].set_axis(
            turns["conversation_id"][follow & (turns["turn"] == 2)]
        )
        third = log[follow & (turns["turn"] == 3)].set_axis(
            turns["conversation_id"][follow & (turns["turn"] == 3)]
        )
        return second.std(), second.corr(third)

    spread, tied = delays(0.6)
    plain, free = delays(0.0)
    assert spread == pytest.approx(0.85, rel=0.03) and plain == pytest.approx(0.85, rel=0.03)
    assert tied == pytest.approx(0.6**2 / 0.85**2, abs=0.05)
    assert abs(free) < 0.05


def test_same_seed_same_conversations():
    a, b, c = (generate("sharechat-shaped", 500, seed).turns for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(a, b)
    assert not a.equals(c)


@pytest.mark.parametrize("conversations", [0, 1])
def test_tiny_sizes(conversations):
    assert len(generate("wildchat-shaped", conversations)) == conversations


def test_impossible_requests_are_refused():
    with pytest.raises(ValueError, match="wildchat-shaped, sharechat-shaped, lmsys-shaped"):
        generate("claude-shaped", 10)
    with pytest.raises(ValueError, match="pace"):
        generate("wildchat-shaped", 10, pace=2.0)
    with pytest.raises(ValueError, match="length_of"):
        generate("wildchat-shaped", 10, length_of="word")
