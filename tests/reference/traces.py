"""Small nasty traces: ties in time, branching, nested prefixes, repeats, partial blocks.

The random makers (by seed) and the Hypothesis strategies build on the same two
constructors, `conversation_trace` and `block_trace`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from iac_lib.traces.schema import Blocks, Trace

INTENTS = ("code", "chat", "search")
TYPES = ("text", "file")


class Row(NamedTuple):
    """What one request adds; -1 is an unknown intent or type."""

    conversation: int
    gap_s: float
    intent: int = -1
    request_type: int = -1
    output_tokens: int = 0
    user_tokens: int = 1  # conversations
    blocks: tuple[tuple[int, int], ...] = ()  # block traces: (id, tokens) of the whole input


def conversation_trace(rows: list[Row]) -> Trace:
    """Return the trace in which every row is the next turn of its conversation."""
    history: dict[int, int] = {}
    inputs = []
    for row in rows:
        inputs.append(history.get(row.conversation, 0) + row.user_tokens)
        history[row.conversation] = inputs[-1] + row.output_tokens
    return Trace("conversations", request_table(rows, inputs))


def block_trace(rows: list[Row]) -> Trace:
    """Return the trace in which every row names its own blocks."""
    inputs = [sum(tokens for _, tokens in row.blocks) for row in rows]
    flat = [block for row in rows for block in row.blocks]
    blocks = Blocks(
        ids=np.array([name for name, _ in flat], np.int64),
        tokens=np.array([tokens for _, tokens in flat], np.int32),
        starts=np.cumsum([0, *(len(row.blocks) for row in rows)]).astype(np.int64),
    )
    return Trace("blocks", request_table(rows, inputs), blocks)


def request_table(rows: list[Row], input_tokens: list[int]) -> pd.DataFrame:
    """Return the columns that both kinds of trace share."""
    conversation = pd.Series([row.conversation for row in rows])
    return pd.DataFrame(
        {
            "request_id": range(len(rows)),
            "conversation_id": conversation,
            "turn": conversation.groupby(conversation).cumcount() + 1,
            "arrival_s": np.cumsum([row.gap_s for row in rows], dtype=np.float64),
            "input_tokens": input_tokens,
            "output_tokens": [row.output_tokens for row in rows],
            "request_type": pd.Categorical.from_codes([r.request_type for r in rows], TYPES),
            "intent": pd.Categorical.from_codes([r.intent for r in rows], INTENTS),
        }
    )


def random_trace(seed: int) -> tuple[Trace, int]:
    """Return a trace of conversations (even seeds) or blocks (odd), and a capacity for it."""
    rng = np.random.default_rng(seed)
    trace = (random_blocks if seed % 2 else random_conversations)(rng)
    return trace, random_capacity(rng, trace)


def random_conversations(rng: np.random.Generator) -> Trace:
    """Return interleaved conversations of tiny turns, half the requests at equal times."""
    n = int(rng.integers(1, 60))
    people = int(rng.integers(1, 12))
    largest = int(rng.choice([1, 3, 20]))  # 1: every turn has the same size
    rows = [
        random_row(rng, people)._replace(
            user_tokens=int(rng.integers(1, largest + 1)),
            output_tokens=int(rng.integers(0, largest + 1)),
        )
        for _ in range(n)
    ]
    return conversation_trace(rows)


def random_blocks(rng: np.random.Generator) -> Trace:
    """Return requests that extend, cut short or repeat the blocks of earlier ones."""
    n = int(rng.integers(1, 60))
    size = int(rng.choice([1, 4, 16]))
    alphabet = int(rng.choice([2, 5, 1000]))  # 2: branches meet again and again
    rows: list[Row] = []
    for _ in range(n):
        base = rows[rng.integers(len(rows))].blocks if rows and rng.random() < 0.8 else ()
        if rng.random() < 0.7:
            base = base[: rng.integers(0, len(base) + 1)]
        new = rng.integers(0 if base else 1, 5)
        blocks = [
            *base,
            *((int(i) - alphabet // 2, size) for i in rng.integers(alphabet, size=new)),
        ]
        if rng.random() < 0.3:  # partial: another symbol than the full block of that id
            blocks[-1] = (blocks[-1][0], int(rng.integers(1, size + 1)))
        rows.append(random_row(rng, people=8)._replace(blocks=tuple(blocks)))
    return block_trace(rows)


def random_row(rng: np.random.Generator, people: int) -> Row:
    """Return a row without tokens; times lie on a grid so that ages tie too."""
    return Row(
        conversation=int(rng.integers(people)),
        gap_s=float(rng.choice([0.0, 0.0, 0.25, 1.0, 7.0])),
        intent=int(rng.integers(-1, len(INTENTS))),
        request_type=int(rng.integers(-1, len(TYPES))),
        output_tokens=int(rng.integers(3)),
    )


def random_capacity(rng: np.random.Generator, trace: Trace) -> int:
    """Return anything from one token to more than the whole trace."""
    held = int(trace.segments.tokens.sum())
    longest = int(trace.segments.depth_tokens.max())
    around = rng.choice([1, longest // 2, longest, 2 * longest, held // 3, held + 1])
    return max(1, int(around) + int(rng.integers(-2, 3)))


def random_service(rng: np.random.Generator, trace: Trace) -> np.ndarray:
    """Return seconds in flight for each request: none, a few arrivals, or very long."""
    return rng.choice([0.0, 0.25, 1.0, 10.0, 100.0], size=len(trace))


def rows_of(**columns: st.SearchStrategy) -> st.SearchStrategy[list[Row]]:
    """Return lists of rows; `columns` says how to draw what the kind of trace needs."""
    row = st.builds(
        Row,
        conversation=st.integers(0, 3),
        gap_s=st.sampled_from([0.0, 0.25, 1.0, 7.0]),
        intent=st.integers(-1, len(INTENTS) - 1),
        request_type=st.integers(-1, len(TYPES) - 1),
        output_tokens=st.integers(0, 3),
        **columns,
    )
    return st.lists(row, min_size=1, max_size=25)


def conversation_traces() -> st.SearchStrategy[Trace]:
    """Strategy: conversations that shrink to one short request."""
    return rows_of(user_tokens=st.integers(1, 6)).map(conversation_trace)


def block_traces() -> st.SearchStrategy[Trace]:
    """Strategy: block traces over so few symbols that prefixes meet by themselves."""
    block = st.tuples(st.integers(0, 2), st.sampled_from([2, 2, 2, 1]))
    blocks = st.lists(block, min_size=1, max_size=5).map(tuple)
    return rows_of(blocks=blocks).map(block_trace)


def traces() -> st.SearchStrategy[Trace]:
    """Strategy: either kind."""
    return st.one_of(conversation_traces(), block_traces())
