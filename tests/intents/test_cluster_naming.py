from __future__ import annotations

import json
import re

import numpy as np
import pytest

from iac_lib.intents.cluster_naming import (
    cluster,
    find_representatives,
    name_clusters,
    spread_out,
)
from iac_lib.llm.openai_api import OpenAILLM
from iac_lib.llm.recorded import RecordedLLM
from tests.chat_server import serve_chat

KINDS = ["cooking", "travel", "law", "music"]


@pytest.fixture
def server():
    pytest.importorskip("openai", reason="openai is not installed: make models")
    with serve_chat() as server:
        server.reply = name
        yield server


def name(body):
    (kind,) = set(re.findall(r"kind=(\w+)", str(body["messages"])))
    return json.dumps({"name": kind, "description": f"About {kind}."})


def open_llm(server):
    return OpenAILLM(server.url, "served", timeout_s=1, retries=0)


@pytest.fixture
def requests():
    """Texts of four kinds, and embeddings that point where their kind does."""
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(4), 25)
    rng.shuffle(codes)
    points = np.eye(4, 8)[codes] + 0.1 * rng.normal(size=(100, 8))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return [f"kind={KINDS[code]} {i}" for i, code in enumerate(codes)], points, codes


def test_every_kind_becomes_a_class(server, requests):
    texts, points, codes = requests
    found = name_clusters(open_llm(server), texts, points, 4)
    assert sorted(each.name for each in found.classes) == sorted(KINDS)
    named = [found.classes[code].name for code in found.codes]
    assert named == [KINDS[code] for code in codes]
    assert len(server.bodies) == found.usage.requests == 4


def test_clusters_that_agree_on_a_name_are_one_class(server, requests):
    texts, points, codes = requests
    found = name_clusters(open_llm(server), texts, points, 9)
    assert len(set(found.clusters)) == 9
    assert sorted(each.name for each in found.classes) == sorted(KINDS)
    assert [found.classes[code].name for code in found.codes] == [KINDS[code] for code in codes]


def test_a_cluster_that_gets_no_name_is_none(server, requests):
    texts, points, codes = requests
    server.reply = lambda body: "?" if "kind=law" in str(body["messages"]) else name(body)
    found = name_clusters(open_llm(server), texts, points, 4)
    assert (found.codes == -1).tolist() == (codes == 2).tolist()
    assert len(found.classes) == 3 and len(found.problems) == 1
    assert len(server.bodies) == 3 + 3


def test_answers_kept_make_it_repeatable(server, requests, tmp_path):
    texts, points, _ = requests
    llm = RecordedLLM(tmp_path / "a.jsonl", open_llm(server))
    first = name_clusters(llm, texts, points, 6, seed=5)
    replay = RecordedLLM(tmp_path / "a.jsonl", name="served")
    again = name_clusters(replay, texts, points, 6, seed=5)
    assert again.classes == first.classes and (again.codes == first.codes).all()


def test_representatives_are_the_nearest(requests):
    _, points, _ = requests
    members, centres = cluster(points, 4, seed=0)
    shown = find_representatives(points, members, centres, 2)
    assert (members[shown] == 2).all() and len(shown) == 8
    distances = np.linalg.norm(points - centres[2], axis=1)
    assert (
        distances[shown].max() <= distances[np.setdiff1d(np.flatnonzero(members == 2), shown)].min()
    )


def test_wrong_counts_are_refused(requests):
    texts, points, _ = requests
    with pytest.raises(ValueError, match="within 1 and 100"):
        cluster(points, 101, seed=0)
    with pytest.raises(ValueError, match="100 texts have 99"):
        name_clusters(None, texts, points[1:], 4)


def test_outliers_do_not_take_the_clusters():
    rng = np.random.default_rng(2)
    # Eight groups that differ little beside what all have in common, and a few loners.
    common = 5 * rng.normal(size=32)
    groups = rng.normal(size=(8, 32))
    truth = np.repeat(np.arange(8), 30)
    points = common + groups[truth] + 0.3 * rng.normal(size=(240, 32))
    points = np.vstack([points, common + 6 * rng.normal(size=(6, 32))])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    members, _ = cluster(spread_out(points), 8, seed=0)
    pure = sum(np.bincount(truth[members[:240] == k]).max() for k in np.unique(members[:240]))
    assert pure / 240 > 0.85
    assert np.bincount(members).min() > 5


def test_a_name_that_fits_any_request_is_sent_back(server, requests):
    texts, points, _ = requests

    def reply(body):
        complained = "fits any request" in body["messages"][-1]["content"]
        return (
            name(body) if complained else json.dumps({"name": "request_type", "description": "x"})
        )

    server.reply = reply
    found = name_clusters(open_llm(server), texts, points, 4)
    assert sorted(each.name for each in found.classes) == sorted(KINDS)
    assert found.usage.requests == 8
