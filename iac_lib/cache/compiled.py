"""A policy's functions, compiled behind one signature.

The replay loop is compiled once and kept on disk, since it sees every policy as the same
three function pointers. What differs between policies, their parameters, travels as one
stack of tables and one row of numbers; a small compiled wrapper rebuilds the named tuple that
``priority`` reads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import cfunc, from_dtype, njit, types

from iac_lib.cache.node import NODE

if TYPE_CHECKING:
    from iac_lib.policies.policy import Policy

RANK_WIDTH = 4
TABLES = types.Array(types.float64, 3, "C")
NUMBERS = types.Array(types.float64, 1, "C")
RECORD = from_dtype(NODE)
RANK = types.UniTuple(types.float64, RANK_WIDTH)(RECORD, types.float64, TABLES, NUMBERS)
EXPIRES = types.float64(RECORD, TABLES, NUMBERS)
GROUP = types.int64(RECORD, TABLES, NUMBERS)


class Compiled(NamedTuple):
    """Function pointers of one policy and the parameters they read.

    Parameters
    ----------
    rank : (node, now, tables, numbers) -> 4 floats
        The priority, filled up with zeros.
    expires_s : (node, tables, numbers) -> float
    group : (node, tables, numbers) -> int
    tables : float64[k, rows, columns]
        The parameters that are tables, in their order.
    numbers : float64[m]
        The parameters that are numbers, in their order.
    """

    rank: Any
    expires_s: Any
    group: Any
    tables: np.ndarray
    numbers: np.ndarray


def compile_policy(policy: Policy) -> Compiled:
    """Return the policy ready for the compiled loop.

    Raises
    ------
    TypeError
        If a parameter is neither a number nor a two-dimensional array, the arrays differ in
        shape, or a priority has more than four elements.
    """
    params = policy.params()
    kinds = tuple(name_kind(name, value) for name, value in params._asdict().items())
    tables = [v for v, kind in zip(params, kinds, strict=True) if kind == "table"]
    numbers = [float(v) for v, kind in zip(params, kinds, strict=True) if kind != "table"]
    if len({table.shape for table in tables}) > 1:
        raise TypeError(f"the tables of {policy.name} must have one shape")
    rank = policy.priority(PROBE, 0.0, params)
    if not isinstance(rank, tuple) or not all(isinstance(value, float) for value in rank):
        raise TypeError(f"priority of {policy.name} must be a tuple of floats, got {rank!r}")
    if len(rank) > RANK_WIDTH:
        raise TypeError(f"priority of {policy.name} has more than {RANK_WIDTH} elements")
    functions = compile_functions(type(policy), type(params), kinds, len(rank))
    stack = np.array(tables, np.float64) if tables else np.zeros((0, 1, 1))
    return Compiled(*functions, stack, np.array(numbers, np.float64))


# Any node tells how many numbers a policy ranks by.
PROBE = np.zeros(1, NODE).view(np.recarray)[0]
PROBE.tokens = 1


@cache
def compile_functions(
    policy: type[Policy], params: type, kinds: tuple[str, ...], width: int
) -> tuple:
    """Return (rank, expires_s, group) of a policy class; once per layout of its parameters."""
    unpack = njit(write_unpack(params, kinds))
    priority, expires_s, group = (
        njit(function, error_model="numpy")
        for function in (policy.priority, policy.expires_s, policy.group)
    )
    padding = (0.0,) * (RANK_WIDTH - width)

    @cfunc(RANK, error_model="numpy")
    def rank(node, now, tables, numbers):
        return priority(node, now, unpack(tables, numbers)) + padding

    @cfunc(EXPIRES, error_model="numpy")
    def expires(node, tables, numbers):
        return expires_s(node, unpack(tables, numbers))

    @cfunc(GROUP, error_model="numpy")
    def group_of(node, tables, numbers):
        return group(node, unpack(tables, numbers))

    return rank, expires, group_of


def name_kind(name: str, value: object) -> str:
    """Return what a parameter is: ``table``, ``bool``, ``int`` or ``float``."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim == 2:
        return "table"
    for kind, python in (("bool", (bool, np.bool_)), ("int", (int, np.integer))):
        if isinstance(value, python):
            return kind
    if isinstance(value, (float, np.floating)):
        return "float"
    raise TypeError(f"parameter {name} must be a number or a 2-d array of numbers, got {value!r}")


def write_unpack(params: type, kinds: tuple[str, ...]) -> Callable[[np.ndarray, np.ndarray], Any]:
    """Return (tables, numbers) -> params for one layout, as source that Numba can compile.

    Compiled code cannot build a named tuple in a loop over its fields, so the loop runs here.
    """
    forms = {"bool": "numbers[{}] != 0.0", "int": "int(numbers[{}])", "float": "numbers[{}]"}
    forms["table"] = "tables[{}]"
    counts = {"tables": itertools.count(), "numbers": itertools.count()}
    arguments = [
        forms[kind].format(next(counts["tables" if kind == "table" else "numbers"]))
        for kind in kinds
    ]
    scope: dict[str, Any] = {"params": params}
    exec(f"def unpack(tables, numbers): return params({', '.join(arguments)})", scope)
    return scope["unpack"]
