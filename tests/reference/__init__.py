"""Slow, plain implementations that the compiled ones must equal."""
