from __future__ import annotations

import pytest

from iac_lib.intents.class_lists import ClassListError, IntentClass, read_classes, write_classes

TWO = [IntentClass("cooking", "What to cook."), IntentClass("code_repair", "Broken programs.")]
WRITTEN = write_classes(TWO)


@pytest.mark.parametrize(
    "text",
    [
        WRITTEN,
        f"Here is the list:\n```json\n{WRITTEN}\n```\nI hope that helps!",
        '{"classes": ' + WRITTEN + "}",
        WRITTEN.replace("}\n]", "},\n]").replace('."}', '.",}'),
        WRITTEN.replace("cooking", " Cooking ").replace("code_repair", "Code-Repair"),
        WRITTEN[:-1] + ', {"name": "cut_off", "descr',
        "I take {these}: " + WRITTEN,
        WRITTEN[:-1] + ', {"name": "cooking", "description": "Once more."}]',
        WRITTEN[:-1] + ', {"name": 7, "description": "x"}, {"name": "!", "description": "y"}]',
        "<class><name>cooking</name>\n<description>What to\n cook.</description></class>"
        "<class><name>Code repair</name><description>Broken programs.</description></class>",
    ],
    ids=[
        "clean", "fenced", "wrapped", "commas", "case", "cut", "braces", "twice", "odd", "tags",
    ],
)  # fmt: skip
def test_a_list_is_read_however_it_is_written(text):
    assert read_classes(text, 5) == TWO


@pytest.mark.parametrize("text", ["", "[]", "cooking, code_repair", '{"name": "x"}', '[{"name": "'])
def test_no_list_is_an_error_that_tells_the_model_what_to_do(text):
    with pytest.raises(ClassListError, match="JSON list"):
        read_classes(text, 5)


def test_too_many_is_an_error_that_tells_the_model_what_to_do():
    with pytest.raises(ClassListError, match="2 classes; at most 1"):
        read_classes(WRITTEN, 1)
