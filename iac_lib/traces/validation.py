"""The checks a trace must pass, each with the row and value that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from iac_lib.traces.errors import TraceError

if TYPE_CHECKING:
    from iac_lib.traces.schema import Blocks

DATES = {"datetime", "datetime64", "date", "timedelta", "timedelta64", "time"}
LATEST_S = 1e11  # three thousand years: a Unix time in milliseconds is beyond it
LONGEST_TOKENS = 2**40  # far beyond any context, far from what 64 bits can add up


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
    problem = "is thousands of years; pass seconds, not milliseconds or nanoseconds"
    refuse(frame, arrival >= LATEST_S, source, "arrival_s", problem)
    unsorted = np.concatenate([[False], np.diff(arrival) < 0])
    refuse(frame, unsorted, source, "arrival_s", "is earlier than the row before; sort by arrival")
    for column, least in (("turn", 1), ("input_tokens", 1), ("output_tokens", 0)):
        low = frame[column].to_numpy() < least
        refuse(frame, low, source, column, f"must be at least {least}")
    for column in ("input_tokens", "output_tokens"):
        long = frame[column].to_numpy() > LONGEST_TOKENS
        refuse(frame, long, source, column, f"must be at most {LONGEST_TOKENS}")
    total = frame[["input_tokens", "output_tokens"]].to_numpy(np.float64).sum()
    if total > 2.0**62:
        raise TraceError(source, f"has {total:.3g} tokens in all, more than can be counted")
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
    if np.asarray(blocks.ids).dtype.kind not in "iu":
        value = np.asarray(blocks.ids).dtype
        raise TraceError(source, "block ids must be whole numbers", column="ids", value=value)
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


def as_numbers(values: pd.Series, dtype: type, source: str) -> np.ndarray:
    """Return `values` as `dtype`.

    Raises
    ------
    TraceError
        For dates, for what is no finite number, and for a fraction or a number beyond the
        range where `dtype` is one of whole numbers.
    """
    refuse_dates(values, source)
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    whole = dtype is not np.float64
    bad = ~np.isfinite(numbers) | (whole & (numbers != np.round(numbers)))
    bits = 8 * np.dtype(dtype).itemsize
    if whole:
        # Casting would wrap a larger one to a number that looks right.
        bad |= np.abs(numbers) >= 2.0 ** (bits - 1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        kind = f"a whole number of at most {bits} bits" if whole else "a finite number"
        raise TraceError(
            source, f"must be {kind}", row=row, column=str(values.name), value=values.iloc[row]
        )
    exact = values.to_numpy() if values.dtype.kind in "iu" else numbers
    return exact.astype(dtype)


def refuse_dates(values: pd.Series, source: str) -> None:
    """Raise `TraceError` if `values` are dates, which would be read as nanoseconds."""
    if values.dtype.kind in "mM" or pd.api.types.infer_dtype(values, skipna=True) in DATES:
        problem = "holds dates; pass seconds, such as (t - t.min()).dt.total_seconds()"
        value = values.iloc[0]
        raise TraceError(source, problem, row=0, column=str(values.name), value=value)
