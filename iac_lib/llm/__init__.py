"""Large language models to ask: behind a URL, on this machine, or recorded earlier."""
