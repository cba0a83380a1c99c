from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from iac_lib.traces.claude_code import SUBAGENT_REQUESTS, load_claude_code
from iac_lib.traces.errors import TraceError


def ask(t, tokens, ids, kinds=("text",), **more):
    fields = {"t": t, "type": "n", "in": tokens, "out": 5, "hash_ids": ids}
    return {**fields, "input_types": list(kinds), **more}


def write_sessions(path, *sessions):
    with gzip.open(path, "wt") as file:
        for i, requests in enumerate(sessions):
            record = {"id": f"s{i}", "block_size": 4, "requests": requests}
            file.write(json.dumps(record) + "\n")
    return path


@pytest.fixture
def two(tmp_path):
    agent = {"t": 3.0, "type": "subagent", "agent_id": "a1"}
    return write_sessions(
        tmp_path / "traces.jsonl.gz",
        [
            ask(0.0, 9, [1, 2]),
            {**agent, "requests": [ask(0.0, 8, [1, 7]), ask(5.0, 9, [1, 7])]},
            ask(4.0, 13, [1, 2, 3], ["tool_result"], type="s"),
        ],
        [ask(0.0, 9, [1, 2])],
    )


def test_sessions_agents_and_blocks(two):
    trace = load_claude_code(two, rate_per_s=1e-6, seed=1)
    names = [f"s0/{i}" for i in (0, 1, 3, 2)]  # by time: 0, 3 + 0, 4, 3 + 5 seconds
    assert trace.column("request_id").tolist() in ([*names, "s1/0"], ["s1/0", *names])
    trace = trace.select(trace.requests["request_id"].str.startswith("s0").to_numpy())
    assert trace.column("conversation_id").tolist() == ["s0", "s0/a1", "s0", "s0/a1"]
    assert trace.column("turn").tolist() == [1, 1, 2, 2]
    times = trace.column("arrival_s")
    np.testing.assert_allclose(times - times[0], [0, 3, 4, 8])
    assert trace.requests["request_type"].tolist() == ["text", "text", "tool_result", "text"]
    assert trace.blocks.tokens.tolist() == [4, 4, 1, 4, 4, 4, 4, 4, 1, 4, 4, 1]
    assert trace.notes == {SUBAGENT_REQUESTS: 2}


def test_only_requests_of_one_session_share_blocks(two):
    trace = load_claude_code(two)
    rows = np.split(trace.blocks.ids, trace.blocks.starts[1:-1])
    ids = dict(zip(trace.column("request_id").tolist(), rows, strict=True))
    assert not set(ids["s0/0"]) & set(ids["s1/0"])
    assert ids["s0/0"][:2].tolist() == ids["s0/3"][:2].tolist()
    assert ids["s0/0"][2] not in ids["s0/3"]  # a partial block is shared with nobody
    assert ids["s0/1"][0] == ids["s0/0"][0]


def test_starts_depend_on_the_seed_alone(two):
    again = [load_claude_code(two, 0.5, seed).column("arrival_s").tolist() for seed in (0, 0, 1)]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (ask(0.0, 9, [1]), r"row 1: number of hash_ids = 1: the input makes 2 blocks of 4"),
        (ask(-1.0, 9, [1, 2]), r"row 1: t = -1.0: must be at least 0"),
        (ask(0.0, 9, [1, "2"]), r"row 1: hash_ids = '2': items must be int"),
        (ask(0.0, 9, [1, 2**70]), r"hash_ids = 1180591620717411303424: does not fit"),
        ({"t": 0.0, "type": "subagent"}, r"row 1: agent_id = None: field agent_id is missing"),
    ],
)
def test_bad_requests(tmp_path, request_, says):
    with pytest.raises(TraceError, match=says):
        load_claude_code(write_sessions(tmp_path / "t.jsonl.gz", [request_]))


def test_a_repeated_session(two):
    two.write_bytes(two.read_bytes() * 2)
    with pytest.raises(TraceError, match=r"row 3: id = 's0': appears twice"):
        load_claude_code(two)


def test_published_sessions(real):
    trace = load_claude_code(real("claude-code/traces.jsonl.gz"))
    agents = trace.requests["conversation_id"].str.contains("/")
    # 7,949 published entries: 7,947 requests and two lists of 5 and 7 sub-agent requests.
    assert trace.requests["conversation_id"][~agents].nunique() == 178
    assert ((~agents).sum(), agents.sum()) == (7_947, 12)
    assert trace.notes == {SUBAGENT_REQUESTS: 12}
    assert trace.blocks.size == 64
