"""Documents in, ranked pages and lines out."""

from retrieval.processor import choose_kernels

choose_kernels()  # before any module here loads numpy
