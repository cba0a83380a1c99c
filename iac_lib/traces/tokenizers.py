"""How many tokens a text has: pluggable, offline, counted once.

The default is Tekken, whose vocabulary the wheel of ``mistral-common`` carries. Counts are
kept in a cache folder under a hash of the texts, so that a data set is tokenised once.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.files import cache_directory, write_atomically
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


def count_tokens(texts: Sequence[str], tokenizer: Tokenizer | None = None) -> np.ndarray:
    """Return int64[n], tokens per text, from the cache if they were counted before.

    A cache that is damaged is counted anew; one that cannot be written is warned about.

    Parameters
    ----------
    texts : sequence of str
    tokenizer : Tokenizer or None
        Default: Tekken.
    """
    tokenizer = tokenizer or Tekken()
    digest = hashlib.sha256(tokenizer.name.encode())
    for text in texts:
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text.encode("utf-8", "surrogatepass"))
    path = cache_directory() / f"tokens-{digest.hexdigest()[:32]}.parquet"
    if (cached := read_cached(path, len(texts))) is not None:
        return cached
    tokens = np.asarray(tokenizer.count(texts), np.int64)
    try:
        with write_atomically(path) as temporary:
            # Checksums, because a flipped bit in a count would otherwise read as another count.
            pq.write_table(pa.table({"tokens": tokens}), temporary, write_page_checksum=True)
    except OSError as error:
        warnings.warn(f"token counts were not cached in {path.parent}: {error}", stacklevel=2)
    return tokens


def read_cached(path: Path, count: int) -> np.ndarray | None:
    """Return the `count` cached numbers in `path`, or None if they are missing or damaged."""
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        tokens = table.column("tokens").to_numpy().astype(np.int64, casting="safe")
    except (OSError, KeyError, TypeError, pa.ArrowException):
        return None
    return tokens if len(tokens) == count and (tokens >= 0).all() else None
