"""How many tokens a text has: pluggable, offline, counted once.

The default is Tekken, whose vocabulary the wheel of ``mistral-common`` carries. Counts are
kept in a cache folder under a hash of the texts, so that a data set is tokenised once.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from iac_lib.files import write_atomically
from iac_lib.progress import progress

TEKKEN = "tekken_240911.json"
CHARACTERS_PER_TOKEN = 4.4
# Beyond this a text is counted in pieces: byte-pair encoding is superlinear on odd input.
LONGEST_PIECE = 20_000


class Tokenizer(Protocol):
    """Anything that can count tokens.

    ``name`` distinguishes its counts from another tokenizer's in the cache.
    """

    name: str

    def count(self, texts: Sequence[str]) -> np.ndarray:
        """Return int64[n], tokens per text."""
        ...


class Tekken:
    """Mistral's Tekken byte-pair encoding (131K entries), without special tokens."""

    name = TEKKEN.removesuffix(".json")

    def count(self, texts: Sequence[str]) -> np.ndarray:
        """Return int64[n], tokens per text."""
        encode = load_tekken()._model.encode_ordinary
        pieces = (
            sum(
                len(encode(text[i : i + LONGEST_PIECE])) for i in range(0, len(text), LONGEST_PIECE)
            )
            for text in progress(texts, "tokenising", total=len(texts))
        )
        return np.fromiter(pieces, np.int64, len(texts))


class Characters:
    """An estimate without a vocabulary: 4.4 characters a token, as on ShareGPT."""

    name = "characters-estimate"

    def count(self, texts: Sequence[str]) -> np.ndarray:
        """Return int64[n], tokens per text; at least 1 unless the text is empty."""
        lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
        return np.ceil(lengths / CHARACTERS_PER_TOKEN).astype(np.int64)


@lru_cache(maxsize=1)
def load_tekken():
    """Return the tokenizer that the mistral-common wheel carries."""
    import mistral_common
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return Tekkenizer.from_file(Path(mistral_common.__file__).parent / "data" / TEKKEN)


def cache_directory() -> Path:
    """Return where intermediate results are kept: ``IAC_CACHE``, or the user's cache folder."""
    if given := os.environ.get("IAC_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "iac"


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer | None = None) -> np.ndarray:
    """Return int64[n], tokens per text, from the cache if they were counted before."""
    tokenizer = tokenizer or Tekken()
    digest = hashlib.sha256(tokenizer.name.encode())
    for text in texts:
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text.encode("utf-8", "surrogatepass"))
    path = cache_directory() / f"tokens-{digest.hexdigest()[:32]}.parquet"
    if path.exists():
        return pd.read_parquet(path)["tokens"].to_numpy(np.int64)
    tokens = tokenizer.count(texts)
    with write_atomically(path) as temporary:
        pd.DataFrame({"tokens": tokens}).to_parquet(temporary)
    return tokens
