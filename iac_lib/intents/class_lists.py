"""Classes of intents as a language model writes them down: JSON, often not quite.

What is asked for is a JSON list of objects with ``name`` and ``description``. Read as well:
the list amid prose or a code fence, a list that was cut after some whole objects, commas too
many, and ``<name>``/``<description>`` tags. Knows no model and no procedure.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from iac_lib.intents.labels import normalise_label

LONGEST_NAME = 48
TAGGED = re.compile(
    r"<name>\s*(.*?)\s*</name>\s*<description>\s*(.*?)\s*</description>", re.DOTALL | re.IGNORECASE
)


class ClassListError(ValueError):
    """A text that holds no usable list of classes."""


@dataclass(frozen=True)
class IntentClass:
    """A class of requests.

    Parameters
    ----------
    name : str
        Lower case with underscores.
    description : str
        One line.
    """

    name: str
    description: str


def read_classes(text: str, most: int) -> list[IntentClass]:
    """Return the classes that `text` lists; of two with the same name, the first.

    Parameters
    ----------
    text : str
        What the model said.
    most : int
        Classes allowed.

    Raises
    ------
    ClassListError
        If there are none, or more than `most`; the message is meant for the model.
    """
    found: dict[str, IntentClass] = {}
    for entry in read_objects(text):
        name, description = entry.get("name"), entry.get("description")
        if not isinstance(name, str) or not isinstance(description, str):
            continue
        name = normalise_label(name)[:LONGEST_NAME].strip("_")
        description = " ".join(description.split())
        if name and description:
            found.setdefault(name, IntentClass(name, description))
    if not found:
        raise ClassListError(
            'There is no class in that. Answer with a JSON list of objects that have "name" and '
            '"description", and nothing else.'
        )
    if len(found) > most:
        raise ClassListError(
            f"These are {len(found)} classes; at most {most} are allowed. Merge the closest ones "
            "and write the list again."
        )
    return list(found.values())


def write_classes(classes: list[IntentClass]) -> str:
    """Return the classes as the JSON that a model is shown."""
    lines = [
        json.dumps({"name": each.name, "description": each.description}, ensure_ascii=False)
        for each in classes
    ]
    return "[\n" + ",\n".join(lines) + "\n]"


def read_objects(text: str) -> list[dict]:
    """Return the JSON objects in `text`, or what its tags hold if it has no object."""
    decoder = json.JSONDecoder(strict=False)
    # A trailing comma is the commonest fault, and it is the only one inside an object.
    text = re.sub(r",(\s*[}\]])", r"\1", text)
    objects, position = [], 0
    # One object after the other, so that neither prose nor a cut end spoils the whole ones.
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
            objects.append(value)
        except ValueError:
            position = start + 1
    if objects:
        return objects
    return [{"name": name, "description": about} for name, about in TAGGED.findall(text)]
