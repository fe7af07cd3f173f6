"""Models that turn text and page images into vectors."""
