"""The check of the sliders sees a slider that moves and one that does not."""

import nbformat
import pytest

from tests.browser.lab import jupyter_lab
from tests.browser.notebook_page import NotebookPage

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CELL = """
import io
import ipywidgets as widgets
from PIL import Image

label = widgets.HTML().add_class("iac-label")
image = widgets.Image().add_class("iac-image")
slider = widgets.SLIDER.add_class("iac-slider")

def show(_=None):
    LABEL
    IMAGE

def png(shade):
    file = io.BytesIO()
    Image.new("L", (20, 20), shade).save(file, "png")
    return file.getvalue()

label.value, image.value = "at first", png(0)
slider.observe(show, names="value")
widgets.VBox([slider, label, image])
"""
SLIDERS = {
    "int": "IntSlider(min=0, max=10, value=10)",
    "float": "FloatSlider(min=0, max=1, value=0.2, step=0.1)",
    "selection": "SelectionSlider(options=[1, 2, 4, 8], value=2)",
}
LABEL = 'label.value = f"now {slider.value}"'
IMAGE = "image.value = png(int(200 - 10 * slider.value))"


def write_notebook(path, slider, label=LABEL, image=IMAGE):
    source = CELL.replace("SLIDER", slider).replace("LABEL", label).replace("IMAGE", image)
    cell = nbformat.v4.new_code_cell(source.strip())
    notebook = nbformat.v4.new_notebook(cells=[cell])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    root = tmp_path_factory.mktemp("notebooks")
    for kind, slider in SLIDERS.items():
        write_notebook(root / f"{kind}.ipynb", slider)
    write_notebook(root / "no-label.ipynb", SLIDERS["int"], label="pass")
    write_notebook(root / "no-image.ipynb", SLIDERS["int"], image="pass")
    write_notebook(root / "cut.ipynb", SLIDERS["int"], label="pass", image="pass")
    with jupyter_lab(root, tmp_path_factory.mktemp("lab")) as address:
        yield address


@pytest.mark.parametrize("kind", SLIDERS)
def test_sees_a_slider_move_label_and_image(lab, page, kind):
    notebook = NotebookPage(page, lab, f"{kind}.ipynb")
    notebook.run_all()
    (handle,) = notebook.sliders()
    for move in (notebook.step, notebook.drag):
        notebook.settle()
        with notebook.changing():
            move(handle)


@pytest.mark.parametrize("name", ["no-label", "no-image", "cut"])
def test_fails_when_the_callback_is_cut(lab, page, name):
    from playwright.sync_api import TimeoutError

    notebook = NotebookPage(page, lab, f"{name}.ipynb")
    notebook.run_all()
    (handle,) = notebook.sliders()
    for move in (notebook.step, notebook.drag):
        with pytest.raises(TimeoutError), notebook.changing(timeout_s=3):
            move(handle)
