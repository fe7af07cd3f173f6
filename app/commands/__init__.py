"""One module a command; each imports what is heavy when it runs."""
