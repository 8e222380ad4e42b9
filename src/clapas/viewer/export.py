"""One HTML file that shows a recording without a server, a network or an installation.

The page is the same as the server's, with some frames embedded: compressed, as text, each decoded when
it is shown.
"""

from __future__ import annotations

import base64
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clapas.errors import SettingsError
from clapas.viewer.server import page
from clapas.viewer.source import Shown, Source

FRAMES = 100  # at most, by default
PLACEHOLDER = "<!--data-->"  # before the script, which reads the data when it starts


@dataclass(frozen=True)
class Exported:
    """Report of an export.

    Parameters
    ----------
    path : Path
        The page.
    frames, of : int
        Frames in it, and in the recording.
    bytes : int
        Its size.
    """

    path: Path
    frames: int
    of: int
    bytes: int


def export_page(
    recording: str | os.PathLike[str], path: str | os.PathLike[str], frames: int = FRAMES
) -> Exported:
    """Write a recording as one page that opens anywhere.

    Parameters
    ----------
    recording : path
        The recording.
    path : path
        The page to write.
    frames : int
        Largest number of frames, evenly over the run, including the first and the last.
    """
    if frames < 1:
        raise SettingsError(f"frames: at least 1 is needed, got {frames}")
    source = Source(recording)
    try:
        shown = source.shown()
        total = shown.recording.n_frames
        chosen = np.unique(np.linspace(0, total - 1, min(frames, total)).round().astype(int)).tolist()
        text = page().replace(PLACEHOLDER, _data(shown, chosen))
    finally:
        source.close()
    target = Path(path)
    target.write_text(text, encoding="utf-8")
    return Exported(target, len(chosen), total, target.stat().st_size)


def _data(shown: Shown, chosen: list[int]) -> str:
    """The data as inert elements of the page."""
    columns = shown.columns(0)
    kept = {
        name: [values[k] for k in chosen] if isinstance(values, list) else values
        for name, values in columns.items()
    } | {"n": len(chosen)}
    parts = [("model", _packed(shown.model)), ("columns", json.dumps(kept, allow_nan=False))]
    parts += [(f"frame-{k}", _packed(shown.frame(index))) for k, index in enumerate(chosen)]
    return "".join(f'<script type="text/plain" id="data-{name}">{text}</script>\n' for name, text in parts)


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 9)).decode()
