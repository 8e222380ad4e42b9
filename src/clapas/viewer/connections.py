"""Connections of the viewer: one thread waits for requests on all of them, so that idle ones use no worker.

Browsers keep idle connections open, and a client may send one byte a minute. Both wait here and are passed
on once a request is complete: workers never wait for input.
"""

from __future__ import annotations

import re
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

IDLE_SECONDS = 30.0  # without a request or its next byte
KEPT = 512  # most waiting connections; beyond, the longest idle one is closed
LARGEST = 2**17  # bytes of a request (it has no body); the reader rejects more
END = re.compile(rb"\n\r?\n")  # of a request


@dataclass(eq=False)
class Connection:
    """A connection and the bytes received of its next request."""

    socket: socket.socket
    address: Any
    sent: bytes = b""
    is_ended: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def is_ready(self) -> bool:
        """Whether there is a request to handle, even if only to reject it."""
        return bool(END.search(self.sent)) or len(self.sent) > LARGEST or (self.is_ended and bool(self.sent))


class Waiting:
    """The connections without a complete request.

    Parameters
    ----------
    ready : callable
        Called with each connection that has one, which is then removed until it is added again.
    """

    def __init__(self, ready: Callable[[Connection], None]) -> None:
        self._ready = ready
        self._new: deque[Connection] = deque()
        self._waiting: dict[socket.socket, Connection] = {}  # the longest idle first
        self._selector = selectors.DefaultSelector()
        self._wake_sender, self._wake_receiver = socket.socketpair()
        self._wake_receiver.setblocking(False)
        self._selector.register(self._wake_receiver, selectors.EVENT_READ)
        self._is_full = self._is_closed = False
        self._thread = threading.Thread(target=self._watch, name="clapas viewer, waiting", daemon=True)
        self._thread.start()

    def add(self, connection: Connection) -> None:
        """Wait for the next request of a connection; after :meth:`close` it is closed."""
        self._new.append(connection)
        if self._is_closed:
            self._refuse_new()
        else:
            self._wake()

    def make_room(self) -> None:
        """Close the longest idle connection, as the system allows no more."""
        self._is_full = True
        self._wake()

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        self._wake()
        self._thread.join()
        self._refuse_new()
        for connection in self._waiting.values():
            connection.socket.close()
        self._selector.close()
        self._wake_sender.close()
        self._wake_receiver.close()

    def _refuse_new(self) -> None:
        with suppress(IndexError):  # emptied by another thread
            while True:
                self._new.popleft().socket.close()

    def _wake(self) -> None:
        with suppress(OSError):  # closed meanwhile
            self._wake_sender.send(b"\0")

    def _watch(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(self._seconds_until_idle()):
                if key.fileobj is self._wake_receiver:
                    with suppress(BlockingIOError):
                        self._wake_receiver.recv(4096)
                else:
                    self._receive(self._waiting[key.fileobj])  # type: ignore[index]
            while self._new:
                self._register(self._new.popleft())
            self._close_idle()

    def _register(self, connection: Connection) -> None:
        connection.socket.setblocking(False)
        connection.since = time.monotonic()
        self._selector.register(connection.socket, selectors.EVENT_READ)
        self._waiting[connection.socket] = connection
        if connection.is_ready:  # pipelined requests
            self._pass_on(connection)
        else:
            self._receive(connection)

    def _receive(self, connection: Connection) -> None:
        """Read the available bytes."""
        try:
            received = connection.socket.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        connection.sent += received
        connection.is_ended = not received
        connection.since = time.monotonic()
        self._waiting[connection.socket] = self._waiting.pop(connection.socket)  # now the least idle
        if connection.is_ready:
            self._pass_on(connection)
        elif connection.is_ended:
            self._close(connection)

    def _pass_on(self, connection: Connection) -> None:
        self._unregister(connection)
        self._ready(connection)

    def _close(self, connection: Connection) -> None:
        self._unregister(connection)
        connection.socket.close()

    def _unregister(self, connection: Connection) -> None:
        self._selector.unregister(connection.socket)
        del self._waiting[connection.socket]

    def _seconds_until_idle(self) -> float | None:
        first = next(iter(self._waiting.values()), None)
        return None if first is None else max(0.0, first.since + IDLE_SECONDS - time.monotonic())

    def _close_idle(self) -> None:
        now = time.monotonic()
        while self._waiting:
            first = next(iter(self._waiting.values()))
            if not (self._is_full or len(self._waiting) > KEPT or now - first.since >= IDLE_SECONDS):
                return
            self._is_full = False
            self._close(first)
