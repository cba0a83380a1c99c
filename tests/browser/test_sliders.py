"""The sliders of the notebooks move what they are said to move."""

from pathlib import Path

import pytest

from tests.browser.lab import jupyter_lab
from tests.browser.notebook_page import NotebookPage

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ["04_eviction_policies", "05_cache_hit_rate"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    with jupyter_lab(ROOT, tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_slider_moves_label_and_image(name, page, request):
    path = f"notebooks/{name}.ipynb"
    if not (ROOT / path).exists():
        pytest.skip(f"there is no {path} yet")
    notebook = NotebookPage(page, request.getfixturevalue("lab"), path)
    notebook.run_all(timeout_s=600)
    for handle in notebook.sliders():
        for move in (notebook.step, notebook.drag):
            notebook.settle()
            with notebook.changing():
                move(handle)
