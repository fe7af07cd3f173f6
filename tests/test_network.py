"""The guard that keeps the tests off the network."""

from __future__ import annotations

import socket

import pytest


def test_a_connection_that_leaves_the_machine_is_refused() -> None:
    with socket.socket() as caller, pytest.raises(RuntimeError, match=r"tried to reach \('192\.0\.2\.1', 80\)"):
        caller.connect(("192.0.2.1", 80))


def test_a_name_look_up_that_leaves_the_machine_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"tried to reach 'example\.org'"):
        socket.create_connection(("example.org", 80))


def test_loopback_stays_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as caller:
        assert caller.getpeername() == server.getsockname()
