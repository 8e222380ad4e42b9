"""Connections of the viewer: one thread waits for the requests of all, so that idle ones cost no worker.

A browser keeps connections open that say nothing, and someone may send a byte a minute. Both wait here, and
are handed on once a request is whole: workers never wait for what somebody may send.
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

IDLE_SECONDS = 30.0  # without a request, or without its next byte
KEPT = 512  # connections that wait at most: the longest idle one makes room
LARGEST = 2**17  # bytes of a request, which has no content: more is refused by who reads it
END = re.compile(rb"\n\r?\n")  # of a request


@dataclass(eq=False)
class Connection:
    """A connection and what it has sent of its next request."""

    socket: socket.socket
    address: Any
    sent: bytes = b""
    is_ended: bool = False
    since: float = field(default_factory=time.monotonic)

    @property
    def is_ready(self) -> bool:
        """Whether there is a request to be answered, if only to refuse it."""
        return bool(END.search(self.sent)) or len(self.sent) > LARGEST or (self.is_ended and bool(self.sent))


class Waiting:
    """The connections without a whole request.

    Parameters
    ----------
    ready : callable
        Gets each connection that has one. It is then no longer waited for, until it is added again.
    """

    def __init__(self, ready: Callable[[Connection], None]) -> None:
        self._ready = ready
        self._new: deque[Connection] = deque()
        self._held: dict[socket.socket, Connection] = {}  # the longest idle first
        self._selector = selectors.DefaultSelector()
        self._bell, self._heard = socket.socketpair()
        self._heard.setblocking(False)
        self._selector.register(self._heard, selectors.EVENT_READ)
        self._is_full = self._is_closed = False
        self._thread = threading.Thread(target=self._watch, name="clapas viewer, waiting", daemon=True)
        self._thread.start()

    def add(self, connection: Connection) -> None:
        """Wait for the next request of a connection; after :meth:`close` there is none."""
        self._new.append(connection)
        if self._is_closed:
            self._refuse_new()
        else:
            self._ring()

    def make_room(self) -> None:
        """Close the connection that has been idle for longest: the system gives no more."""
        self._is_full = True
        self._ring()

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        self._ring()
        self._thread.join()
        self._refuse_new()
        for connection in self._held.values():
            connection.socket.close()
        self._selector.close()
        self._bell.close()
        self._heard.close()

    def _refuse_new(self) -> None:
        with suppress(IndexError):  # whoever comes last finds none
            while True:
                self._new.popleft().socket.close()

    def _ring(self) -> None:
        with suppress(OSError):  # closed meanwhile
            self._bell.send(b"\0")

    def _watch(self) -> None:
        while not self._is_closed:
            for key, _ in self._selector.select(self._until_the_next_is_idle()):
                if key.fileobj is self._heard:
                    with suppress(BlockingIOError):
                        self._heard.recv(4096)
                else:
                    self._listen(self._held[key.fileobj])  # type: ignore[index]
            while self._new:
                self._welcome(self._new.popleft())
            self._close_idle()

    def _welcome(self, connection: Connection) -> None:
        connection.socket.setblocking(False)
        connection.since = time.monotonic()
        self._selector.register(connection.socket, selectors.EVENT_READ)
        self._held[connection.socket] = connection
        if connection.is_ready:  # requests that came one behind another
            self._hand_on(connection)
        else:
            self._listen(connection)

    def _listen(self, connection: Connection) -> None:
        """Take what has come."""
        try:
            came = connection.socket.recv(LARGEST)
        except BlockingIOError:
            return
        except OSError:
            came = b""
        connection.sent += came
        connection.is_ended = not came
        connection.since = time.monotonic()
        self._held[connection.socket] = self._held.pop(connection.socket)  # the least idle now
        if connection.is_ready:
            self._hand_on(connection)
        elif connection.is_ended:
            self._leave(connection)

    def _hand_on(self, connection: Connection) -> None:
        self._forget(connection)
        self._ready(connection)

    def _leave(self, connection: Connection) -> None:
        self._forget(connection)
        connection.socket.close()

    def _forget(self, connection: Connection) -> None:
        self._selector.unregister(connection.socket)
        del self._held[connection.socket]

    def _until_the_next_is_idle(self) -> float | None:
        first = next(iter(self._held.values()), None)
        return None if first is None else max(0.0, first.since + IDLE_SECONDS - time.monotonic())

    def _close_idle(self) -> None:
        now = time.monotonic()
        while self._held:
            first = next(iter(self._held.values()))
            if not (self._is_full or len(self._held) > KEPT or now - first.since >= IDLE_SECONDS):
                return
            self._is_full = False
            self._leave(first)
