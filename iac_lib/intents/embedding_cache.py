"""Embed every text once: vectors are kept in shards that a killed run leaves whole.

A text is found by its own hash, in a folder named by the embedder's ``key``. Shards are only
ever added, each under a temporary name first, so that several runs may share the folder. Reading
what is cached needs neither the model nor torch.
"""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from iac_lib.files import cache_directory, write_atomically
from iac_lib.intents.embedders import Embedder
from iac_lib.progress import progress

# What an interrupted run loses at most.
SHARD_TEXTS = 1024
KEY_BYTES = 16


def embed_cached(embedder: Embedder, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return what ``embedder.embed(texts)`` does, computing only what was never computed.

    A shard that is damaged is warned about and its texts are embedded anew.

    Parameters
    ----------
    embedder : Embedder
    texts : sequence of str
        Marked queries; repeated ones are embedded once.

    Returns
    -------
    means : float32[n, dimension]
        Not normalised.
    tokens : int32[n]
    """
    folder = cache_directory() / "embeddings" / embedder.key
    keys = [hash_text(text) for text in texts]
    found = read_shards(folder, set(keys), embedder.dimension)
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    waiting = list(missing)
    chunks = [waiting[i : i + SHARD_TEXTS] for i in range(0, len(waiting), SHARD_TEXTS)]
    for chunk in progress(chunks, f"embedding with {embedder.name}") if chunks else ():
        means, tokens = embedder.embed([missing[key] for key in chunk])
        try:
            write_shard(folder / f"{uuid.uuid4().hex}.parquet", chunk, means, tokens)
        except OSError as error:
            warnings.warn(f"embeddings were not cached in {folder}: {error}", stacklevel=2)
        found |= zip(chunk, zip(means, tokens, strict=True), strict=True)
    means = np.empty((len(keys), embedder.dimension), np.float32)
    tokens = np.empty(len(keys), np.int32)
    for row, key in enumerate(keys):
        means[row], tokens[row] = found[key]
    return means, tokens


def hash_text(text: str) -> bytes:
    """Return what a text is found by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]


def write_shard(path: Path, keys: list[bytes], means: np.ndarray, tokens: np.ndarray) -> None:
    """Write vectors and token counts of some texts."""
    vectors = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(4 * means.shape[1]), len(means), [None, pa.py_buffer(means.astype("<f4"))]
    )
    columns = {
        "key": pa.array(keys, pa.binary(KEY_BYTES)),
        "tokens": pa.array(tokens, pa.int32()),
        "mean": vectors,
    }
    with write_atomically(path) as temporary:
        # Checksums, because a flipped bit in a vector would otherwise read as another vector.
        pq.write_table(
            pa.table(columns),
            temporary,
            write_page_checksum=True,
            compression="none",
            use_dictionary=False,
        )


def read_shards(
    folder: Path, wanted: set[bytes], dimension: int
) -> dict[bytes, tuple[np.ndarray, int]]:
    """Return vector and token count of those `wanted` texts that are in a shard."""
    found = {}
    # Not those that begin with a dot: they are being written.
    for path in sorted(folder.glob("[!.]*.parquet")):
        try:
            table = pq.read_table(path, page_checksum_verification=True).combine_chunks()
            keys = table["key"].to_pylist()
            tokens = table["tokens"].to_numpy()
            vectors = table["mean"].chunk(0).buffers()[1]
            means = np.frombuffer(vectors, "<f4").reshape(len(keys), dimension)
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            warnings.warn(f"{path} is damaged and ignored ({error}); delete it", stacklevel=3)
            continue
        for row, key in enumerate(keys):
            if key in wanted:
                found[key] = means[row], tokens[row]
    return found
