"""Which data stand behind the figures, by profile.

``quick`` and ``traces`` replay what PyPI ships and what the kit generates; ``paper`` the data
sets of the paper. Names are those under the figures: synthetic data are called so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from iac_lib.traces.arrivals import Diurnal, OnOff, OriginalDelays, Pareto
from iac_lib.traces.conversations import Conversations
from iac_lib.traces.data import find_data
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.schema import Trace
from iac_lib.traces.sharegpt import load_sharegpt
from iac_lib.traces.synthetic import generate

PAPER_HISTORY, PAPER_REPLAY = 40_000, 10_000
# Llama-3-70B, the model of most of the paper's measurements.
MAX_CONTEXT_TOKENS = 8192


def timed_experiments(profile: str) -> dict[str, Experiment]:
    """Return the two workloads whose delays differ by intent, by name (IAC, Fig. 6a)."""
    limits = {"delays": OriginalDelays(), "max_context_tokens": MAX_CONTEXT_TOKENS}
    if profile == "paper":
        from iac_lib.traces.sharechat import load_sharechat
        from iac_lib.traces.wildchat import load_wildchat

        loaded = (load_wildchat(), load_sharechat())
        return {c.name: Experiment(c, PAPER_HISTORY, PAPER_REPLAY, **limits) for c in loaded}
    return {
        f"synthetic {shape}": Experiment(
            partial(generate_seeded, shape), PAPER_HISTORY, PAPER_REPLAY, **limits
        )
        for shape in ("wildchat-shaped", "sharechat-shaped")
    }


def generate_seeded(shape: str, seed: int) -> Conversations:
    """Return synthetic conversations enough for the paper's split."""
    return generate(shape, PAPER_HISTORY + PAPER_REPLAY, seed)


def sharegpt_experiment(profile: str, path: str | None = None) -> Experiment:
    """Return ShareGPT under the paper's synthetic arrivals (IAC, Fig. 6b).

    The packaged prefix has too few conversations for the paper's split: its first half is
    history, its second half is replayed.

    Parameters
    ----------
    profile : str
    path : str or None
        The full ShareGPT JSON, needed by the profile ``paper``.
    """
    conversations = load_sharegpt(path if profile == "paper" else None)
    half = len(conversations) // 2
    history, replay = (half, half) if profile != "paper" else (PAPER_HISTORY, PAPER_REPLAY)
    return Experiment(conversations, history, replay, max_context_tokens=MAX_CONTEXT_TOKENS)


def lmsys_experiment(profile: str) -> Experiment:
    """Return LMSys-Chat (profile ``paper``) or synthetic chats of its shape (IAC, Fig. 13).

    One delay distribution for all, as the paper draws it for LMSys.
    """
    if profile == "paper":
        from iac_lib.traces.lmsys import load_lmsys

        made = load_lmsys()
    else:
        made = partial(generate_seeded, "lmsys-shaped")
    return Experiment(made, PAPER_HISTORY, PAPER_REPLAY, max_context_tokens=MAX_CONTEXT_TOKENS)


def arrival_patterns(experiment: Experiment) -> dict[str, Experiment]:
    """Return `experiment` under the arrival patterns of Table 6.

    A day is squeezed into the time that 10,000 conversations take at the rate (ours: the
    paper does not say how its diurnal pattern meets a replay of half an hour).
    """
    starts = {
        "diurnal": lambda rate: Diurnal(rate, period_s=PAPER_REPLAY / rate),
        "pareto": Pareto,
        "on_off": OnOff,
    }
    return {name: replace(experiment, starts=pattern) for name, pattern in starts.items()}


def typed_experiment(
    profile: str, types: dict[str, str] | None = None
) -> Callable[[int, float], tuple[Trace, Trace]]:
    """Return a workload whose requests carry a type, which also stands as their intent.

    Profile ``traces``: RAGPulse at its own times, first half history (by conversation), second
    half replayed. Else the first of `timed_experiments`, whose types are its intents merged.

    Parameters
    ----------
    profile : str
    types : dict of str to str or None
        Request type of each intent; None keeps the intents.
    """
    if profile == "traces":
        from iac_lib.traces.ragpulse import load_ragpulse

        return replay_second_half(use_types_as_intents(load_ragpulse()))
    experiment = next(iter(timed_experiments(profile).values()))

    def workload(seed: int, rate: float) -> tuple[Trace, Trace]:
        return tuple(
            use_types_as_intents(
                trace.assign(request_type=trace.requests["intent"].astype(str).map(types or {}))
            )
            for trace in experiment(seed, rate)
        )

    return workload


def real_traces() -> dict[str, Trace]:
    """Return the traces with real delays and shared prefixes that ``IAC_DATA`` holds.

    Raises
    ------
    DataNotFound
        If one is missing; it says where to get it.
    """
    from iac_lib.traces.claude_code import load_claude_code
    from iac_lib.traces.mooncake import read_mooncake
    from iac_lib.traces.ragpulse import load_ragpulse

    mooncake = read_mooncake(find_data("mooncake/conversation_trace.jsonl"))
    return {trace.name: trace for trace in (load_ragpulse(), load_claude_code(), mooncake)}


def replay_second_half(trace: Trace) -> Callable[[int, float], tuple[Trace, Trace]]:
    """Return the workload (seed, rate) -> (history, replay) of a trace with its own times."""
    halves = halve(trace)
    return lambda seed, rate: halves


def use_types_as_intents(trace: Trace) -> Trace:
    """Return `trace` with its request types as intents (the paper's IAC*, B.5)."""
    return trace.assign(intent=trace.requests["request_type"])


def halve(trace: Trace) -> tuple[Trace, Trace]:
    """Return the conversations that start in the first half of the trace, and the others."""
    code = trace.conversation_codes
    early = code < (code.max() + 1) // 2
    return trace.select(early), trace.select(~early)
