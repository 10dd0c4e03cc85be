"""Connections that are kept open between requests (HTTP/1.1), shared by threads."""

from __future__ import annotations

import http.client
import os
import select
import socket
import ssl
import threading
import time
import weakref
from typing import Dict, List, Optional, Tuple

from ._addresses import Address

# The service closes a connection that is idle for a minute. A client that sends at that moment
# could not know whether the request was read, so it uses none that is near it.
IDLE = 30.0
# The same for a request that must not be sent twice: it uses only those that were just in use.
IDLE_STAYS = 5.0

# Connections per address that are kept; more are closed after their request.
KEPT = 128

_Kept = Dict[Address, List[Tuple[http.client.HTTPConnection, float]]]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Pool:
    """Kept connections of one client. Safe for use by many threads, and after a fork."""

    def __init__(self, timeout: float, context: Optional[ssl.SSLContext]) -> None:
        self._timeout = timeout
        self._context = context
        self._lock = threading.Lock()
        self._kept: _Kept = {}
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._kept)

    def new(self, address: Address) -> http.client.HTTPConnection:
        """A connection that is not yet connected."""
        if address.scheme == "unix":
            return UnixConnection(address.path, self._timeout)
        if address.scheme == "https":
            if self._context is None:
                self._context = ssl.create_default_context()  # it reads all certificates
            return http.client.HTTPSConnection(address.host, address.port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(address.host, address.port, timeout=self._timeout)

    def take(self, address: Address, idle: float) -> Optional[http.client.HTTPConnection]:
        """A kept connection that was used within so many seconds and is open; None: make a new one."""
        oldest = time.monotonic() - idle
        stale = []
        found = None
        with self._lock:
            if self._process != os.getpid():  # the parent goes on using the connections
                self._process = os.getpid()
                _close_all(self._kept)
            kept = self._kept.get(address, [])
            while kept and found is None:
                connection, since = kept.pop()  # the one that was used last
                if since >= oldest and _is_open(connection):
                    found = connection
                else:
                    stale.append(connection)
        for connection in stale:
            connection.close()
        return found

    def keep(self, address: Address, connection: http.client.HTTPConnection) -> None:
        """Keeps a connection whose answer was read to its end, or closes it."""
        if connection.sock is not None:
            with self._lock:
                kept = self._kept.setdefault(address, [])
                if len(kept) < KEPT and self._process == os.getpid():
                    kept.append((connection, time.monotonic()))
                    return
        connection.close()

    def close(self) -> None:
        """Closes the kept connections. The pool can still be used."""
        with self._lock:
            _close_all(self._kept)


def _is_open(connection: http.client.HTTPConnection) -> bool:
    """Whether the service has neither closed a connection nor sent something that nobody asked for."""
    if connection.sock is None:
        return False
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN | select.POLLERR | select.POLLHUP)
    return not poll.poll(0)


def _close_all(kept: _Kept) -> None:
    for connections in kept.values():
        for connection, _ in connections:
            connection.close()
    kept.clear()
