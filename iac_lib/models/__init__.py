"""Model files that the kit runs on a CPU: what there are, where they come from, whether intact.

Knows files only, not what the models are for: that is said where they are used.
"""

from iac_lib.models.store import ModelCorrupt, ModelNotFound, find_model

__all__ = ["ModelCorrupt", "ModelNotFound", "find_model"]
