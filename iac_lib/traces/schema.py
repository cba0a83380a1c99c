"""A trace: who asked what, when, and which tokens they shared.

One row per request, sorted by arrival. Prefix structure comes in one of two forms:

* conversations: the request of turn t repeats everything up to turn t-1, so the
  context grows; nothing is shared between conversations;
* blocks: every request names the blocks its input is made of (Mooncake, Bailian,
  RAGPulse, Claude-Code); requests with the same leading ids share those tokens.

A trace knows nothing of caches or policies. It is validated when it is made and
never changed afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd

from iac_lib.traces.errors import TraceError
from iac_lib.traces.segments import Segments, build_segments
from iac_lib.traces.validation import as_numbers, validate_blocks, validate_requests

COLUMNS = {
    "request_id": None,
    "conversation_id": None,
    "turn": np.int32,
    "arrival_s": np.float64,
    "input_tokens": np.int64,
    "output_tokens": np.int64,
    "request_type": "category",
    "intent": "category",
}
OPTIONAL = {"request_type", "intent"}


@dataclass(frozen=True, eq=False)
class Blocks:
    """Input of every request as a run of named blocks (compressed sparse rows).

    Parameters
    ----------
    ids : int64[m]
        Block ids of all requests, one request after the other. Equal leading ids
        mean equal leading tokens.
    tokens : int32[m]
        Tokens in each block; the last block of a request may be partial.
    starts : int64[n + 1]
        Blocks of request r are ``starts[r]:starts[r + 1]``.
    size : int or None
        Nominal block size in tokens; None when blocks are chunks of any length.
    """

    ids: np.ndarray
    tokens: np.ndarray
    starts: np.ndarray
    size: int | None = None

    def select(self, rows: np.ndarray) -> Blocks:
        """Return the blocks of `rows` (int64[k], request numbers), in that order."""
        lengths = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        take = np.arange(starts[-1]) + np.repeat(self.starts[:-1][rows] - starts[:-1], lengths)
        return Blocks(self.ids[take], self.tokens[take], starts, self.size)


@dataclass(frozen=True, eq=False)
class Trace:
    """An immutable, validated request log.

    Parameters
    ----------
    name : str
        What stands under a figure made from it, such as ``sharegpt-prefix``.
    requests : DataFrame, n rows
        ``request_id`` and ``conversation_id`` (any hashable), ``turn`` (1-based),
        ``arrival_s`` (seconds, ascending, >= 0), ``input_tokens`` (whole input,
        history included), ``output_tokens``, and optionally ``request_type`` and
        ``intent`` (categorical; missing = unknown).
    blocks : Blocks or None
        Prefix structure; None means the context grows turn by turn.
    source : str
        File or data set, named in errors; default `name`.
    notes : dict of str to int
        Requests that a loader had to change or leave out, by reason; shown to the reader.

    Raises
    ------
    TraceError
        For any value that would make a replay wrong; names source, row and value.
    """

    name: str
    requests: pd.DataFrame
    blocks: Blocks | None = None
    source: str = field(default="", repr=False)
    notes: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        source = self.source or self.name
        frame = conform(self.requests, source)
        validate_requests(frame, source, grows=self.blocks is None)
        if self.blocks is not None:
            validate_blocks(self.blocks, frame, source)
        object.__setattr__(self, "requests", frame)

    def __len__(self) -> int:
        return len(self.requests)

    def column(self, name: str) -> np.ndarray:
        """Return one column as a NumPy array (categories as int32 codes, -1 = unknown)."""
        values = self.requests[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            return values.cat.codes.to_numpy(np.int32)
        return values.to_numpy()

    @property
    def intents(self) -> tuple[str, ...]:
        """Names behind the intent codes, in code order."""
        return tuple(self.requests["intent"].cat.categories)

    @property
    def request_types(self) -> tuple[str, ...]:
        """Names behind the request-type codes, in code order."""
        return tuple(self.requests["request_type"].cat.categories)

    @cached_property
    def conversation_codes(self) -> np.ndarray:
        """int64[n]: conversations numbered 0, 1, 2 ... in order of first arrival."""
        return pd.factorize(self.requests["conversation_id"])[0].astype(np.int64)

    @cached_property
    def previous(self) -> np.ndarray:
        """int64[n]: the row of the same conversation's previous turn, -1 for the first."""
        order = np.argsort(self.conversation_codes, kind="stable")
        codes = self.conversation_codes[order]
        before = np.full(len(self), -1, np.int64)
        same = codes[1:] == codes[:-1]
        before[order[1:][same]] = order[:-1][same]
        return before

    @cached_property
    def next_gap_s(self) -> np.ndarray:
        """float64[n]: seconds from each arrival to the same conversation's next, NaN if none."""
        gap = np.full(len(self), np.nan)
        arrival = self.column("arrival_s")
        follow = np.flatnonzero(self.previous >= 0)
        gap[self.previous[follow]] = arrival[follow] - arrival[self.previous[follow]]
        return gap

    @cached_property
    def segments(self) -> Segments:
        """The prefix tree of the whole trace: which tokens which requests share."""
        return build_segments(self)

    def select(self, rows: np.ndarray) -> Trace:
        """Return the trace of `rows` (bool[n] or ascending int64[k]), validated again."""
        rows = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
        blocks = self.blocks.select(rows) if self.blocks is not None else None
        return replace(self, requests=self.requests.iloc[rows], blocks=blocks)

    def assign(self, **columns: object) -> Trace:
        """Return a copy with `columns` replaced, validated again."""
        return replace(self, requests=self.requests.assign(**columns))

    def rename(self, name: str) -> Trace:
        """Return the same trace under another figure label."""
        return replace(self, name=name)


def conform(frame: pd.DataFrame, source: str) -> pd.DataFrame:
    """Return `frame` with the schema's columns, order and dtypes, row index 0..n-1."""
    missing = [c for c in COLUMNS if c not in frame and c not in OPTIONAL]
    if missing:
        raise TraceError(source, f"column(s) {', '.join(missing)} missing; a trace needs them")
    out = {}
    for name, dtype in COLUMNS.items():
        if name not in frame:
            out[name] = pd.Categorical([None] * len(frame), categories=[])
        elif dtype == "category":
            values = frame[name]
            is_category = isinstance(values.dtype, pd.CategoricalDtype)
            out[name] = (values if is_category else values.astype("category")).array
        elif dtype is None:
            out[name] = frame[name].array
        else:
            out[name] = as_numbers(frame[name], dtype, source)
    return pd.DataFrame(out, index=pd.RangeIndex(len(frame)), copy=False)
