"""Models that turn text (and, later, page images) into vectors."""
