from __future__ import annotations

import pytest

from iac_lib.intents.labels import ReadLabel, read_label
from iac_lib.intents.taxonomy import load_taxonomy

NAMES = load_taxonomy(30).names


@pytest.mark.parametrize(
    "text",
    [
        "Code_Generation",
        " code_generation\n",
        '"code_generation"',
        "`code_generation`.",
        "**code_generation**",
        "Label: code_generation",
        "The intent is: code generation",
        "code-generation",
        "I would say code_generation, since a script is asked for.",
        "code_generaton",
        "code_generation code_generation",
    ],
)
def test_what_is_meant_without_doubt_is_mended(text):
    assert read_label(text, NAMES) == ReadLabel("code_generation", mended=True)


def test_a_label_as_it_should_be_is_not_mended():
    assert read_label("code_generation", NAMES) == ReadLabel("code_generation", mended=False)


@pytest.mark.parametrize(
    "text",
    ["", "...", "code", "writing", "code_generation or code_debugging", "cooking", "I cannot say."],
)
def test_doubt_is_not_mended(text):
    assert read_label(text, NAMES) is None


def test_a_longer_name_is_not_taken_for_a_shorter_one():
    names = ("code", "code_debugging", "relationship")
    assert read_label("It is code_debugging!", names).name == "code_debugging"
    assert read_label("Code it is", names).name == "code"
    assert read_label("relationships", names).name == "relationship"


def test_every_label_reads_as_itself():
    for name in NAMES:
        assert read_label(name, NAMES) == ReadLabel(name, mended=False)
        assert read_label(f"Intent: {name.upper()}.", NAMES) == ReadLabel(name, mended=True)
