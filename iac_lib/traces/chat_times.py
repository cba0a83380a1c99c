"""Times of messages, as the data sets write them: seconds since 1970, NaN = unknown."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from iac_lib.traces.errors import TraceError

# No chat of these products is older, and some of ShareChat's times are of the year 2282.
EARLIEST_S, LATEST_S = (pd.Timestamp(day, tz="UTC").timestamp() for day in ("2022-11", "2040"))


def read_times(values: pa.Array, source: str, column: str) -> np.ndarray:
    """Return float64[n], seconds since 1970; NaN where there is no plausible time.

    Parameters
    ----------
    values : Array
        Timestamps (without a zone: UTC), seconds since 1970, or text: seconds, with or
        without ``ts:`` before them, or a date in any usual notation.
    source, column : str
        Named in the error.

    Raises
    ------
    TraceError
        If the values have another type.
    """
    kind = values.type
    if pa.types.is_timestamp(kind):
        microseconds = pc.cast(values, pa.timestamp("us", kind.tz), safe=False)
        seconds = pc.cast(microseconds, pa.int64()).to_numpy(zero_copy_only=False) / 1e6
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind):
        seconds = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        seconds = parse_times(pd.Series(values.to_pylist(), dtype=object))
    else:
        raise TraceError(source, f"column {column} must hold times, not {kind}")
    with np.errstate(invalid="ignore"):
        plausible = (seconds >= EARLIEST_S) & (seconds < LATEST_S)
    return np.where(plausible, seconds, np.nan)


def parse_times(texts: pd.Series) -> np.ndarray:
    """Return float64[n], seconds since 1970 of texts, NaN for those that are no time."""
    seconds = pd.to_numeric(texts.str.removeprefix("ts:"), errors="coerce")
    seconds = seconds.to_numpy(np.float64, copy=True)
    dates = np.isnan(seconds) & texts.notna().to_numpy()
    # The years 1677 to 2262 are all that nanoseconds can hold; others become unknown.
    parsed = pd.to_datetime(texts[dates], format="mixed", utc=True, errors="coerce")
    since_1970 = (parsed - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(1, "s")
    seconds[dates] = since_1970.to_numpy(np.float64)
    return seconds
