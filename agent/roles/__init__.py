"""The roles that a model plays, each with its rule-based form to fall back on: planner, writer, verifier, reader."""
