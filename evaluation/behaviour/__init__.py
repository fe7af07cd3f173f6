"""How runs went, read from their traces: which tools were called, and what replanning was good for."""
