"""Synthetic conversations with the structure the papers describe. A reconstruction.

No conversation here was ever held. The number of turns differs by intent (IAC, Insight 1),
delays differ by intent and turn (Insight 2), both drift over the day (Insight 3). The
parameters are ours and fitted to no data set; only the mean turns and mean length are those
of the paper's Table 2. Names begin with *synthetic*, and so must every figure.

Table 2 does not say of what its "average length" is the average. Two readings, ours:

* conversation (default): all tokens of a conversation, 290 per turn for WildChat. Only so
  are the paper's hit rates possible here. When every delay is 100 s (Table 7) only the load
  matters: at 140K tokens and 5 conversations/s it reports LRU 3.2, IAC 16.7 and oracle
  21.4 %. Conversations of this reading give LRU 3.7, IAC 17.7 and an upper bound of 24.2;
  those of the other 0.7, 5.2 and 10.0, a bound below the paper's own policy.
* turn: one query and its answer. Probably what the averages are (data sets report tokens
  per message), but hardly the load that was replayed.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.workload import HOURS, Lengths, Workload, build_workload

DAY_S = 86_400.0


def generate(
    shape: str,
    conversations: int,
    seed: int = 0,
    *,
    drift: bool = True,
    pace: float = 0.3,
    length_of: Literal["conversation", "turn"] = "conversation",
) -> Conversations:
    """Draw synthetic conversations over one day.

    Parameters
    ----------
    shape : {"wildchat-shaped", "sharechat-shaped", "lmsys-shaped"}
        Which published means to meet.
    conversations : int
        All start within one day, in order; their number sets the natural rate.
    seed : int
        Same seed, same conversations.
    drift : bool
        Whether behaviour changes with the hour in which a conversation starts.
    pace : float
        Standard deviation of a user's own log pace, shared by all delays of a conversation.
        The spread of each (intent, turn) stays what it is; 0 makes delays independent.
    length_of : {"conversation", "turn"}
        Reading of the published mean length; see the module's docstring.

    Returns
    -------
    Conversations
        Named ``synthetic <shape>`` (and the reading, if not the default). Every turn has
        ``start_s`` (seconds since midnight) and ``intent`` (of the taxonomy's thirty).

    Raises
    ------
    ValueError
        If the shape or reading is unknown, or `pace` exceeds the smallest spread of the delays.
    """
    workload = build_workload(shape, drift, length_of)
    if not 0 <= pace <= workload.delay_sigma.min():
        raise ValueError(f"pace must be within 0 and {workload.delay_sigma.min()}, got {pace}")
    rng = np.random.default_rng(seed)
    edges = np.append(0, np.cumsum(workload.arrivals))
    begins = np.interp(np.sort(rng.random(conversations)), edges, np.linspace(0, DAY_S, HOURS + 1))
    hour = np.minimum(begins * HOURS / DAY_S, HOURS - 1).astype(np.int64)
    conversation, turn, intent = draw_turns(workload, hour, rng)
    delays = draw_delays(workload, hour, conversation, turn, intent, pace, rng)
    first = turn == 1
    step = np.where(first, begins[conversation], np.append(0, delays[:-1]))
    turns = pd.DataFrame(
        {
            "conversation_id": conversation,
            "turn": turn,
            "user_tokens": draw_lengths(workload.user, intent, rng),
            "output_tokens": draw_lengths(workload.output, intent, rng),
            "start_s": pd.Series(step).groupby(conversation).cumsum().to_numpy(),
            "intent": pd.Categorical.from_codes(intent, categories=list(workload.intents)),
        }
    )
    reading = "" if length_of == "conversation" else ", length per turn"
    return Conversations(f"synthetic {shape}{reading}", turns)


def draw_turns(
    workload: Workload, hour: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return conversation, turn and intent of every turn (int32, int32, int16), in order.

    All conversations advance together, one turn per step, until none has a follow-up.
    """
    cumulative = np.cumsum(workload.mix, axis=1)
    alive = np.arange(len(hour), dtype=np.int32)
    intent = draw_intents(cumulative, hour, rng)
    conversations, intents = [], []
    for t in range(workload.follow.shape[2]):
        conversations.append(alive)
        intents.append(intent)
        stays = rng.random(len(alive)) < workload.follow[hour[alive], intent, t]
        alive, intent = alive[stays], intent[stays].copy()
        switches = np.flatnonzero(rng.random(len(alive)) < workload.switch)
        intent[switches] = draw_intents(cumulative, hour[alive[switches]], rng)
        if not len(alive):
            break
    conversation = np.concatenate(conversations)
    turn = np.repeat(np.arange(1, len(intents) + 1, dtype=np.int32), list(map(len, intents)))
    order = np.argsort(conversation, kind="stable")
    return conversation[order], turn[order], np.concatenate(intents)[order]


def draw_intents(cumulative: np.ndarray, hour: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return int16[n]: one intent for each hour of `hour`, by inverting its distribution."""
    # One sorted table serves all hours: hour h occupies the values from h to h + 1.
    table = (cumulative + np.arange(len(cumulative))[:, None]).ravel()
    place = np.searchsorted(table, hour + rng.random(len(hour)), side="right")
    kinds = cumulative.shape[1]
    return np.minimum(place - hour * kinds, kinds - 1).astype(np.int16)


def draw_delays(
    workload: Workload,
    hour: np.ndarray,
    conversation: np.ndarray,
    turn: np.ndarray,
    intent: np.ndarray,
    pace: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return float64[n]: seconds from every turn to the next, whether there is one or not."""
    mu = workload.delay_mu[hour[conversation], intent, turn - 1]
    own = np.sqrt(workload.delay_sigma[intent] ** 2 - pace**2)
    mu += own * rng.standard_normal(len(turn))
    mu += pace * rng.standard_normal(len(hour))[conversation]
    return np.exp(mu)


def draw_lengths(lengths: Lengths, intent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return int32[n]: token counts, at least 1 and at most the limit."""
    tokens = np.exp(lengths.mu[intent] + lengths.spread * rng.standard_normal(len(intent)))
    return np.clip(np.rint(tokens), 1, lengths.limit).astype(np.int32)
