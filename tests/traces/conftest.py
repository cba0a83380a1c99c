from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from iac_lib.traces.data import DataNotFound, find_data
from iac_lib.traces.schema import Blocks, Trace


@pytest.fixture
def real():
    """Find a real data file, or skip and say how to get it."""

    def find(name: str) -> Path:
        try:
            return find_data(name)
        except DataNotFound as error:
            pytest.skip(str(error))

    return find


@pytest.fixture
def assert_same():
    """Compare two traces column by column and block by block."""

    def compare(a: Trace, b: Trace) -> None:
        pd.testing.assert_frame_equal(a.requests, b.requests)
        assert (a.name, a.notes) == (b.name, b.notes)
        assert (a.blocks is None) == (b.blocks is None)
        if a.blocks is not None:
            assert a.blocks.size == b.blocks.size
            for part in ("ids", "tokens", "starts"):
                np.testing.assert_array_equal(getattr(a.blocks, part), getattr(b.blocks, part))

    return compare


@pytest.fixture
def talk() -> Trace:
    """Conversations a (three turns) and b (two), arriving at whole seconds."""
    return Trace(
        "talk",
        pd.DataFrame(
            {
                "request_id": range(5),
                "conversation_id": ["a", "b", "a", "a", "b"],
                "turn": [1, 1, 2, 3, 2],
                "arrival_s": [0.0, 1.0, 2.0, 4.0, 5.0],
                "input_tokens": [10, 9, 30, 45, 20],
                "output_tokens": [6, 3, 2, 1, 4],
                "request_type": ["rag", "plain", "rag", None, "plain"],
                "intent": pd.Categorical(["y", "x", "y", "x", "y"], ["y", "x", "unused"]),
            }
        ),
    )


@pytest.fixture
def paged() -> Trace:
    """Four requests of 8-token blocks: two share one block, two are the same."""
    requests = pd.DataFrame(
        {
            "request_id": range(4),
            "conversation_id": range(4),
            "turn": 1,
            "arrival_s": [0.0, 0.5, 0.5, 30.0],
            "input_tokens": [20, 16, 12, 20],
            "output_tokens": [1, 2, 0, 4],
        }
    )
    ids = np.array([0, 1, 2, 0, 3, 4, 5, 0, 1, 2])
    tokens = np.array([8, 8, 4, 8, 8, 8, 4, 8, 8, 4], np.int32)
    return Trace("paged", requests, Blocks(ids, tokens, np.array([0, 3, 5, 7, 10]), 8))
