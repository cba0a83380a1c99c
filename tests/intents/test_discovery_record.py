"""The recorded run answers all of its questions, and costs what it says."""

from __future__ import annotations

import pandas as pd
import pytest

from iac_lib.intents.discovery_cost import Rates, extrapolate, share_repeated
from iac_lib.intents.discovery_record import (
    REQUESTS,
    SETTINGS,
    choose_discovery,
    load_discovery,
)
from iac_lib.intents.gold import load_gold
from iac_lib.intents.labeling import show_requests
from iac_lib.intents.tnt_llm import Discovery, discover_intents, load_seeds
from iac_lib.llm.usage import Usage
from iac_lib.traces.sharegpt import load_sharegpt

RATES = Rates(
    prompt_tokens_per_s=1000,
    output_tokens_per_s=100,
    gpu_hour=2.0,
    prompt_price=1.0,
    output_price=10.0,
    thinking_tokens=5,
)


@pytest.fixture(scope="module")
def found() -> Discovery:
    texts = show_requests(load_sharegpt(), choose_discovery())["text"]
    return discover_intents(load_discovery(), texts, settings=SETTINGS)


def test_no_request_is_of_the_test_part():
    chosen, gold = choose_discovery(), load_gold()
    assert len(chosen) == REQUESTS
    assert set(chosen["sample"]) == {"random"} and set(chosen["part"]) == {"train"}
    test = gold[gold["part"] == "test"]
    assert not set(test["conversation_id"]) & set(chosen["conversation_id"])


def test_the_record_answers_every_question_and_holds_no_other(found):
    assert not found.problems
    assert found.labels["summary"].notna().all()
    assert found.usage.requests >= len(load_discovery()) > 2 * REQUESTS
    assert len(found.classes) == 25
    assert found.coverage["coverage"].iloc[-1] == pytest.approx(119 / 120)


def test_stages_and_steps_add_up(found):
    assert found.stages["seeds"] == tuple(load_seeds())
    assert set(found.classes) <= set(found.stages["review"])
    steps = found.usage_by_step.values()
    for field in ("requests", "prompt_tokens", "output_tokens"):
        assert sum(getattr(step, field) for step in steps) == getattr(found.usage, field)
    assert found.usage_by_step["summarise"].requests == REQUESTS


def test_only_what_grows_with_requests_is_scaled():
    usage = {
        "summarise": Usage(10, 1000, 100),
        "assign": Usage(20, 4000, 40),
        "generate": Usage(1, 300, 50),
        "update": Usage(),
        "review": Usage(1, 200, 30),
    }
    table = extrapolate(usage, 10, 1000, 100, RATES).set_index("step")
    assert table["questions"].tolist() == [1000, 2000, 1, 1, 9, 3011]
    assert table.loc["assign", "prompt_tokens"] == 400_000
    assert table.loc["assign", "output_tokens"] == 4000 + 5 * 2000
    assert table.loc["assign", "gpu_hours"] == pytest.approx((400 + 140) / 3600)
    assert table.loc["assign", "gpu_cost"] == pytest.approx(2 * (400 + 140) / 3600)
    assert table.loc["assign", "vendor_cost"] == pytest.approx(0.4 + 0.14)
    assert table.loc["update (at most)", "prompt_tokens"] == 9 * 300
    pd.testing.assert_series_equal(
        table.loc["total"], table.drop(index="total").sum(), check_names=False
    )


def test_updates_of_the_run_itself_go_before_the_bound():
    usage = {step: Usage(1, 100, 10) for step in ("summarise", "assign", "generate", "review")}
    usage["update"] = Usage(2, 80, 20)
    table = extrapolate(usage, 10, 1000, 100, RATES).set_index("step")
    assert table.loc["update (at most)", "questions"] == 9
    assert table.loc["update (at most)", "prompt_tokens"] == 9 * 40


def test_a_prefix_is_repeated_once_it_was_seen():
    assert share_repeated(["list: a", "other", "list: b"]) == pytest.approx(6 / 19)
    assert share_repeated(["same", "same"]) == 0.5
    assert share_repeated(["one"]) == 0
