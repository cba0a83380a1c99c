"""The intent classifier's head: from the embedding of a request to its intent, with NumPy.

Knows embeddings and the names of intents; not where embeddings come from (`classify`), nor
how the head was trained (`training`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import numpy as np
from scipy.special import erf

from iac_lib.intents.taxonomy import load_taxonomy
from iac_lib.intents.weights import WeightsError, read_arrays, read_card, save_weights

FORMAT = "iac-lib intent head 1"
HIDDEN = (2048, 1024)
EPSILON = 1e-5  # of torch's LayerNorm
BATCH = 4096  # hidden layers of a whole trace at once would take gigabytes
CARD_FIELDS = ("embedder", "dimension", "intents", "taxonomy", "about")


def name_shapes(dimension: int, classes: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a head, by its name in the file."""
    wide, narrow = HIDDEN
    return {
        "norm.weight": (dimension,),
        "norm.bias": (dimension,),
        "hidden1.weight": (wide, dimension),
        "hidden1.bias": (wide,),
        "hidden2.weight": (narrow, wide),
        "hidden2.bias": (narrow,),
        "output.weight": (classes, narrow),
        "output.bias": (classes,),
    }


def hash_intents(intents: Sequence[str]) -> str:
    """Return a hash of the names in code order: it differs if any code means something else."""
    return sha256("\n".join(intents).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Head:
    """LayerNorm, Linear(d, 2048), GELU, Linear(2048, 1024), GELU, Linear(1024, K) (IAC, A.1).

    Parameters
    ----------
    arrays : dict of str to float32 array
        As `name_shapes` names them; rows of a weight are outputs, as in torch.
    intents : tuple of str
        What the K outputs mean, in code order.
    embedder : str
        Key of the embedder it was trained on.
    about : dict
        For the card: text recipe, data, labels, seed, metrics; whatever JSON can hold.

    Raises
    ------
    WeightsError
        If an array is missing or its shape does not fit the others and the intents.
    """

    arrays: dict[str, np.ndarray]
    intents: tuple[str, ...]
    embedder: str
    about: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = {name: array.shape for name, array in self.arrays.items()}
        dimension = found.get("norm.weight", (0,))[0]
        needed = name_shapes(dimension, len(self.intents))
        if found != needed:
            raise WeightsError(
                f"a head of {len(self.intents)} intents needs arrays {needed}, got {found}"
            )

    @property
    def dimension(self) -> int:
        """Length of the embeddings that it takes."""
        return len(self.arrays["norm.weight"])

    def logits(self, embeddings: np.ndarray) -> np.ndarray:
        """Return float32[n, K] (or [K]) for `embeddings`, float32[n, d] (or [d]).

        Raises
        ------
        ValueError
            If they are of another length, or not finite: any class would be the largest then.
        """
        if embeddings.shape[-1] != self.dimension:
            raise ValueError(
                f"the head takes embeddings of {self.dimension} numbers ({self.embedder}), got "
                f"{embeddings.shape[-1]}"
            )
        if not np.isfinite(embeddings).all():
            raise ValueError("an embedding is not finite: embed its text again")
        if embeddings.ndim == 1 or len(embeddings) <= BATCH:
            return self.forward(embeddings)
        logits = np.empty((len(embeddings), len(self.intents)), np.float32)
        for start in range(0, len(embeddings), BATCH):
            logits[start : start + BATCH] = self.forward(embeddings[start : start + BATCH])
        return logits

    def forward(self, embeddings: np.ndarray) -> np.ndarray:
        """Return `logits`, all at once."""
        a = self.arrays
        x = normalise(embeddings) * a["norm.weight"] + a["norm.bias"]
        x = gelu(x @ a["hidden1.weight"].T + a["hidden1.bias"])
        x = gelu(x @ a["hidden2.weight"].T + a["hidden2.bias"])
        return x @ a["output.weight"].T + a["output.bias"]

    def probabilities(self, embeddings: np.ndarray) -> np.ndarray:
        """Return float32[n, K] (or [K]): the softmax of `logits`."""
        logits = self.logits(embeddings)
        raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return raised / raised.sum(axis=-1, keepdims=True)

    def cool(self, temperature: float) -> Head:
        """Return the head whose logits are divided by `temperature` (`calibration`)."""
        scale = np.float32(1 / temperature)
        last = {name: self.arrays[name] * scale for name in ("output.weight", "output.bias")}
        about = {**self.about, "temperature": float(temperature)}
        return replace(self, arrays=self.arrays | last, about=about)

    def save(self, path: str | Path) -> Path:
        """Write weights to `path` (``.safetensors``) and a card (``.json``) beside it."""
        card = {
            "format": FORMAT,
            "embedder": self.embedder,
            "dimension": self.dimension,
            "intents": list(self.intents),
            "taxonomy": {"classes": len(self.intents), "sha256": hash_intents(self.intents)},
            "about": self.about,
        }
        return save_weights(path, self.arrays, card)

    @classmethod
    def load(cls, path: str | Path, intents: Sequence[str] | None = None) -> Head:
        """Return the head in `path` if its card, its weights and `intents` fit each other.

        Parameters
        ----------
        path : str or Path
        intents : sequence of str or None
            What its codes have to mean; default: the thirty of the taxonomy.

        Raises
        ------
        WeightsError
            Saying what does not fit, before any weight is loaded.
        """
        card = read_card(path, FORMAT)
        if missing := [name for name in CARD_FIELDS if name not in card]:
            raise WeightsError(f"the card of {path} lacks {', '.join(missing)}")
        if not isinstance(card["intents"], list):
            raise WeightsError(f"the card of {path} lists no intents, but {card['intents']!r}")
        names = tuple(map(str, card["intents"]))
        said = {"classes": len(names), "sha256": hash_intents(names)}
        if card["taxonomy"] != said:
            raise WeightsError(f"the card of {path} lists other intents than those it hashes")
        wanted = tuple(load_taxonomy().names if intents is None else intents)
        if names != wanted:
            raise WeightsError(
                f"{path} was trained on {len(names)} intents that are not the {len(wanted)} asked "
                "for, in this order: train a head on these, or ask for its own (intents=)"
            )
        arrays = read_arrays(path, name_shapes(card["dimension"], len(names)))
        return cls(arrays, names, card["embedder"], card["about"])


def normalise(x: np.ndarray) -> np.ndarray:
    """Return `x` with mean 0 and variance 1 along its last axis, as LayerNorm does."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(EPSILON))


def gelu(x: np.ndarray) -> np.ndarray:
    """Return the exact GELU, x times the normal distribution function of x."""
    return x * np.float32(0.5) * (1 + erf(x * np.float32(np.sqrt(0.5))))
