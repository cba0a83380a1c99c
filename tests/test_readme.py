"""What the README shows can be typed in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iac_lib.cache.replay import replay
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.bailian import write_bailian
from iac_lib.traces.synthetic import generate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def make_trace():
    return schedule(generate("wildchat-shaped", 400), Poisson(5.0), OriginalDelays())


def test_the_own_question_is_answered(tmp_path, monkeypatch, capsys):
    write_bailian(make_trace(), tmp_path / "my_trace.jsonl")
    monkeypatch.chdir(tmp_path)
    exec(EXAMPLES[0], {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["lru", "iac", "no"]
    assert all(0 < float(line[-1]) < 1 for line in lines)
    assert float(lines[2][-1]) >= float(lines[0][-1])


def test_the_own_policy_replays():
    scope: dict = {}
    exec(EXAMPLES[1], scope)
    result = replay(make_trace(), scope["LargestFirst"](), 20_000, record_victims=True)
    assert len(result.victims) > 0


@pytest.mark.parametrize("path", re.findall(r"\]\(([\w/.-]+)\)", README))
def test_every_link_leads_somewhere(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("target", re.findall(r"`?make ([a-z]+)", README))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
