"""What the README shows can be typed in."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from iac_lib.cache.replay import replay
from iac_lib.intents.classifier import Head, name_shapes
from iac_lib.intents.embedders import E5Small
from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.models import ModelCorrupt, ModelNotFound, find_model
from iac_lib.models.store import models_directory
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.bailian import write_bailian
from iac_lib.traces.synthetic import generate

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def find_example(word: str) -> str:
    (example,) = [example for example in EXAMPLES if word in example]
    return example


def make_trace():
    return schedule(generate("wildchat-shaped", 400), Poisson(5.0), OriginalDelays())


def test_the_own_question_is_answered(tmp_path, monkeypatch, capsys):
    write_bailian(make_trace(), tmp_path / "my_trace.jsonl")
    monkeypatch.chdir(tmp_path)
    exec(find_example("read_bailian"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in lines] == ["lru", "iac", "no"]
    assert all(0 < float(line[-1]) < 1 for line in lines)
    assert float(lines[2][-1]) >= float(lines[0][-1])


def test_the_own_policy_replays():
    scope: dict = {}
    exec(find_example("LargestFirst"), scope)
    result = replay(make_trace(), scope["LargestFirst"](), 20_000, record_victims=True)
    assert len(result.victims) > 0


@pytest.mark.models
def test_own_chats_are_labelled(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="embedding needs torch: make models")
    try:
        find_model("e5-small")
    except (ModelNotFound, ModelCorrupt) as error:
        pytest.skip(str(error))
    embedder, installed = E5Small(), models_directory()
    shapes = name_shapes(embedder.dimension, 30)
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    monkeypatch.setenv("IAC_CACHE", str(tmp_path))
    (tmp_path / "models").symlink_to(installed)
    head = Head(arrays, load_taxonomy(30).names, embedder.key)
    head.save(tmp_path / "intents" / "classifier.safetensors")
    said = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    chats = [{"id": "a_0", "conversations": 2 * said}]
    (tmp_path / "my_chats.json").write_text(json.dumps(chats))
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    exec(find_example("IntentClassifier"), scope)
    assert scope["conversations"].turns["intent"].notna().tolist() == [True, True]
    assert scope["probabilities"].sum() == pytest.approx(1, abs=1e-5)
    assert scope["probabilities"].argmax() == scope["intent"]


@pytest.mark.parametrize("path", re.findall(r"\]\(([\w/.-]+)\)", README))
def test_every_link_leads_somewhere(path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("target", re.findall(r"`?make ([a-z]+)", README))
def test_every_make_target_exists(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
