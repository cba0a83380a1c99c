"""A notebook is a pair of files: the ``.py`` is the source, the ``.ipynb`` holds the outputs."""

import hashlib
from pathlib import Path

import jupytext
from nbformat import NotebookNode

FORMATS = "ipynb,py:percent"
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_NOTE = "Sliders: open this notebook with `make lab` and run it to move them."


def read_source(path: Path) -> NotebookNode:
    """Return the notebook that a ``.py`` in percent format describes, without outputs.

    Cell ids follow from the cells' text, so that making it again makes the same file.
    """
    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata = NotebookNode(
        jupytext={"formats": FORMATS},
        kernelspec={
            "name": "python3",
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        },
        language_info={"name": "python"},
    )
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        repeat = seen[cell.source] = seen.get(cell.source, -1) + 1
        cell.id = hashlib.sha256(f"{repeat} {cell.source}".encode()).hexdigest()[:12]
    return notebook


def without_volatile(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without what changes at every run: times, paths, widgets' random ids."""
    kept = {key: notebook.metadata[key] for key in ("jupytext", "kernelspec", "language_info")}
    kept["language_info"] = {"name": "python"}
    notebook.metadata = NotebookNode(kept)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
        if not cell.metadata.get("tags"):
            cell.metadata.pop("tags", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
        for output in cell.get("outputs", []):
            if WIDGET_VIEW in output.get("data", {}):
                output.data = NotebookNode({"text/plain": WIDGET_NOTE})
    return notebook


def _joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    # Where the kernel cuts printed text into messages depends on timing.
    joined: list[NotebookNode] = []
    for output in outputs:
        if joined and output.output_type == "stream" and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined
