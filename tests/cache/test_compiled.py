"""What a policy may be made of, and what is said when it is made of something else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit

from iac_lib.cache.compiled import compile_policy
from iac_lib.cache.node import NODE
from iac_lib.cache.replay import replay
from iac_lib.policies import IAC, LFU, LPC, LRU, SLRU, WA, Policy
from iac_lib.reuse.statistics import fit_statistics
from iac_lib.traces.arrivals import OriginalDelays, Poisson, schedule
from iac_lib.traces.synthetic import generate


@pytest.fixture(scope="module")
def trace():
    return schedule(generate("wildchat-shaped", 300), Poisson(5.0), OriginalDelays())


class MixedParams(NamedTuple):
    table: np.ndarray
    number: float
    row: int
    other: np.ndarray
    flag: bool


@dataclass(frozen=True, eq=False)
class Mixed(Policy):
    index = "scan"
    name: str = "mixed"

    def params(self) -> MixedParams:
        return MixedParams(np.eye(3), 2.5, 1, np.arange(9.0).reshape(3, 3), True)

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (p.table[p.row, 1], p.other[2, p.row], p.number if p.flag else 0.0, now)


def test_parameters_of_every_kind_arrive_unchanged():
    policy, now = Mixed(), 7.0
    compiled = compile_policy(policy)
    assert compiled.tables.shape == (2, 3, 3)
    assert compiled.numbers.tolist() == [2.5, 1.0, 1.0]

    @njit
    def call(nodes, now, policy):
        return policy.rank(nodes[0], now, policy.tables, policy.numbers)

    nodes = np.zeros(1, NODE)
    plain = policy.priority(nodes.view(np.recarray)[0], now, policy.params())
    assert call(nodes, now, compiled) == plain == (1.0, 7.0, 2.5, 7.0)


def test_a_policy_of_ones_own_replays_as_its_twin(trace):
    @dataclass(frozen=True, eq=False)
    class Oldest(Policy):
        name: str = "oldest"

        @staticmethod
        def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
            return (node.last_access_s,)

    mine = replay(trace, Oldest(), 20_000, record_victims=True)
    assert mine.victims.equals(replay(trace, LRU(), 20_000, record_victims=True).victims)


@pytest.mark.parametrize(
    "policy", [LRU(), LFU(), SLRU(), IAC(), WA()], ids=lambda policy: policy.name
)
def test_an_index_finds_the_victims_of_a_scan(policy, trace):
    policy = policy.fit(trace)
    quick = replay(trace, policy, 20_000, record_victims=True)
    slow = replay(trace, policy, 20_000, record_victims=True, scan=True)
    assert len(quick.victims) > 100
    assert quick.victims.equals(slow.victims)


def make(rank: Any, params: Any = None) -> Policy:
    @dataclass(frozen=True, eq=False)
    class Made(Policy):
        name: str = "made"

        def params(self):
            return params or super().params()

        @staticmethod
        def priority(node: Any, now: float, p: Any) -> Any:
            return rank

    return Made()


class Odd(NamedTuple):
    a: Any
    b: Any = 0.0


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (make(1.0), "tuple of floats"),
        (make((1,)), "tuple of floats"),
        (make((1.0,) * 5), "5 elements"),
        (make(()), "0 elements"),
        (make((1.0,), Odd("x")), "parameter a must be"),
        (make((1.0,), Odd(np.zeros(3))), "parameter a must be"),
        (make((1.0,), Odd(np.zeros((2, 2)), np.zeros((3, 2)))), "one shape"),
    ],
)
def test_what_cannot_be_compiled_says_why(policy, message):
    with pytest.raises(TypeError, match=message):
        compile_policy(policy)


def test_statistics_of_other_shapes_need_no_new_compilation(trace):
    """The size of a table is no part of the compiled code: turns differ between histories."""
    few = trace.select(np.flatnonzero(trace.column("turn") <= 2))
    a = compile_policy(IAC(statistics=fit_statistics(trace)))
    b = compile_policy(IAC(statistics=fit_statistics(few)))
    assert a.tables.shape != b.tables.shape
    assert a.rank is b.rank


@dataclass(frozen=True, eq=False)
class Named(Policy):
    name: str = "named"

    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (node.last_access_s,)


class ReadsTheTime(Named):
    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (now - node.last_access_s,)


class ReadsTheFuture(Named):
    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (-node.next_use_s,)


class Raises(Named):
    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        if node.tokens > 100:
            raise ValueError("too long")
        return (node.last_access_s,)


class HasNoSuchIndex(Named):
    index = "dynamic"


class HasNoGroups(Named):
    index = "grouped"


class ForgotStatic(Named):
    def priority(self, node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (node.last_access_s,)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (ReadsTheTime(), "reads the time: set index"),
        (ReadsTheFuture(), "set needs_future"),
        (Raises(), "must not raise"),
        (HasNoSuchIndex(), "not one of|must be one of"),
        (HasNoGroups(), "define group and count_groups"),
        (ForgotStatic(), "needs @staticmethod"),
        (LRU, "pass an instance"),
    ],
)
def test_what_would_go_wrong_without_a_word_is_refused(policy, message, trace):
    with pytest.raises(TypeError, match=message):
        replay(trace, policy, 20_000)


class OutOfGroups(Named):
    index = "grouped"

    @staticmethod
    def group(node: Any, p: Any) -> int:
        return node.turn


class NotANumber(Named):
    @staticmethod
    def priority(node: Any, now: float, p: Any) -> tuple[float, ...]:
        return (node.last_access_s if node.turn < 3 else math.nan,)


@pytest.mark.parametrize("scan", [False, True])
def test_a_priority_that_is_no_number_is_noticed(trace, scan):
    with pytest.raises(ValueError, match="NaN as a priority"):
        replay(trace, NotANumber(), 20_000, scan=scan)


def test_a_group_that_does_not_exist_is_noticed(trace):
    """It used to be written beyond the end of an array."""
    with pytest.raises(ValueError, match=r"group outside 0\.\.0"):
        replay(trace, OutOfGroups(), 20_000)


@pytest.mark.parametrize(
    "policy",
    [LPC(continuation=np.full(9, np.nan)), LPC(decay_per_s=math.nan, continuation=np.ones(9))],
)
def test_a_parameter_or_score_that_is_no_number_is_noticed(policy, trace):
    with pytest.raises(ValueError, match="NaN"):
        replay(trace, policy, 20_000)
