"""Milliseconds against seconds: trace formats differ and do not say so in the file.

A wrong guess changes every gap a thousandfold and still replays, so what looks wrong is
refused. Two signs are used; neither can catch a file that is plausible in both units.

* Numbers: formats in milliseconds hold whole numbers, so a fraction means seconds.
* Mean request rate: above 500 requests/s "milliseconds" are taken for seconds; below
  0.01 requests/s, and without a single decimal point, "seconds" are taken for
  milliseconds. Fewer than 20 requests or a span of zero have no rate.
"""

from __future__ import annotations

import numpy as np

from iac_lib.traces.errors import TraceError
from iac_lib.traces.jsonl import NUMBER, need

SECONDS = {"s": 1.0, "ms": 1e-3}
FASTEST_PER_S = 500.0
SLOWEST_PER_S = 0.01
ENOUGH = 20


def read_timestamp(record: dict, before: float, source: str, row: int) -> float:
    """Return ``timestamp`` of a record, at least 0 and not earlier than the line before."""
    time = need(record, "timestamp", NUMBER, source, row, least=0)
    if time < before:
        problem = f"is earlier than {before} before it; sort by time"
        raise TraceError(source, problem, row=row, column="timestamp", value=time)
    return time


def to_seconds(
    times: list[float], rows: list[int], expected: str, given: str | None, source: str
) -> np.ndarray:
    """Return times in seconds.

    Parameters
    ----------
    times : n int or float
        As in the file, ascending.
    rows : n int
        Their line numbers.
    expected : {"s", "ms"}
        Unit of the format.
    given : {"s", "ms"} or None
        Unit the caller vouches for, which is not questioned.
    source : str
        Named in the error.

    Returns
    -------
    float64[n]
        Seconds.

    Raises
    ------
    TraceError
        If the times look as if they were in the other unit.
    ValueError
        If `given` is no known unit.
    """
    if given is None:
        question_unit(times, rows, expected, source)
    elif given not in SECONDS:
        raise ValueError(f"unit must be one of {', '.join(SECONDS)}, got {given!r}")
    per = SECONDS[given or expected]
    # Division by 1000 rounds correctly; multiplication by 0.001 does not.
    return np.asarray(times, np.float64) / round(1 / per)


def question_unit(times: list[float], rows: list[int], expected: str, source: str) -> None:
    """Raise `TraceError` if `times` do not look like `expected`."""
    last = {"row": rows[-1], "column": "timestamp", "value": times[-1]} if times else {}
    span = (times[-1] - times[0]) * SECONDS[expected] if times else 0
    rate = len(times) / span if span > 0 and len(times) >= ENOUGH else None
    if expected == "ms":
        for row, time in zip(rows, times, strict=True):
            if time != int(time):
                problem = "has a fraction, so it seems to be in seconds, not milliseconds"
                refuse_unit(problem, "s", "ms", source, row=row, column="timestamp", value=time)
        if rate is not None and rate > FASTEST_PER_S:
            problem = f"would mean {rate:.0f} requests/s: times seem to be in seconds"
            refuse_unit(
                problem, "s", "ms", source, row=rows[-1], column="timestamp", value=times[-1]
            )
    elif rate is not None and rate < SLOWEST_PER_S and all(isinstance(t, int) for t in times):
        problem = f"would mean {rate:.2g} requests/s: times seem to be in milliseconds"
        refuse_unit(problem, "ms", "s", source, **last)


def refuse_unit(problem: str, seems: str, expected: str, source: str, **where: object) -> None:
    """Raise `TraceError`, saying how to overrule it."""
    advice = f'pass unit="{seems}" if so, unit="{expected}" if not'
    raise TraceError(source, f"{problem}; {advice}", **where)
