"""Documents in, ranked pages and lines out."""
