from __future__ import annotations

import re

import pytest

from iac_lib.reuse.prompts import concatenate_prompts


def find_words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def number(first: int, last: int) -> str:
    return " ".join(map(str, range(first, last + 1)))


def test_short_prompts_stay_whole_oldest_first():
    assert concatenate_prompts(["a b", "c"], find_words) == "a b\nc"


def test_the_last_five_count():
    assert concatenate_prompts(list("abcdefg"), find_words) == "c\nd\ne\nf\ng"


def test_a_long_prompt_keeps_head_and_tail_of_its_share():
    # (28 - 8) // 2 = 10 tokens each.
    text = concatenate_prompts([number(1, 100), "short one"], find_words, limit=28)
    assert text == f"{number(1, 5)} {number(96, 100)}\nshort one"
    odd = concatenate_prompts([number(1, 100)], find_words, limit=8 + 7)
    assert odd == f"{number(1, 4)} {number(98, 100)}"


@pytest.mark.parametrize("prompts", [1, 2, 3, 5, 9])
def test_the_whole_stays_within_the_limit(prompts):
    text = concatenate_prompts([number(1, 1000)] * prompts, find_words)
    assert 0.97 * (512 - 8) <= len(find_words(text)) <= 512 - 8
