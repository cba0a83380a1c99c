"""The distribution of a constrained answer, token by token, over given choices.

A model that may answer only with one of the choices decides at every token among those that
some choice goes on with. The probability of a choice is the product of these decisions, so
that the probabilities of all choices sum to one. Knows no model: it is given one as a function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Decide = Callable[[tuple[int, ...], tuple[int, ...]], Sequence[float]]


def weigh_choices(choices: Sequence[Sequence[int]], decide: Decide) -> list[float]:
    """Return the probability of each choice under decoding constrained to them.

    Parameters
    ----------
    choices : sequence of sequence of int
        The tokens of each choice, ending with one that ends an answer, so that none is
        the beginning of another.
    decide : callable (prefix, allowed) -> probabilities
        Given the tokens decoded so far and the two or more that may follow, the probabilities
        of these, summing to one. Asked once for each place where choices part.

    Returns
    -------
    list of float
        In the order of `choices`.
    """
    probabilities = [1.0] * len(choices)
    waiting = [((), list(range(len(choices))))]
    while waiting:
        prefix, members = waiting.pop()
        depth = len(prefix)
        branches: dict[int, list[int]] = {}
        for member in members:
            branches.setdefault(choices[member][depth], []).append(member)
        allowed = tuple(branches)
        shares = decide(prefix, allowed) if len(allowed) > 1 else (1.0,)
        for token, share in zip(allowed, shares, strict=True):
            for member in branches[token]:
                probabilities[member] *= share
            if len(branches[token]) > 1:
                waiting.append(((*prefix, token), branches[token]))
    return probabilities
