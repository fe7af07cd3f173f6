"""Work that goes wrong, for workers to run; importable by them."""

import os
import threading


def crash_on_three(n: int) -> int:
    """Kill the process over task 3; double any other number."""
    if n == 3:
        os._exit(11)
    return 2 * n


def hang(n: int) -> int:
    """Never return."""
    threading.Event().wait()
    return n
