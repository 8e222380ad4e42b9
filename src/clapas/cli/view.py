"""``clapas view RUN``: show a recording in the browser."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clapas.cli import output

if TYPE_CHECKING:
    from clapas.viewer import Viewer


def view(
    recording: Annotated[Path, typer.Argument(metavar="RUN", help="A recording made by 'clapas run'.")],
    export: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write one HTML page that opens offline, instead.")
    ] = None,
    frames: Annotated[int, typer.Option(min=1, help="Frames in an exported page, at most.")] = 100,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Others than 127.0.0.1 and ::1 open the recording to the network."
        ),
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the browser.")] = True,
    since: Annotated[float, typer.Option(hidden=True, help="Ignore a file older than this.")] = 0.0,
) -> None:
    """Show a recording in the browser, also while it grows. Ctrl-C ends."""
    if export is not None:
        _export(recording, export, frames)
        return
    from clapas.errors import SettingsError
    from clapas.io.recording import Recording
    from clapas.viewer import Viewer

    if not host.strip():
        raise SettingsError("--host must be an address of this machine, such as 127.0.0.1, got ''")
    if not since:
        Recording(recording).close()  # report errors here, not in the browser
    with Viewer(recording, host=host, port=port, since=since) as viewer:
        if not viewer.is_private:
            output.note(f"everybody who can reach {host} and knows the address below can see the recording")
        print(f"{recording} is shown at\n\n    {viewer.url}\n", flush=True)
        if since:
            threading.Thread(target=_end_with_parent, args=(viewer,), daemon=True).start()
        else:
            print("Ctrl-C ends.", flush=True)
        if browser:
            _open(viewer.url)
        with suppress(KeyboardInterrupt):
            viewer.serve()


@contextmanager
def alongside(recording: Path, wanted: bool) -> Iterator[None]:
    """Context in which a recording is shown while it is written; the page stays until Ctrl-C."""
    if not wanted:
        yield
        return
    from clapas.io.watching import ViewerProcess

    with ViewerProcess(recording) as viewer:
        yield
        print("The page stays until Ctrl-C.", flush=True)
        with suppress(KeyboardInterrupt):
            viewer.wait()


def _end_with_parent(viewer: Viewer) -> None:
    sys.stdin.buffer.read()
    viewer.stop()


def _export(recording: Path, page: Path, frames: int) -> None:
    from clapas.viewer import export_page

    exported = export_page(recording, page, frames)
    extent = (
        f"all {exported.frames} frames"
        if exported.frames == exported.of
        else f"{exported.frames} of {exported.of} frames"
    )
    print(f"{exported.path}: {extent}, {exported.bytes / 1e6:.1f} MB, opens in any browser without a network")


def _open(url: str) -> None:
    import webbrowser

    with suppress(webbrowser.Error):
        webbrowser.open(url)
