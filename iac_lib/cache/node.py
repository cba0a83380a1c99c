"""A node of the radix cache, as policies see it and as the cache links it."""

from __future__ import annotations

import numpy as np

NODE = np.dtype(
    [
        ("created_s", "f8"),
        ("last_access_s", "f8"),
        ("next_use_s", "f8"),
        ("score", "f8"),
        ("inflation", "f8"),
        ("hits", "i8"),
        ("tokens", "i8"),
        ("depth_tokens", "i8"),
        ("context_tokens", "i8"),
        ("seq", "i8"),
        ("turn", "i4"),
        ("intent", "i4"),
        ("request_type", "i4"),
        ("top", "i4"),
        ("bottom", "i4"),
        ("parent", "i4"),
        ("children", "i4"),
        ("locks", "i4"),
        ("group", "i4"),
    ]
)
"""The first rows are what a policy may read (see `iac_lib.policies.policy`); the others are
the cache's own: creation order, first and last segment, parent, child and lock counts, and the
heap the node stands in."""
