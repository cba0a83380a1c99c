from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from iac_lib.traces.errors import TraceError
from iac_lib.traces.schema import Blocks
from iac_lib.traces.storage import read_trace, write_trace


def test_conversations_survive(talk, tmp_path, assert_same):
    noted = replace(talk, notes={"left out": 3})
    write_trace(noted, tmp_path / "t.parquet")
    back = read_trace(tmp_path / "t.parquet")
    assert_same(back, noted)
    assert back.intents == ("y", "x", "unused")


def test_blocks_survive(paged, tmp_path, assert_same):
    write_trace(paged, tmp_path / "t.parquet")
    assert_same(read_trace(tmp_path / "t.parquet"), paged)


def test_chunks_without_a_size_and_selections_survive(paged, tmp_path, assert_same):
    blocks = Blocks(paged.blocks.ids, paged.blocks.tokens, paged.blocks.starts)
    some = replace(paged, blocks=blocks).select([1, 3])
    write_trace(some, tmp_path / "t.parquet")
    assert_same(read_trace(tmp_path / "t.parquet"), some)


def test_an_empty_trace_survives(talk, tmp_path):
    write_trace(talk.select([]), tmp_path / "t.parquet")
    assert len(read_trace(tmp_path / "t.parquet")) == 0


def test_ids_that_parquet_cannot_hold_are_refused(talk, tmp_path):
    mixed = talk.assign(conversation_id=pd.Series([("a",), 1, ("a",), ("a",), 1]))
    with pytest.raises(TraceError, match=r"talk: conversation_id = \('a',\)"):
        write_trace(mixed, tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_other_parquet_files_are_refused(talk, tmp_path):
    path = tmp_path / "other.parquet"
    talk.requests.to_parquet(path)
    with pytest.raises(TraceError, match=r"other\.parquet: version = None: is not a trace"):
        read_trace(path)
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "none.parquet")
