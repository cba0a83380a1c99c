from __future__ import annotations

import json

import numpy as np
import pytest

from iac_lib.traces.blocks import cut_blocks
from iac_lib.traces.errors import TraceError
from iac_lib.traces.mooncake import read_mooncake, write_mooncake


def write_lines(path, times, tokens=8):
    path.write_text(
        "".join(
            json.dumps(
                {"timestamp": t, "input_length": tokens, "output_length": 1, "hash_ids": [i]}
            )
            + "\n"
            for i, t in enumerate(times)
        )
    )
    return path


def test_round_trip(paged, tmp_path, assert_same):
    path = tmp_path / "t.jsonl"
    write_mooncake(paged, path, block_size=8)
    assert json.loads(path.read_text().splitlines()[1]) == {
        "timestamp": 500,
        "input_length": 16,
        "output_length": 2,
        "hash_ids": [0, 3],
    }
    assert_same(read_mooncake(path, block_size=8, name="paged"), paged)


def test_conversations_become_blocks_that_share_their_history(talk, tmp_path):
    path = tmp_path / "t.jsonl"
    write_mooncake(talk, path, block_size=8)
    ids = [json.loads(line)["hash_ids"] for line in path.read_text().splitlines()]
    assert [len(row) for row in ids] == [2, 2, 4, 6, 3]
    # a: 10 + 6 tokens are two whole blocks of turn 2; its 32 are four of turn 3.
    assert ids[2][0] == ids[0][0] and ids[2][1] not in ids[0]
    assert ids[3][:3] == ids[2][:3] and ids[3][3] not in ids[2]
    assert ids[4][0] == ids[1][0] and ids[4][1] not in ids[1]
    assert not set(ids[3]) & set(ids[4])
    read_mooncake(path, block_size=8)


def test_cutting_keeps_what_is_shared(paged):
    np.testing.assert_array_equal(cut_blocks(paged, 8).ids, paged.blocks.ids)
    finer = cut_blocks(paged, 4)
    rows = np.split(finer.ids, finer.starts[1:-1])
    assert rows[0].tolist() == rows[3].tolist()
    assert np.intersect1d(rows[0], rows[1]).tolist() == rows[0][:2].tolist()


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([0.0, 0.25], r"row 2: timestamp = 0.25: has a fraction, so it seems to be in seconds"),
        (range(0, 60, 2), r"row 30: timestamp = 58: would mean 517 requests/s"),
    ],
)
def test_seconds_are_noticed_unless_vouched_for(tmp_path, times, says):
    path = write_lines(tmp_path / "t.jsonl", times)
    with pytest.raises(TraceError, match=says):
        read_mooncake(path)
    trace = read_mooncake(path, unit="s")
    assert trace.column("arrival_s").tolist() == list(times)
    assert read_mooncake(path, unit="ms").column("arrival_s")[-1] == times[-1] / 1000
    with pytest.raises(ValueError, match="unit must be one of s, ms"):
        read_mooncake(path, unit="us")


def test_a_wrong_block_size_is_refused(tmp_path):
    path = write_lines(tmp_path / "t.jsonl", [0], tokens=600)
    with pytest.raises(
        TraceError, match=r"row 1: number of hash_ids = 1: the input makes 2 blocks"
    ):
        read_mooncake(path)


def test_published_trace(real, tmp_path, assert_same):
    trace = read_mooncake(real("mooncake/conversation_trace.jsonl"))
    assert len(trace) == 12_031
    assert trace.column("arrival_s")[-1] / 60 == pytest.approx(59, abs=0.1)
    write_mooncake(trace, tmp_path / "t.jsonl")
    assert_same(read_mooncake(tmp_path / "t.jsonl"), trace)
    # The published ids are numbered by first use, and so are ours from the prefix tree.
    np.testing.assert_array_equal(cut_blocks(trace, 512).ids, trace.blocks.ids)
