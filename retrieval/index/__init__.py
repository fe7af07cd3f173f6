"""Indexes derived from the store: postings for BM25, vectors for FAISS."""
