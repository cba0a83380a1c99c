"""Embeddings of queries and of requests.

A query's vector is the mean over its non-padding tokens; a request's is the mean over all tokens
of its last four queries, then L2-normalised. The paper embeds the four queries as one text (IAC,
A.1); ours are embedded one by one, because E5 has 512 positions and because a query then has to
be embedded once, not in four requests: a reconstruction. Knows no intents.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from iac_lib.intents.queries import QUERY_TOKENS, cut_tokens
from iac_lib.models import find_model
from iac_lib.models.catalog import MODELS

# Part of what a cached vector is found by: change it when the same text gives another vector.
RECIPE = "mean of head and tail, 1"
# Padded tokens a batch may hold: beyond it speed no longer grows on a CPU.
BATCH_TOKENS = 4096
INSTALL = "run `make models`"


class Embedder(Protocol):
    """Turns texts into vectors.

    ``name`` is for people; ``key`` differs wherever the same text would get another vector.
    """

    name: str
    dimension: int

    @property
    def key(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return means float32[n, dimension], not normalised, and tokens int32[n]."""
        ...


class MissingPackages(ImportError):
    """Packages that only embedding needs."""


class TransformerEmbedder:
    """A transformer encoder, mean-pooled. Loaded at the first text, not before.

    It computes in bfloat16 where the processor does so itself (cosine to float32 above 0.999),
    otherwise in float32.

    Parameters
    ----------
    precision : {"auto", "bfloat16", "float32"}
    """

    name: str
    dimension: int
    prefix = ""

    def __init__(self, precision: str = "auto") -> None:
        self.precision = precision

    @property
    def key(self) -> str:
        """Name and digest of weights, vocabulary, prefix, limit and recipe."""
        parts = [*self.weights(), self.prefix, str(QUERY_TOKENS), RECIPE]
        return f"{self.name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"

    def weights(self) -> list[str]:
        """Return what identifies weights and vocabulary."""
        files = {file.path: file.sha256 for file in MODELS[self.name].files}
        return [files["model.safetensors"], files["tokenizer.json"]]

    def locate(self) -> str:
        """Return the folder, or the hub's name, of the model."""
        return str(find_model(self.name))

    @cached_property
    def _loaded(self):
        where = self.locate()
        try:
            import torch
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils import logging
        except ImportError as error:
            problem = f"embedding with {self.name} needs torch and transformers ({error})"
            raise MissingPackages(f"{problem}: {INSTALL}") from error
        # Or it tells of weights of a pooler that is not used.
        logging.set_verbosity_error()
        logging.disable_progress_bar()
        local = os.path.isdir(where)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        half = self.precision == "bfloat16" or (self.precision == "auto" and _has_bfloat16(device))
        dtype = torch.bfloat16 if half else torch.float32
        model = AutoModel.from_pretrained(
            where, dtype=dtype, add_pooling_layer=False, local_files_only=local
        )
        tokenizer = AutoTokenizer.from_pretrained(where, local_files_only=local)
        return model.eval().to(device), tokenizer

    def embed(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Embed texts as they are; see `Embedder.embed`.

        Parameters
        ----------
        texts : sequence of str
            Queries marked by `queries.mark_queries`, uncut: head and tail of a long one are
            kept, 256 tokens in all with prefix and special tokens.

        Raises
        ------
        ModelNotFound, ModelCorrupt, MissingPackages
            All say ``make models``.
        """
        model, tokenizer = self._loaded  # first: it says what is missing
        import torch

        rows = self.tokenise(texts)
        tokens = np.fromiter(map(len, rows), np.int32, len(rows))
        means = np.empty((len(rows), self.dimension), np.float32)
        for batch in batches(tokens):
            width = int(tokens[batch].max())
            ids = np.full((len(batch), width), tokenizer.pad_token_id)
            for i, row in enumerate(batch):
                ids[i, : tokens[row]] = rows[row]
            mask = torch.from_numpy(np.arange(width) < tokens[batch][:, None]).to(model.device)
            with torch.inference_mode():
                output = model(torch.from_numpy(ids).to(model.device), attention_mask=mask.long())
                hidden = output.last_hidden_state.float() * mask[:, :, None]
                mean = hidden.sum(1) / mask.sum(1, keepdim=True)
            means[batch] = mean.cpu().numpy()
        return means, tokens

    def tokenise(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text as the model sees it: prefixed, cut, enclosed."""
        _, tokenizer = self._loaded
        start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        if not len(texts):
            return []  # The tokenizer trips over none.
        prefixed = [self.prefix + text for text in texts]
        encoded = tokenizer(prefixed, add_special_tokens=False, verbose=False)["input_ids"]
        return [[start, *cut_tokens(ids, QUERY_TOKENS - 2), end] for ids in encoded]


class E5Small(TransformerEmbedder):
    """multilingual-e5-small, weights of 4 bits."""

    name = "e5-small"
    dimension = 384
    prefix = "query: "


class MiniLM(TransformerEmbedder):
    """all-MiniLM-L6-v2."""

    name = "minilm"
    dimension = 384


class HubEmbedder(TransformerEmbedder):
    """The embedder of the paper, from the Hugging Face hub: 2.2 GB, meant for a GPU.

    Parameters
    ----------
    hub_name : str
    dimension : int
    prefix : str
        The instruction is ours; the paper says only that E5's query prefix is used.
    precision : {"auto", "bfloat16", "float32"}
    """

    def __init__(
        self,
        hub_name: str = "intfloat/multilingual-e5-large-instruct",
        dimension: int = 1024,
        prefix: str = "Instruct: Classify the intent of the user's query\nQuery: ",
        precision: str = "auto",
    ) -> None:
        super().__init__(precision)
        self.name = hub_name.rpartition("/")[2]
        self.hub_name, self.dimension, self.prefix = hub_name, dimension, prefix

    def weights(self) -> list[str]:
        """Return the hub's name."""
        return [self.hub_name]

    def locate(self) -> str:
        """Return the hub's name."""
        return self.hub_name


def batches(tokens: np.ndarray) -> Iterator[np.ndarray]:
    """Yield rows of like length together, so many that padded they fill `BATCH_TOKENS`.

    No row is padded to more than twice its length: in a few queries of any length most of the
    work would be padding.
    """
    order = np.argsort(tokens, kind="stable")[::-1]
    start = 0
    while start < len(order):
        longest = int(tokens[order[start]])
        alike = np.searchsorted(-2 * tokens[order].astype(np.int64), -longest, side="right")
        count = max(1, min(BATCH_TOKENS // longest, int(alike) - start))
        yield order[start : start + count]
        start += count


def pool_requests(
    means: np.ndarray, tokens: np.ndarray, first: np.ndarray, last: np.ndarray
) -> np.ndarray:
    """Return the L2-normalised mean over all tokens of each request's queries.

    Parameters
    ----------
    means : float32[m, d]
    tokens : int32[m]
        Of each query, as `Embedder.embed` returns them.
    first, last : int64[n]
        Rows of each request, both inclusive, as `queries.window_rows` returns them.

    Returns
    -------
    float32[n, d]
    """
    pooled = np.zeros((len(first), means.shape[1]), np.float32)
    for back in range(int((last - first).max(initial=-1)) + 1):
        rows = np.flatnonzero(last - back >= first)
        at = last[rows] - back
        pooled[rows] += means[at] * tokens[at, None].astype(np.float32)
    norm = np.linalg.norm(pooled, axis=1, keepdims=True)
    return pooled / np.maximum(norm, np.finfo(np.float32).tiny)


def _has_bfloat16(device: str) -> bool:
    import torch

    if device == "cuda":
        return torch.cuda.is_bf16_supported()
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", bool)())
