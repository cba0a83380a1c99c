from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iac_lib.intents.predicted import (
    PredictionsMissing,
    label_conversations,
    label_experiment,
    label_if_predicted,
    load_predictions,
    read_probabilities,
    score_follow_ups,
)
from iac_lib.intents.taxonomy import group_codes, load_taxonomy
from iac_lib.policies import IAC
from iac_lib.policies.lineup import learned_lpc
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.sharegpt import load_sharegpt
from iac_lib.traces.sources import sharegpt_experiment


@pytest.fixture(scope="module")
def sharegpt():
    return load_sharegpt()


def test_every_request_of_sharegpt_is_predicted(sharegpt):
    labelled = label_conversations(sharegpt)
    assert list(labelled.turns["intent"].cat.categories) == list(load_taxonomy(30).names)
    assert labelled.turns["intent"].notna().all()
    assert labelled.turns.drop(columns="intent").equals(sharegpt.turns)


def test_the_intent_is_the_most_probable_one_and_groups_sum():
    rows = load_predictions()
    probabilities = read_probabilities(rows)
    assert np.allclose(probabilities.sum(axis=1), 1)
    codes = rows["intent"].to_numpy()
    own = probabilities[np.arange(len(codes)), codes]
    # Stored in 255ths: the intent may tie with another, not lose.
    assert (own >= probabilities.max(axis=1) - 1.01 / 255).all()


@pytest.mark.parametrize("classes", [20, 10])
def test_merged_intents_are_mostly_the_groups_of_single_ones(sharegpt, classes):
    single = label_conversations(sharegpt).turns["intent"].cat.codes.to_numpy()
    merged = label_conversations(sharegpt, classes).turns["intent"]
    assert list(merged.cat.categories) == list(load_taxonomy(classes).names)
    same = group_codes(classes)[single] == merged.cat.codes.to_numpy()
    assert 0.9 < same.mean() < 1


def test_intents_and_scores_reach_the_policies():
    experiment = label_experiment(sharegpt_experiment("quick"))
    history, replay = experiment(0, 5.0)
    assert replay.intents == load_taxonomy(30).names
    IAC().fit(history).check(replay)
    scores = learned_lpc(score_follow_ups()).score_requests(replay)
    by_key = load_predictions()["follow_up"]
    first = replay.requests.iloc[0]
    assert scores[0] == pytest.approx(by_key[(first["conversation_id"], first["turn"])])
    assert ((scores >= 0) & (scores <= 1)).all()


def test_other_conversations_are_refused_by_name():
    turns = pd.DataFrame(
        {"conversation_id": ["new"], "turn": [1], "user_tokens": [3], "output_tokens": [3]}
    )
    other = Conversations("mine", turns)
    with pytest.raises(PredictionsMissing, match=r"turn 1 of new.*iac_lib\.learn"):
        label_conversations(other)
    assert label_if_predicted(other) is other


def test_a_file_without_predictions_is_refused(tmp_path):
    (tmp_path / "cut.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="no whole Parquet file"):
        load_predictions(tmp_path / "cut.parquet")
    pd.DataFrame({"conversation_id": ["a"]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(ValueError, match="lacks turn, intent"):
        load_predictions(tmp_path / "other.parquet")
    with pytest.raises(FileNotFoundError):
        load_predictions(tmp_path / "none.parquet")
