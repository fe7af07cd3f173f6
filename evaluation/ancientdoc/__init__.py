"""AncientDoc: five tasks over pages of Chinese ancient books, from transcribing them to what their language shows."""
