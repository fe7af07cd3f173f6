"""What `haystack.py` is made of: paragraphs with their questions, lines set in type, and the four kinds of pages."""
