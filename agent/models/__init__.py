"""Language and vision models: behind an endpoint, in this process, or replayed from a script."""
