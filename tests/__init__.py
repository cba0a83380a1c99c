"""Tests. A package, so that they can share the slow references."""
