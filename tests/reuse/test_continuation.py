from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

from iac_lib.intents.weights import WeightsError
from iac_lib.policies import LPC
from iac_lib.policies.lineup import learned_lpc
from iac_lib.reuse.continuation import (
    ContinuationPredictor,
    build_inputs,
    find_turns,
    label_requests,
    label_turns,
    name_shapes,
)
from iac_lib.reuse.continuation_quality import (
    area_under_curve,
    compare_scores,
    log_loss,
    score_by_turn,
)
from iac_lib.traces.arrivals import LogNormalDelays, Poisson, schedule
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.schema import Trace
from iac_lib.traces.synthetic import generate

D = 8


def converse(*turns: int) -> Conversations:
    rows = [(f"c{c}", t) for c, count in enumerate(turns) for t in range(1, count + 1)]
    frame = pd.DataFrame(rows, columns=["conversation_id", "turn"])
    return Conversations("by hand", frame.assign(user_tokens=10, output_tokens=10))


def make_predictor() -> ContinuationPredictor:
    rng = np.random.default_rng(0)
    arrays = {
        name: rng.normal(size=shape, scale=0.3).astype(np.float32)
        for name, shape in name_shapes(D + 1).items()
    }
    return ContinuationPredictor(arrays, "e", {"seed": 0})


def test_a_turn_is_followed_unless_it_is_its_conversations_last():
    assert label_turns(converse(3, 1, 2)).tolist() == [True, True, False, False, True, False]
    assert label_turns(converse()).tolist() == []


def test_follow_ups_beyond_the_timeout_do_not_count():
    frame = pd.DataFrame(
        {
            "request_id": range(4),
            "conversation_id": ["a", "a", "a", "b"],
            "turn": [1, 2, 3, 1],
            "arrival_s": [0.0, 1800.0, 3600.1, 4000.0],
            "input_tokens": [10, 30, 50, 10],
            "output_tokens": 1,
        }
    )
    trace = Trace("by hand", frame)
    assert label_requests(trace).tolist() == [True, False, False, False]
    assert label_requests(trace, timeout_s=1801).tolist() == [True, True, False, False]


def test_requests_find_the_turns_they_come_from():
    conversations = converse(3, 1, 2, 4)
    trace = schedule(conversations, Poisson(1.0), LogNormalDelays())
    rows = find_turns(trace, conversations)
    np.testing.assert_array_equal(rows, trace.column("request_id"))
    assert (rows != np.arange(len(trace))).any(), "requests are not interleaved: nothing is tested"
    in_time = label_requests(trace, timeout_s=np.inf)
    np.testing.assert_array_equal(in_time, label_turns(conversations)[rows])
    with pytest.raises(ValueError, match="give the conversations that the trace was scheduled"):
        find_turns(trace, converse(1))


def test_inputs_pool_the_last_five_queries_and_append_the_turn():
    turns = converse(7, 2).turns["turn"].to_numpy()
    rng = np.random.default_rng(0)
    means, tokens = rng.normal(size=(9, D)).astype(np.float32), rng.integers(1, 50, size=9)
    inputs = build_inputs(means, tokens.astype(np.int32), turns)
    assert (inputs.shape, inputs.dtype) == ((9, D + 1), np.float32)
    for row, window in [(0, [0]), (3, [0, 1, 2, 3]), (6, [2, 3, 4, 5, 6]), (8, [7, 8])]:
        mean = (means[window] * tokens[window, None]).sum(axis=0)
        np.testing.assert_allclose(inputs[row, :D], mean / np.linalg.norm(mean), rtol=1e-4)
        assert inputs[row, D] == pytest.approx(np.log(turns[row]))


def test_layers_by_hand():
    predictor = make_predictor()
    x = np.random.default_rng(1).normal(size=(5, D + 1)).astype(np.float32)
    a = {name: array.astype(np.float64) for name, array in predictor.arrays.items()}
    h = x.astype(np.float64)
    for layer in ("hidden1", "hidden2", "hidden3"):
        h = np.clip(h @ a[f"{layer}.weight"].T + a[f"{layer}.bias"], 0, None)
    expected = 1 / (1 + np.exp(-(h @ a["output.weight"].T + a["output.bias"])[:, 0]))
    scores = predictor.score(x)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=1e-3)


def test_a_saved_predictor_comes_back(tmp_path):
    predictor = make_predictor()
    path = predictor.save(tmp_path / "lpc.safetensors")
    loaded = ContinuationPredictor.load(path, embedder="e")
    x = np.random.default_rng(1).normal(size=(5, D + 1)).astype(np.float32)
    np.testing.assert_array_equal(loaded.score(x), predictor.score(x))
    assert loaded.about == {"seed": 0}
    with pytest.raises(WeightsError, match="trained on e, not on another"):
        ContinuationPredictor.load(path, embedder="another")
    card = path.with_suffix(".json")
    card.write_text(json.dumps(json.loads(card.read_text()) | {"dimension": D}))
    with pytest.raises(WeightsError, match=r"hidden1\.weight is"):
        ContinuationPredictor.load(path)


def test_arrays_that_do_not_fit_make_no_predictor():
    arrays = make_predictor().arrays
    with pytest.raises(WeightsError, match="needs arrays"):
        ContinuationPredictor({k: v for k, v in arrays.items() if k != "output.bias"}, "e")


def test_quality_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    followed = rng.random(300) < 0.7
    scores = np.round(np.clip(rng.normal(0.5 + 0.1 * followed, 0.2), 0, 1), 1)  # many ties
    assert area_under_curve(followed, scores) == pytest.approx(
        metrics.roc_auc_score(followed, scores)
    )
    inside = np.clip(scores, 1e-6, 1 - 1e-6)
    assert log_loss(followed, scores) == pytest.approx(metrics.log_loss(followed, inside))
    assert np.isnan(area_under_curve(np.ones(3, bool), np.ones(3)))


def test_scores_by_turn_are_those_of_the_policy():
    history = schedule(generate("wildchat-shaped", 400), Poisson(5.0), LogNormalDelays())
    replay = schedule(generate("wildchat-shaped", 100, seed=1), Poisson(5.0), LogNormalDelays())
    scores = score_by_turn(history, replay)
    np.testing.assert_array_equal(scores, LPC().fit(history).score_requests(replay))
    followed = label_requests(replay)
    table = compare_scores(followed, {"by turn": scores, "always": np.ones(len(replay))})
    assert table["scores"].tolist() == ["by turn", "always"]
    assert table["auc"][0] > 0.5 == table["auc"][1]
    assert table["log_loss"][0] < table["log_loss"][1]


def test_the_policy_on_learned_scores_has_the_papers_name():
    trace = schedule(converse(2, 1), Poisson(1.0), LogNormalDelays())
    policy = learned_lpc(np.array([0.2, 0.9, 0.5]))
    assert policy.name == "lpc"
    assert policy.fit(trace).score_requests(trace).tolist() == [0.2, 0.9, 0.5]
