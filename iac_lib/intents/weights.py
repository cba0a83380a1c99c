"""Weights of a small network on disk: safetensors, and a JSON card beside them that says what.

Nothing is loaded before card and weights are known to belong together. Knows arrays and
their shapes; not what a network computes from them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np

from iac_lib.files import write_atomically

RETRY = "train and save it again, or take both files from one place"


class WeightsError(ValueError):
    """A card and weights that are missing, damaged or do not belong together."""


def save_weights(path: str | Path, arrays: Mapping[str, np.ndarray], card: dict) -> Path:
    """Write `arrays` to `path` and `card`, with the checksum of the weights, beside it.

    Parameters
    ----------
    path : str or Path
        Ends in ``.safetensors``; the card is the same name with ``.json``.
    arrays : mapping of str to float32 array
    card : dict
        Anything JSON can hold; ``format`` says what kind of network this is.

    Raises
    ------
    WeightsError
        If the name ends otherwise, or the card cannot be written as JSON; nothing is written.
    """
    from safetensors.numpy import save

    path = check_name(path)
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    try:
        text = json.dumps({**card, "sha256": sha256(content).hexdigest()}, indent=2)
    except TypeError as error:
        raise WeightsError(f"the card of {path} is not JSON: {error}") from error
    # The card last: if only the weights were replaced, the old card's checksum refuses them.
    with write_atomically(path) as temporary:
        temporary.write_bytes(content)
    with write_atomically(path.with_suffix(".json")) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
    return path


def read_card(path: str | Path, kind: str) -> dict:
    """Return the card of the weights in `path`, after comparing checksums.

    Parameters
    ----------
    path : str or Path
        The weights, ending in ``.safetensors``.
    kind : str
        The ``format`` the card must have.

    Raises
    ------
    WeightsError
        If a file is missing, the card is of something else, or the checksum differs.
    """
    path = check_name(path)
    beside = path.with_suffix(".json")
    for needed in (path, beside):
        if not needed.is_file():
            raise WeightsError(f"{needed} is missing: weights and card lie beside each other")
    try:
        card = json.loads(beside.read_text(encoding="utf-8"))
    except ValueError as error:
        raise WeightsError(f"{beside} is not JSON ({error}): {RETRY}") from error
    found = card.get("format") if isinstance(card, dict) else None
    if found != kind:
        raise WeightsError(f"{beside} describes {found!r}, needed is {kind!r}")
    if card.get("sha256") != sha256(path.read_bytes()).hexdigest():
        raise WeightsError(f"{path} is not what its card describes (checksum differs): {RETRY}")
    return card


def read_arrays(path: str | Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Return the float32 arrays in `path` if they are exactly those of `shapes`.

    Raises
    ------
    WeightsError
        Naming the first array that is missing, unexpected, or of another shape or type.
    """
    from safetensors import safe_open

    with safe_open(path, framework="np") as weights:
        for name in {**shapes, **dict.fromkeys(weights.keys())}:
            needed = ("F32", list(shapes[name])) if name in shapes else None
            part = weights.get_slice(name) if name in weights.keys() else None  # noqa: SIM118
            found = (part.get_dtype(), part.get_shape()) if part is not None else None
            if found != needed:
                raise WeightsError(
                    f"{path}: {name} is {found or 'missing'}, its card asks for "
                    f"{needed or 'no such array'}: {RETRY}"
                )
        return {name: weights.get_tensor(name) for name in shapes}


def check_name(path: str | Path) -> Path:
    """Return `path`, or raise `WeightsError` unless it ends in ``.safetensors``."""
    path = Path(path)
    if path.suffix != ".safetensors":
        raise WeightsError(f"weights end in .safetensors, not {path.name!r}")
    return path
