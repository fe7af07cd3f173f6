"""The evidence pool: frozen, keyed snippets from outside the documents, and how they are matched."""
