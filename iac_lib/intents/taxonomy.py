"""The intents that conversations are sorted into, at three levels of detail.

Names and groups are the paper's (IAC, C.1 to C.3), descriptions ours; they lie in
``iac_lib/data/taxonomy`` so that an installed package has them too. Knows no classifier.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import yaml

LEVELS = (30, 20, 10)


class TaxonomyError(ValueError):
    """A taxonomy file in which a label is missing, unknown or in two groups."""


@dataclass(frozen=True)
class Taxonomy:
    """Intents in code order.

    Parameters
    ----------
    names : tuple of str
        Code of an intent is its position.
    descriptions : tuple of str
        One line each; for a merged intent, the names it is made of.
    members : tuple of tuple of str
        For each intent, the thirty-level names it covers.
    """

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.names)


@cache
def load_taxonomy(classes: int = 30) -> Taxonomy:
    """Return the taxonomy of 30, 20 or 10 intents.

    Raises
    ------
    TaxonomyError
        If there is no such level, or its file does not cover the thirty intents once each.
    """
    if classes not in LEVELS:
        raise TaxonomyError(f"there are taxonomies of {LEVELS} intents, none of {classes}")
    content = read_level(classes)
    if classes == 30:
        names = tuple(content)
        return Taxonomy(names, tuple(content.values()), tuple((name,) for name in names))
    validate_groups(content, load_taxonomy(30).names)
    members = tuple(map(tuple, content.values()))
    return Taxonomy(tuple(content), tuple(", ".join(group) for group in members), members)


def group_codes(classes: int) -> np.ndarray:
    """Return int64[30]: for each of the thirty intents, its code among `classes` intents."""
    taxonomy = load_taxonomy(classes)
    code = {name: group for group, names in enumerate(taxonomy.members) for name in names}
    return np.array([code[name] for name in load_taxonomy(30).names], np.int64)


def name_groups(classes: int) -> dict[str, str]:
    """Return the name of the merged intent for each of the thirty."""
    taxonomy = load_taxonomy(classes)
    return {
        name: taxonomy.names[code]
        for name, code in zip(load_taxonomy(30).names, group_codes(classes), strict=True)
    }


def read_level(classes: int) -> dict:
    """Return the content of one taxonomy file."""
    path = files("iac_lib") / "data" / "taxonomy" / f"{classes}.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def validate_groups(groups: dict[str, list[str]], labels: tuple[str, ...]) -> None:
    """Raise `TaxonomyError` unless every label is in exactly one group."""
    times = Counter(label for group in groups.values() for label in group)
    wrong = {
        "is in no group": [label for label in labels if not times[label]],
        "is in more than one group": [label for label in labels if times[label] > 1],
        "is not one of the thirty intents": [label for label in times if label not in labels],
    }
    for problem, found in wrong.items():
        if found:
            raise TaxonomyError(f"{found[0]!r} {problem}")
