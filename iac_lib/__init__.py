"""Which KV-cache entries should I keep?

The library behind the notebooks. Data flows one way:
traces -> intents -> reuse -> policies -> cache -> figures.
Importing this package loads nothing heavy; import the part you need.
"""

__version__ = "0.1.0"
