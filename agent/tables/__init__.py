"""Tables on pages: rows with labels and headed cells, and the cells that answer a question."""
