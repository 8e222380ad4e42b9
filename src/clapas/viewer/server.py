"""A small web server for one recording and one user.

It listens on 127.0.0.1 by default and serves only addresses that begin with a token generated at start:

    /TOKEN/            the page
    /TOKEN/model       constant data (see ``packing``)
    /TOKEN/columns     numbers of all frames as JSON; ``?first=K`` for those from frame K on
    /TOKEN/frame/K     one frame (see ``packing``)

Nothing else is served: no path is derived from a request, so no other file can be reached. The token and
the check of the Host header exclude other pages in the same browser, and other users of the machine.
"""

from __future__ import annotations

import errno
import io
import ipaddress
import json
import logging
import os
import re
import secrets
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from clapas.errors import Error, SettingsError
from clapas.viewer.connections import IDLE_SECONDS, Connection, Waiting
from clapas.viewer.source import NotThere, Source

LOOPBACK = "127.0.0.1"
logger = logging.getLogger(__name__)
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
WORKERS = 32  # concurrent requests
QUEUE = 512  # connections queued by the system until accepted
PAUSE = 0.01  # seconds before accepting again after a failure
WHOLE_NUMBER = re.compile(r"[0-9]{1,12}")
# Names of this machine in a Host header; a port forwarded from elsewhere has another number.
HOST = re.compile(r"(localhost|[0-9.]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class Viewer:
    """A server that shows a recording in the browser.

    Parameters
    ----------
    path : path
        The recording.
    host : str
        Address to listen on, of IPv4 or IPv6; 127.0.0.1 and ::1 allow this machine only.
    port : int
        Port; 0 takes a free one.
    since : float
        Ignore a file last changed before this time (s since 1970).

    Examples
    --------
    ::

        with Viewer("run.h5") as viewer:
            print(viewer.url)
            viewer.serve()
    """

    def __init__(
        self, path: str | os.PathLike[str], *, host: str = LOOPBACK, port: int = 0, since: float = 0.0
    ) -> None:
        self.token = secrets.token_urlsafe(16)
        self.host = host.removeprefix("[").removesuffix("]")
        self._source = Source(path, since)
        try:
            self._server = _Server(self.host, port, self._source, self.token)
        except (OSError, OverflowError, ValueError, TypeError) as error:  # the last two: a NUL in the name
            raise SettingsError(
                f"cannot listen on {host}, port {port}: {error}; choose another one"
            ) from None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Address of the page."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{self.token}/"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        return self._server.is_private

    def serve(self) -> None:
        """Serve until :meth:`stop`, called by another thread, or Ctrl-C."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """End :meth:`serve`."""
        self._server.shutdown()

    def start(self) -> None:
        """Serve in a background thread."""
        self._thread = threading.Thread(target=self.serve, name="clapas viewer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and close the recording."""
        if self._thread is not None:
            self.stop()
            self._thread.join()
            self._thread = None
        self._server.server_close()
        self._source.close()


def page() -> str:
    """The page as one HTML text."""
    return files("clapas.viewer").joinpath("page", "viewer.html").read_text(encoding="utf-8")


class _Server(HTTPServer):
    """HTTP server: workers handle complete requests; all other connections wait in a single thread."""

    request_queue_size = QUEUE

    def __init__(self, host: str, port: int, source: Source, token: str) -> None:
        self.source, self.token = source, token
        self.address_family, address = _address(host, port)
        super().__init__(address, BaseHTTPRequestHandler)  # not used: see _answer
        self.is_private = _is_loopback(str(self.server_address[0]))
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="clapas viewer")
        self._answered: set[Connection] = set()
        self._waiting = Waiting(self._submit)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection; at the system limit an idle one is closed."""
        try:
            return super().get_request()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._waiting.make_room()
                time.sleep(PAUSE)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Wait for the first request of a connection."""
        self._waiting.add(Connection(request, client_address))

    def server_close(self) -> None:
        """Stop listening, and close all connections."""
        super().server_close()
        if not hasattr(self, "_waiting"):  # the address could not be bound
            return
        self._waiting.close()
        for connection in list(self._answered):
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)  # so that no worker blocks on a browser
        self._workers.shutdown(cancel_futures=True)
        for connection in self._answered:  # not yet handled
            connection.socket.close()

    def _submit(self, connection: Connection) -> None:
        self._answered.add(connection)
        self._workers.submit(self._answer, connection)

    def _answer(self, connection: Connection) -> None:
        """Answer the request of a connection, then wait for its next one or close it."""
        keeps_open = False
        try:
            request = _Request(connection, self)
            connection.sent, keeps_open = request.rest, not (request.close_connection or connection.is_ended)
        except Exception:
            self.handle_error(connection.socket, connection.address)
        self._answered.discard(connection)
        if keeps_open:
            self._waiting.add(connection)
        else:
            self.shutdown_request(connection.socket)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log errors, except when the browser closed the connection."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            logger.exception("the viewer could not answer %s", client_address)


class _Request(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "clapas", ""
    timeout = IDLE_SECONDS  # for a browser that does not read its response
    default_request_version = "HTTP/1.1"  # unreadable requests get a status, too

    def __init__(self, connection: Connection, server: _Server) -> None:
        self.received, self.rest = connection.sent, b""
        super().__init__(connection.socket, connection.address, server)

    def setup(self) -> None:
        """Read from the received bytes, write to the connection."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(io.BytesIO(self.received))

    def handle(self) -> None:
        """Handle one request; keep the bytes after it for the next."""
        self.close_connection = True
        self.handle_one_request()
        self.rest = self.rfile.read()

    def do_GET(self) -> None:
        """Answer one request."""
        if not self._is_from_here():
            return self._refuse(HTTPStatus.FORBIDDEN, "wrong host")
        try:
            address = urlsplit(self.path)
        except ValueError:
            return self._refuse(HTTPStatus.BAD_REQUEST, "the address cannot be read")
        token, _, rest = address.path.removeprefix("/").partition("/")
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()):
            return self._refuse(
                HTTPStatus.FORBIDDEN, "open the address that 'clapas view' printed, with its token"
            )
        try:
            return self._answer(rest, address.query)
        except NotThere as error:
            return self._refuse(HTTPStatus.NOT_FOUND, str(error))
        except ConnectionError:
            raise
        except (Error, OSError, KeyError, ValueError) as error:  # damaged recording
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, f"The recording cannot be read: {error}")

    def _answer(self, path: str, query: str) -> None:
        source = self.server.source
        if path == "":
            return self._send("text/html; charset=utf-8", page().encode())
        if path == "model":
            return self._send("application/octet-stream", source.model())
        if path == "columns":
            first = parse_qs(query).get("first", ["0"])[0]
            if WHOLE_NUMBER.fullmatch(first):
                text = json.dumps(source.columns(int(first)), allow_nan=False)
                return self._send("application/json", text.encode())
        kind, _, number = path.partition("/")
        if kind == "frame" and WHOLE_NUMBER.fullmatch(number):
            try:
                return self._send("application/octet-stream", source.frame(int(number)))
            except IndexError as error:
                return self._refuse(HTTPStatus.NOT_FOUND, str(error))
        return self._refuse(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _is_from_here(self) -> bool:
        """Whether the Host header names this machine: another site may point its own name here."""
        if not self.server.is_private:
            return True
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not HOST.fullmatch(hosts[0]):
            return False
        name = HOST.sub(r"\1", hosts[0]).strip("[]")
        return name == "localhost" or _is_loopback(name)

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        self._send("application/json", json.dumps({"error": message}).encode(), status)

    def _send(self, kind: str, body: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """No log on the terminal."""


def _address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Kind and address of a host to listen on; IPv4 where a name has both, as browsers try both."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, *_, address = min(addresses, key=lambda each: each[0] != socket.AF_INET)
    return family, address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
