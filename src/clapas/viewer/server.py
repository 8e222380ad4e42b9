"""A small web server for one recording and one person.

It listens on 127.0.0.1 unless told otherwise, and answers only addresses that begin with a token made for
this start:

    /TOKEN/            the page
    /TOKEN/model       what does not change (see ``packing``)
    /TOKEN/columns     numbers of all frames as JSON; ``?first=K`` for those from frame K on
    /TOKEN/frame/K     one frame (see ``packing``)

Nothing else exists: no path is ever made from what a browser sends, so no other file can be reached.
The token and the check of the Host header keep other pages in the same browser, and other people on
the same machine, out.
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
WORKERS = 32  # requests that are answered at a time
QUEUE = 512  # connections that the system holds until they are accepted
PAUSE = 0.01  # seconds until a connection is accepted again that could not be
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
        Address to listen on, of IPv4 or IPv6; 127.0.0.1 and ::1 let nobody in but this machine.
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
        """Where to look."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{self.token}/"

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        return self._server.is_private

    def serve(self) -> None:
        """Answer until :meth:`stop`, called by another thread, or Ctrl-C."""
        self._server.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """Let :meth:`serve` return."""
        self._server.shutdown()

    def start(self) -> None:
        """Answer in the background."""
        self._thread = threading.Thread(target=self.serve, name="clapas viewer", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering and close the recording."""
        if self._thread is not None:
            self.stop()
            self._thread.join()
            self._thread = None
        self._server.server_close()
        self._source.close()


def page() -> str:
    """The page, complete in one piece of HTML."""
    return files("clapas.viewer").joinpath("page", "viewer.html").read_text(encoding="utf-8")


class _Server(HTTPServer):
    """Whole requests are answered by a few workers; all connections without one wait in a single thread."""

    request_queue_size = QUEUE

    def __init__(self, host: str, port: int, source: Source, token: str) -> None:
        self.source, self.token = source, token
        self.address_family, address = _address(host, port)
        super().__init__(address, BaseHTTPRequestHandler)  # which nobody calls: see _answer
        self.is_private = _is_loopback(str(self.server_address[0]))
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="clapas viewer")
        self._answered: set[Connection] = set()
        self._waiting = Waiting(self._submit)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection; where no more can be open, an idle one is closed."""
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
        if not hasattr(self, "_waiting"):  # nobody can listen there
            return
        self._waiting.close()
        for connection in list(self._answered):
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)  # so that no worker waits for a browser
        self._workers.shutdown(cancel_futures=True)
        for connection in self._answered:  # whose turn has not come
            connection.socket.close()

    def _submit(self, connection: Connection) -> None:
        self._answered.add(connection)
        self._workers.submit(self._answer, connection)

    def _answer(self, connection: Connection) -> None:
        """Answer the request of a connection, then wait for its next one or close it."""
        stays = False
        try:
            request = _Request(connection, self)
            connection.sent, stays = request.rest, not (request.close_connection or connection.is_ended)
        except Exception:
            self.handle_error(connection.socket, connection.address)
        self._answered.discard(connection)
        if stays:
            self._waiting.add(connection)
        else:
            self.shutdown_request(connection.socket)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report what went wrong, but for a browser that hung up in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            logger.exception("the viewer could not answer %s", client_address)


class _Request(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "clapas", ""
    timeout = IDLE_SECONDS  # for a browser that does not take its answer
    default_request_version = "HTTP/1.1"  # requests that cannot be read are refused with a status, too

    def __init__(self, connection: Connection, server: _Server) -> None:
        self.came, self.rest = connection.sent, b""
        super().__init__(connection.socket, connection.address, server)

    def setup(self) -> None:
        """Read from what has come, write to the connection."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(io.BytesIO(self.came))

    def handle(self) -> None:
        """Answer one request; what has come behind it is the next."""
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
        except (Error, OSError, KeyError, ValueError) as error:  # damaged in one way or another
            return self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, f"The recording cannot be read: {error}")

    def _answer(self, what: str, query: str) -> None:
        source = self.server.source
        if what == "":
            return self._send("text/html; charset=utf-8", page().encode())
        if what == "model":
            return self._send("application/octet-stream", source.model())
        if what == "columns":
            first = parse_qs(query).get("first", ["0"])[0]
            if WHOLE_NUMBER.fullmatch(first):
                told = json.dumps(source.columns(int(first)), allow_nan=False)
                return self._send("application/json", told.encode())
        kind, _, number = what.partition("/")
        if kind == "frame" and WHOLE_NUMBER.fullmatch(number):
            try:
                return self._send("application/octet-stream", source.frame(int(number)))
            except IndexError as error:
                return self._refuse(HTTPStatus.NOT_FOUND, str(error))
        return self._refuse(HTTPStatus.NOT_FOUND, "there is nothing at this address")

    def _is_from_here(self) -> bool:
        """Refuse names other than this machine's: a page elsewhere may point a name of its own here."""
        if not self.server.is_private:
            return True
        given = self.headers.get_all("Host", [])
        if len(given) != 1 or not HOST.fullmatch(given[0]):
            return False
        name = HOST.sub(r"\1", given[0]).strip("[]")
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
        """No log: the terminal belongs to whoever started the viewer."""


def _address(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    """Kind and address of a host to listen on; IPv4 where a name has both, as browsers try both."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    family, *_, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, address


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
