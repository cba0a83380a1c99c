"""Data flows one way: each room imports only from rooms to its left."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "iac_lib"
ROOMS = [
    "models", "llm", "traces", "intents", "reuse", "policies", "cache", "engines", "figures",
]  # fmt: skip
ANYWHERE = {"files", "progress", "data"}
FILES = sorted(path for room in ROOMS for path in (ROOT / room).glob("*.py"))


def imported_rooms(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("iac_lib."):
            names.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("iac_lib.")}
    return names - ANYWHERE


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_nothing_imports_upward(path):
    here = ROOMS.index(path.parent.name)
    assert imported_rooms(path) <= set(ROOMS[: here + 1])


def test_a_wrong_arrow_would_be_seen(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from iac_lib.cache.replay import replay\n")
    assert imported_rooms(wrong) == {"cache"}
