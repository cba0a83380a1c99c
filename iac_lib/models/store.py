"""Where models lie, and whether they are what the catalog says.

Knows nothing of where they come from.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from iac_lib.files import cache_directory, write_atomically
from iac_lib.models.catalog import MODELS, File, Model

VERIFIED = ".verified.json"


class ModelNotFound(FileNotFoundError):
    """A model that is not installed."""


class ModelCorrupt(ValueError):
    """A model file that is not the one in the catalog."""


def models_directory() -> Path:
    """Return the folder that all models are installed in."""
    return cache_directory() / "models"


def find_model(name: str) -> Path:
    """Return where a model lies, after making sure that its files are intact.

    A file is hashed once; as long as its size and its time of change stay, it is not read
    again.

    Parameters
    ----------
    name : str
        A name of `catalog.MODELS`.

    Returns
    -------
    Path
        The file of a model that is a single file, otherwise the folder.

    Raises
    ------
    KeyError
        If the catalog has no such model.
    ModelNotFound
        If a file of it is missing.
    ModelCorrupt
        If a file differs from the catalog's.
    """
    if name not in MODELS:
        raise KeyError(f"there is no model {name!r}; there are {', '.join(MODELS)}")
    model, folder = MODELS[name], models_directory() / name
    for file in model.files:
        if not (folder / file.path).is_file():
            problem = f"model {name} ({model.holds}) is not installed: {folder / file.path} missing"
            raise ModelNotFound(f"{problem}; {advise(model)}")
    verify_files(model, folder)
    return folder / model.files[0].path if len(model.files) == 1 else folder


def verify_files(model: Model, folder: Path) -> None:
    """Raise `ModelCorrupt` unless every file of `model` in `folder` is the catalog's."""
    known = read_verified(folder)
    seen = {file.path: verify_file(model, file, folder / file.path, known) for file in model.files}
    if seen != known:
        # A folder that cannot be written is hashed anew each time.
        with suppress(OSError), write_atomically(folder / VERIFIED) as temporary:
            temporary.write_text(json.dumps(seen))


def verify_file(model: Model, file: File, path: Path, known: dict) -> list:
    """Return ``[size, change time in ns, sha256]`` of an intact file."""
    status = path.stat()
    stamp = [status.st_size, status.st_mtime_ns, file.sha256]
    if known.get(file.path) == stamp:
        return stamp
    if status.st_size != file.size:
        problem = f"holds {status.st_size:,} bytes, not {file.size:,}"
    elif (found := hash_file(path)) != file.sha256:
        problem = f"has SHA-256 {found[:16]}..., not {file.sha256[:16]}..."
    else:
        return stamp
    raise ModelCorrupt(f"{path} {problem}, so it is not loaded; {advise(model)}")


def read_verified(folder: Path) -> dict:
    """Return what earlier calls found intact; nothing if that cannot be read."""
    try:
        known = json.loads((folder / VERIFIED).read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def advise(model: Model) -> str:
    """Say how to get a model."""
    return f"run `make models` (or `python -m iac_lib.models {model.name}`)"
