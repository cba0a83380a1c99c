"""A policy's functions, compiled behind one signature.

The replay loop is compiled once and kept on disk, since it sees every policy as the same
three function pointers. What differs between policies, their parameters, travels as one
stack of tables and one row of numbers; a small compiled wrapper rebuilds the named tuple that
``priority`` reads.
"""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, from_dtype, njit, types
from numba.core.errors import NumbaError

from iac_lib.cache.node import NODE
from iac_lib.policies.policy import Policy

RANK_WIDTH = 4
KINDS = ("static", "expiring", "grouped", "scan")
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
        shape, or the policy's functions are not what they must be.
    ValueError
        If a parameter is NaN.
    """
    check_code(policy)
    params = policy.params()
    kinds = tuple(name_kind(name, value) for name, value in params._asdict().items())
    tables = [v for v, kind in zip(params, kinds, strict=True) if kind == "table"]
    numbers = [float(v) for v, kind in zip(params, kinds, strict=True) if kind != "table"]
    if len({table.shape for table in tables}) > 1:
        raise TypeError(f"the tables of {policy.name} must have one shape")
    if any(np.isnan(table).any() for table in tables) or np.isnan(numbers).any():
        raise ValueError(f"a parameter of {policy.name} is NaN")
    width = measure_rank(policy, params)
    try:
        functions = compile_functions(type(policy), type(params), kinds, width)
    except NumbaError as error:
        first = str(error).strip().splitlines()[0]
        raise TypeError(f"{policy.name} cannot be compiled: {first}") from error
    stack = np.array(tables, np.float64) if tables else np.zeros((0, 1, 1))
    return Compiled(*functions, stack, np.array(numbers, np.float64))


def check_code(policy: Policy) -> None:
    """Refuse what would be wrong in compiled code without a word.

    Raises
    ------
    TypeError
        If a function raises (compiled, the error would be lost), if the priority of a
        ``static`` policy reads the time, if it reads the next use of a node without saying
        so, or if a ``grouped`` policy has no groups.
    """
    name = f"{type(policy).__name__} ({policy.name})"
    if policy.index not in KINDS:
        raise TypeError(
            f"index of {name} is {policy.index!r}; it must be one of {', '.join(KINDS)}"
        )
    for function in (policy.priority, policy.expires_s, policy.group):
        if inspect.ismethod(function):
            raise TypeError(f"{function.__name__} of {name} needs @staticmethod above it")
        if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(function)):
            raise TypeError(f"{function.__name__} of {name} must not raise; return a number")
    steps = list(dis.get_instructions(policy.priority))
    clock = policy.priority.__code__.co_varnames[1]
    if policy.index == "static" and any(is_read(step, clock) for step in steps):
        raise TypeError(f"priority of {name} reads the time: set index = 'scan' in its class")
    if not policy.needs_future and any(step.argval == "next_use_s" for step in steps):
        raise TypeError(
            f"priority of {name} reads next_use_s: set needs_future = True in its class"
        )
    if policy.index == "grouped" and policy.group is Policy.group:
        raise TypeError(f"{name} is grouped: define group and count_groups")


def is_read(step: dis.Instruction, variable: str) -> bool:
    """Return whether one bytecode instruction reads a local variable."""
    named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return step.opname.startswith("LOAD_FAST") and variable in named


def measure_rank(policy: Policy, params: Any) -> int:
    """Return how many numbers the policy ranks by, by trying it on an empty node.

    Raises
    ------
    TypeError
        If the priority fails, or is not a tuple of one to four floats.
    """
    try:
        rank = policy.priority(PROBE, 0.0, params)
    except Exception as error:
        problem = "fails on a node of one token whose other numbers are 0"
        raise TypeError(f"priority of {policy.name} {problem}: {error}") from error
    if not isinstance(rank, tuple) or not all(isinstance(value, float) for value in rank):
        problem = f"must be a tuple of floats, got {rank!r}; write float(...)"
        raise TypeError(f"priority of {policy.name} {problem}")
    if not 1 <= len(rank) <= RANK_WIDTH:
        raise TypeError(
            f"priority of {policy.name} has {len(rank)} elements, not 1 to {RANK_WIDTH}"
        )
    return len(rank)


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
