"""JupyterLab opens a pair although its .ipynb was written after its .py."""

import os
import shutil
from pathlib import Path

import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from jupytext.sync_contentsmanager import build_sync_jupytext_contents_manager_class

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PAIRS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@pytest.mark.parametrize("stem", PAIRS)
def test_a_pair_whose_outputs_are_newer_opens(tmp_path, stem):
    for name in (f"{stem}.py", f"{stem}.ipynb", "jupytext.toml"):
        shutil.copy(NOTEBOOKS / name, tmp_path / name)
    os.utime(tmp_path / f"{stem}.py", (0, 0))
    manager = build_sync_jupytext_contents_manager_class(FileContentsManager)()
    manager.root_dir = str(tmp_path)
    opened = manager.get(f"{stem}.ipynb")["content"]
    assert any(cell.get("outputs") for cell in opened.cells)
