"""A hand-made example: eight people, one shared system prompt, a tree that fits on a page.

Small enough to follow every decision of a policy with a pencil. Nobody ever said any of
this; whatever is drawn from it is called *hand-made example*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from iac_lib.traces.arrivals import OriginalDelays, OriginalTimes, schedule
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.schema import Blocks, Trace

NAME = "hand-made example"
SYSTEM_PROMPT = "system prompt"
NOW_S = 900.0  # when a newcomer needs room and somebody has to go


class Behaviour(NamedTuple):
    """How one intent behaves in the history.

    Parameters
    ----------
    request_type : str
    follow_ups : tuple of (int, float)
        For turn 1, 2 ...: how many conversations go on, and after how many seconds
        (median).
    """

    request_type: str
    follow_ups: tuple[tuple[int, float], ...]


HISTORY_PER_INTENT = 20
BEHAVIOUR = {
    "chitchat": Behaviour("text", ((3, 30.0),)),
    "summarization": Behaviour("file", ((5, 60.0),)),
    "creative_writing": Behaviour("text", ((12, 90.0), (6, 120.0))),
    "code_generation": Behaviour("text", ((16, 600.0), (12, 600.0), (9, 600.0))),
}
QUERY_TOKENS, ANSWER_TOKENS = 400, 200  # of every turn in the history


class Request(NamedTuple):
    """One request of the example; `path` are the pieces of text that its input is made of."""

    arrival_s: float
    conversation_id: str
    intent: str
    path: tuple[str, ...]


# What each piece adds, in tokens.
PIECES = {
    SYSTEM_PROMPT: 400,
    "ada 1": 500,
    "ada 2": 700,
    "ada 3": 300,
    "exercise": 900,
    "bob 1": 400,
    "bob 2": 800,
    "bob 3": 300,
    "eva 1": 1800,
    "eva 2": 300,
    "fay 1": 300,
    "gus 1": 120,
    "gus 2": 80,
    "hal 1": 200,
}
REQUESTS = (
    Request(0, "ada", "code_generation", ("ada 1",)),
    # Cem and Dan paste the same exercise; so will Ida.
    Request(320, "cem", "code_generation", ("exercise",)),
    Request(380, "dan", "code_generation", ("exercise",)),
    Request(390, "bob", "creative_writing", ("bob 1",)),
    Request(420, "ada", "code_generation", ("ada 1", "ada 2")),
    Request(500, "bob", "creative_writing", ("bob 1", "bob 2")),
    Request(515, "eva", "summarization", ("eva 1",)),
    Request(700, "fay", "summarization", ("fay 1",)),
    Request(880, "gus", "chitchat", ("gus 1",)),
    Request(NOW_S, "hal", "chitchat", ("hal 1",)),
    Request(915, "gus", "chitchat", ("gus 1", "gus 2")),
    Request(930, "ida", "code_generation", ("exercise",)),
    Request(940, "eva", "summarization", ("eva 1", "eva 2")),
    Request(945, "ada", "code_generation", ("ada 1", "ada 2", "ada 3")),
    Request(1400, "bob", "creative_writing", ("bob 1", "bob 2", "bob 3")),
)


def make_history() -> Trace:
    """Return past conversations in which every intent behaves as `BEHAVIOUR` says.

    The delays of a state are spread evenly, on a logarithmic scale, from half the median
    to twice the median.
    """
    rows = []
    for intent, behaviour in BEHAVIOUR.items():
        for number in range(HISTORY_PER_INTENT):
            start = 60.0 * len(rows)
            common = (f"{intent} {number}", intent, behaviour.request_type)
            rows.append((*common, 1, start))
            for turn, (go_on, median_s) in enumerate(behaviour.follow_ups, 2):
                if number >= go_on:
                    break
                start += median_s * 2.0 ** np.linspace(-1, 1, go_on)[number]
                rows.append((*common, turn, start))
    columns = ["conversation_id", "intent", "request_type", "turn", "start_s"]
    turns = as_categories(pd.DataFrame(rows, columns=columns))
    turns = turns.assign(user_tokens=QUERY_TOKENS, output_tokens=ANSWER_TOKENS)
    return schedule(Conversations(f"{NAME}, history", turns), OriginalTimes(), OriginalDelays())


def make_example() -> Trace:
    """Return the example's requests: the first nine before `NOW_S`, the tenth at it.

    Every input starts with the system prompt. Answers are left out to keep it small.
    """
    paths = [(SYSTEM_PROMPT, *request.path) for request in REQUESTS]
    lengths = [len(path) for path in paths]
    pieces = list(PIECES)
    ids = np.array([pieces.index(piece) for path in paths for piece in path], np.int64)
    tokens = np.array([*PIECES.values()], np.int32)[ids]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    frame = pd.DataFrame(REQUESTS).drop(columns="path")
    frame["request_type"] = [BEHAVIOUR[intent].request_type for intent in frame["intent"]]
    frame = as_categories(frame).assign(
        request_id=np.arange(len(frame)),
        turn=[len(request.path) for request in REQUESTS],
        input_tokens=np.add.reduceat(tokens, starts[:-1]),
        output_tokens=0,
    )
    return Trace(NAME, frame, Blocks(ids, tokens, starts))


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Give history and example the same codes for the same intents and request types."""
    types = sorted({behaviour.request_type for behaviour in BEHAVIOUR.values()})
    return frame.assign(
        intent=pd.Categorical(frame["intent"], categories=list(BEHAVIOUR)),
        request_type=pd.Categorical(frame["request_type"], categories=types),
    )
