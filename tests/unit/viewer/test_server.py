from __future__ import annotations

import http.client
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from clapas.errors import SettingsError
from clapas.viewer import Viewer, connections, server
from clapas.viewer.packing import unpack


@pytest.fixture
def viewer(space_run: Path) -> Iterator[Viewer]:
    with Viewer(space_run) as serving:
        serving.start()
        yield serving


def ask(viewer: Viewer, path: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer to a request whose path is sent as it is, without the cleaning that clients do."""
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=60)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def told(body: bytes) -> str:
    return str(json.loads(body)["error"])


def test_it_listens_here_only_and_has_a_token(viewer: Viewer) -> None:
    assert viewer.is_private
    assert viewer.url == f"http://127.0.0.1:{viewer.port}/{viewer.token}/"
    assert len(viewer.token) >= 20


def test_tokens_differ(space_run: Path) -> None:
    with Viewer(space_run) as one, Viewer(space_run) as other:
        assert one.token != other.token


def test_the_page_is_served_with_a_policy_that_forbids_the_network(viewer: Viewer) -> None:
    answer, body = ask(viewer, f"/{viewer.token}/")
    assert answer.status == 200
    assert body.startswith(b"<!doctype html>")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_model_frames_and_columns(viewer: Viewer) -> None:
    model = unpack(ask(viewer, f"/{viewer.token}/model")[1])
    columns = json.loads(ask(viewer, f"/{viewer.token}/columns?first=9")[1])
    header, arrays = unpack(ask(viewer, f"/{viewer.token}/frame/10")[1])
    assert columns["n"] == 11
    assert header["time"] == pytest.approx(columns["time"][1])
    assert len(arrays["position"]) == len(model[0]["names"])
    assert np.isfinite(arrays["position"]).all()


@pytest.mark.parametrize("path", ["/", "/model", "/wrong/", "/wrong/model", "//", "/%2e%2e/"])
def test_without_the_token_nothing_is_told(viewer: Viewer, path: str) -> None:
    answer, body = ask(viewer, path)
    assert answer.status == 403
    assert "clapas view" in told(body)


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "..%2f..%2fetc/passwd",
        "frame/../../etc/passwd",
        "frame/%2e%2e",
        "frame/-1",
        "frame/1e3",
        "frame/",
        "frame/%D9%A3",
        "page/viewer.html",
        "model/",
        "columns?first=x",
    ],
)
def test_no_other_path_exists(viewer: Viewer, path: str) -> None:
    answer, body = ask(viewer, f"/{viewer.token}/{path}")
    assert answer.status == 404
    assert "nothing at this address" in told(body)


def test_frames_beyond_the_end(viewer: Viewer) -> None:
    answer, body = ask(viewer, f"/{viewer.token}/frame/11")
    assert answer.status == 404
    assert told(body) == "there is no frame 11: frames are numbered 0 to 10, -1 is the last"


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("[::1]:80", 200), ("evil.example", 403)])
def test_other_names_of_this_machine_are_refused(viewer: Viewer, host: str, status: int) -> None:
    answer, _ = ask(viewer, f"/{viewer.token}/", Host=host)
    assert answer.status == status


def test_nothing_can_be_written(viewer: Viewer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.port, timeout=60)
    connection.request("POST", f"/{viewer.token}/model", body=b"x")
    assert connection.getresponse().status == 501
    connection.close()


def test_a_file_that_vanishes_or_breaks_is_told(space_run: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    shutil.copy(space_run, path)
    with Viewer(path) as viewer:
        viewer.start()
        assert ask(viewer, f"/{viewer.token}/model")[0].status == 200
        path.unlink()
        answer, body = ask(viewer, f"/{viewer.token}/columns")
        assert (answer.status, told(body)) == (404, "run.h5 is not there")
        path.write_bytes(b"not a recording")
        answer, body = ask(viewer, f"/{viewer.token}/columns")
        assert answer.status == 422
        assert "not an HDF5 file" in told(body)


def test_a_port_in_use_is_told(space_run: Path) -> None:
    with (
        Viewer(space_run) as viewer,
        pytest.raises(SettingsError, match=f"port {viewer.port}.*choose another"),
    ):
        Viewer(space_run, port=viewer.port)


def test_other_addresses_are_known_to_be_open(space_run: Path) -> None:
    with Viewer(space_run, host="0.0.0.0") as viewer:
        assert not viewer.is_private


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET / HTTP/1.1\r\nHost: [::1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [x]y]:z\r\n\r\n",
        b"GET //[/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /\xff\xfe\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"a" * 1000 + b"\r\n\r\n",
    ],
)
def test_malformed_requests_are_answered_with_a_refusal(
    viewer: Viewer, request_text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=20) as connection:
        connection.sendall(request_text)
        assert connection.recv(100).split()[1] in (b"400", b"403")
    assert caplog.records == []


def test_two_hundred_requests_at_once_are_answered_beside_idle_connections(viewer: Viewer) -> None:
    """More connections than workers: those that only wait hold none."""
    with ExitStack() as stack:
        for _ in range(server.WORKERS + 8):
            stack.enter_context(socket.create_connection(("127.0.0.1", viewer.port), timeout=20))
        with ThreadPoolExecutor(200) as pool:
            answers = list(pool.map(lambda k: ask(viewer, f"/{viewer.token}/frame/{k % 5}"), range(200)))
    assert [answer.status for answer, _ in answers] == [200] * 200
    assert threading.active_count() <= server.WORKERS + 20


def test_idle_connections_and_slow_senders_hold_nobody_up(viewer: Viewer) -> None:
    """Of 300 connections half say nothing and half send a part of a request: the next is answered at once."""
    with ExitStack() as stack:
        for k in range(300):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", viewer.port), timeout=20))
            if k % 2:
                idle.sendall(b"GET / HTTP/1.1\r\nHost: local")
        ask(viewer, f"/{viewer.token}/columns")  # all are accepted by now
        began = time.monotonic()
        assert ask(viewer, f"/{viewer.token}/columns")[0].status == 200
        assert time.monotonic() - began < 2.0
        idle.sendall(b"host\r\n\r\n")  # a slow one is answered, once it has said what it wants
        assert idle.recv(100).split()[1] == b"403"


def test_a_connection_stays_open_for_the_next_request(viewer: Viewer) -> None:
    """Two requests that come together, then one more, on the same connection."""
    one = f"GET /{viewer.token}/columns HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with (
        socket.create_connection(("127.0.0.1", viewer.port), timeout=20) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(one + one)
        assert [_status(answers), _status(answers)] == [200, 200]
        connection.sendall(one)
        assert _status(answers) == 200


def _status(answers: BinaryIO) -> int:
    """Status of the next answer of several on one connection; it is read to its end."""
    status = int(answers.readline().split()[1])
    answers.read(int(http.client.parse_headers(answers)["Content-Length"]))
    return status


def test_the_longest_idle_connection_makes_room(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEPT", 3)
    with ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(("127.0.0.1", viewer.port), timeout=20))
            for _ in range(5)
        ]
        assert idle[0].recv(1) == b""
        assert idle[1].recv(1) == b""
        assert ask(viewer, f"/{viewer.token}/columns")[0].status == 200


def test_connections_end_with_the_viewer(space_run: Path) -> None:
    with Viewer(space_run) as viewer:
        viewer.start()
        idle = socket.create_connection(("127.0.0.1", viewer.port), timeout=20)
        assert ask(viewer, f"/{viewer.token}/columns")[0].status == 200
    with idle:
        assert idle.recv(1) == b""


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_the_loopback_of_ipv6(space_run: Path, host: str) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with Viewer(space_run, host=host) as viewer:
        viewer.start()
        assert viewer.is_private
        assert viewer.url == f"http://[::1]:{viewer.port}/{viewer.token}/"
        for name, status in [(f"[::1]:{viewer.port}", 200), ("localhost", 200), ("[2001:db8::1]", 403)]:
            connection = http.client.HTTPConnection("::1", viewer.port, timeout=60)
            connection.request("GET", f"/{viewer.token}/columns", headers={"Host": name})
            assert connection.getresponse().status == status
            connection.close()


@pytest.mark.parametrize("host", ["a\0b", "no such host.invalid", "256.1.1.1"])
def test_addresses_nobody_can_listen_on(space_run: Path, host: str) -> None:
    with pytest.raises(SettingsError, match="cannot listen on"):
        Viewer(space_run, host=host)
