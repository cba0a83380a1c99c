"""The checks a trace must pass, each with the row and value that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.traces.errors import TraceError

if TYPE_CHECKING:
    from iac_lib.traces.schema import Blocks


def validate_requests(frame: pd.DataFrame, source: str, *, grows: bool) -> None:
    """Refuse a request table that no server could have seen.

    Parameters
    ----------
    frame : DataFrame
        In the schema of `Trace`, dtypes already conformed.
    source : str
        Named in the error.
    grows : bool
        True when the input of a turn must contain the whole conversation so far.

    Raises
    ------
    TraceError
        On the first row that is negative, unsorted, empty, duplicated, out of turn,
        or shorter than its own history.
    """
    arrival = frame["arrival_s"].to_numpy()
    refuse(frame, arrival < 0, source, "arrival_s", "times must not be negative")
    unsorted = np.concatenate([[False], np.diff(arrival) < 0])
    refuse(frame, unsorted, source, "arrival_s", "is earlier than the row before; sort by arrival")
    for column, least in (("turn", 1), ("input_tokens", 1), ("output_tokens", 0)):
        low = frame[column].to_numpy() < least
        refuse(frame, low, source, column, f"must be at least {least}")
    for column in ("request_id", "conversation_id"):
        refuse(frame, frame[column].isna().to_numpy(), source, column, "is missing")
    repeated = frame["request_id"].duplicated().to_numpy()
    refuse(frame, repeated, source, "request_id", "appears twice; ids must be unique")

    codes = pd.factorize(frame["conversation_id"])[0]
    order = np.argsort(codes, kind="stable")
    turn = frame["turn"].to_numpy()
    first = np.concatenate([[True], np.diff(codes[order]) != 0])[: len(order)]
    expected = np.where(first, 1, np.roll(turn[order], 1) + 1)
    skips = np.zeros(len(frame), bool)
    skips[order] = turn[order] != expected
    refuse(frame, skips, source, "turn", "turns must run 1, 2, 3 ... within a conversation")
    if grows:
        total = frame["input_tokens"].to_numpy() + frame["output_tokens"].to_numpy()
        history = np.where(first, 0, np.roll(total[order], 1))
        short = np.zeros(len(frame), bool)
        short[order] = frame["input_tokens"].to_numpy()[order] <= history
        problem = "input is not longer than its own history (previous input + output)"
        refuse(frame, short, source, "input_tokens", problem)


def validate_blocks(blocks: Blocks, frame: pd.DataFrame, source: str) -> None:
    """Refuse blocks that do not cover exactly the input of every request.

    Raises
    ------
    TraceError
        When row starts, block counts or token sums disagree with ``input_tokens``.
    """
    starts = np.asarray(blocks.starts)
    if len(starts) != len(frame) + 1 or starts[0] != 0 or starts[-1] != len(blocks.ids):
        raise TraceError(source, "block row starts do not match the requests")
    if len(blocks.tokens) != len(blocks.ids):
        raise TraceError(source, "every block id needs a token count")
    lengths = np.diff(starts)
    refuse(frame, lengths < 1, source, "input_tokens", "the request names no blocks")
    empty = np.flatnonzero(np.asarray(blocks.tokens) < 1)
    if len(empty):
        row = int(np.searchsorted(starts, empty[0], side="right") - 1)
        value = int(blocks.tokens[empty[0]])
        raise TraceError(
            source, "a block needs at least 1 token", row=row, column="block tokens", value=value
        )
    covered = np.add.reduceat(np.asarray(blocks.tokens, np.int64), starts[:-1])
    wrong = covered != frame["input_tokens"].to_numpy()
    refuse(frame, wrong, source, "input_tokens", "differs from the tokens of the named blocks")


def refuse(frame: pd.DataFrame, bad: np.ndarray, source: str, column: str, problem: str) -> None:
    """Raise `TraceError` for the first True of `bad` (bool[n]); do nothing if there is none."""
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TraceError(source, problem, row=row, column=column, value=frame[column].iloc[row])
