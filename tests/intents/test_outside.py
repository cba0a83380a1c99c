from __future__ import annotations

import pandas as pd
import pytest

from iac_lib.intents.outside import judge, load_equivalents, load_found, load_outside
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.traces.data import DataNotFound


def test_every_equivalent_is_an_intent():
    names = set(load_taxonomy(30).names)
    for labels in load_equivalents().values():
        for intents in labels.values():
            assert intents and set(intents) <= names


def test_any_of_the_equivalents_is_right():
    found = pd.DataFrame(
        {
            "source": ["mt-bench"] * 3,
            "label": ["coding", "coding", "math"],
            "intent": ["code_debugging", "translation", "math_problem_solving"],
        }
    )
    table = judge(found).set_index("label")
    assert table["right"].to_dict() == {"coding": 0.5, "math": 1.0}
    assert table["requests"].to_dict() == {"coding": 2, "math": 1}


def test_what_ships_was_predicted_for_these_requests():
    try:
        requests = load_outside()
    except DataNotFound as error:
        pytest.skip(str(error))
    found = load_found()
    assert found[["source", "label", "turn"]].equals(requests[["source", "label", "turn"]])
