"""What policies learn from a history, checked by hand on a small one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iac_lib.cache.replay import replay
from iac_lib.policies import IAC, LPC, TLRU, WA, FullHorizon
from iac_lib.traces.schema import Trace


def history() -> Trace:
    """Four conversations: a asks three times, b twice, c and d once."""
    rows = [
        ("a", 1, 0.0, 10, 10, "text"), ("b", 1, 1.0, 30, 10, "file"), ("c", 1, 2.0, 10, 10, "text"),
        ("d", 1, 3.0, 10, 10, "file"), ("a", 2, 10.0, 40, 10, "text"),
        ("b", 2, 41.0, 60, 10, "file"), ("a", 3, 40.0 + 2, 70, 10, "text"),
    ]  # fmt: skip
    names = ["conversation_id", "turn", "arrival_s", "input_tokens", "output_tokens"]
    frame = pd.DataFrame(rows, columns=[*names, "request_type"])
    return Trace("by hand", frame.assign(request_id=range(len(frame))))


def test_lpc_takes_follow_up_frequencies_by_turn():
    policy = LPC().fit(history())
    assert policy.continuation[1:4] == pytest.approx([2 / 4, 1 / 2, 0 / 1])
    assert policy.score_requests(history())[:2] == pytest.approx([0.5, 0.5])


def test_lpc_takes_scores_and_refuses_too_few():
    scores = np.linspace(0, 1, 7)
    assert (LPC(scores=scores).score_requests(history()) == scores).all()
    with pytest.raises(ValueError, match="3 scores for 7 requests"):
        LPC(scores=np.zeros(3)).score_requests(history())
    with pytest.raises(ValueError, match="fit"):
        LPC().score_requests(history())


def test_tlru_takes_the_mean_new_prompt():
    # new tokens: 10, 30, 10, 10, 20, 20, 20
    assert TLRU().fit(history()).next_prompt_tokens == pytest.approx(120 / 7)


def test_wa_takes_reuse_and_delay_by_type_and_turn():
    policy = WA().fit(history())
    text, file = (history().request_types.index(t) for t in ("text", "file"))
    assert policy.probability[text, 1] == 1 / 2
    assert policy.probability[file, 1] == 1 / 2
    assert policy.probability[text, 2] == 1.0
    assert policy.probability[file, 2] == 0.0
    assert policy.probability[-1].sum() == 0, "no request is of unknown type"


def test_wa_knows_requests_without_a_type():
    plain = history().assign(request_type=pd.Categorical([None] * 7, categories=[]))
    policy = WA().fit(plain)
    assert policy.probability.shape[0] == 1
    assert policy.probability[-1, 1] == 2 / 4
    # delays of turn 1: 10 s and 40 s, so the exponential starts at 10 and has mean 15
    assert policy.rate[-1, 1] == pytest.approx(1 / 15)


def test_wa_ignores_reuse_within_a_third_of_a_second():
    quick = history().requests.copy()
    quick["arrival_s"] = quick["arrival_s"] / 1000
    assert WA().fit(Trace("quick", quick)).probability.sum() == 0


def test_iac_without_labels_still_learns_by_turn():
    reuse = IAC().fit(history()).params().reuse
    assert reuse[-1, 1:4] == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize("policy", [IAC(), FullHorizon(), WA()], ids=lambda policy: policy.name)
def test_other_categories_than_the_history_had_are_refused(policy):
    """Codes would still index the tables, and silently mean something else."""
    learned = history().assign(intent=pd.Categorical(list("ababaab"), categories=["a", "b"]))
    fitted = policy.fit(learned)
    assert replay(learned, fitted, 50).hit_rate >= 0
    swapped = learned.assign(
        intent=learned.requests["intent"].cat.reorder_categories(["b", "a"]),
        request_type=learned.requests["request_type"].cat.reorder_categories(["text", "file"]),
    )
    with pytest.raises(ValueError, match="same categories"):
        replay(swapped, fitted, 50)
