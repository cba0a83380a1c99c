"""What a capacity may be, checked in one place."""

from __future__ import annotations

import operator

LARGEST = 2**62


def check_capacity(capacity_tokens: int) -> int:
    """Return the capacity as an int.

    Raises
    ------
    ValueError
        If it is no whole number of tokens from 1 up.
    """
    problem = (
        f"capacity_tokens = {capacity_tokens!r}; a cache holds a whole number of tokens from 1"
    )
    try:
        whole = operator.index(capacity_tokens)
    except TypeError:
        if not isinstance(capacity_tokens, float) or not capacity_tokens.is_integer():
            raise ValueError(problem) from None
        whole = int(capacity_tokens)
    if not 1 <= whole <= LARGEST:
        raise ValueError(problem)
    return whole
