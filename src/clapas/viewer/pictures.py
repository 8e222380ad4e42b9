"""Pictures, films and curves of a recording, made without a display."""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from clapas.analysis.instant import Instant
from clapas.errors import FormatError, MissingDependency, SettingsError, warn
from clapas.io.pictures import save_figure, whole
from clapas.io.recording import Recording
from clapas.units import counted
from clapas.viewer.colouring import Palette
from clapas.viewer.forcelines import check_forces, draw_forces
from clapas.viewer.painting import VIEWS, Painter
from clapas.viewer.source import Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pixels = npt.NDArray[np.uint8]

SIZE = (960, 640)
DPI = 100
FASTEST_GIF = 50  # frames per second
SAMPLED = 12  # frames that set the scale of colours
ALIGNED = {"front": ("x (m)", "z (m)"), "right": ("y (m)", "z (m)"), "top": ("x (m)", "y (m)")}
PLANE = ("x (m)", "y (m)")


def snapshot(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    time: float | None = None,
    view: str = "oblique",
    colour: str = "speed",
    forces: str = "none",
    fit: str = "most",
    zoom: float = 1.0,
    size: tuple[int, int] = SIZE,
) -> Path:
    """Write a picture of the frame nearest to a time (by default the last).

    Parameters
    ----------
    recording : Recording
        The run.
    path : path
        Image to write; the suffix sets the format (.png, .jpg, .pdf …).
    time : float, optional
        s.
    view : str
        From where: oblique, front, right, back, left or top.
    colour : str
        Bodies by speed, greys, spin, pressure, contacts or birth; deformable bodies by a field of their kind.
    forces : str
        Contact forces over it: none, chains (along the branches, as wide as strong) or arrows; coloured by
        the share of friction that each uses.
    fit : str
        What fills the picture: ``most`` (what moves, without the few bodies that went far), ``all``, or names
        of bodies separated by commas.
    zoom : float
        How many times larger than what fits, about the middle.
    size : (int, int)
        Width and height (pixels).
    """
    index = recording.nearest(time)
    figures = _Figures(recording, view, colour, size, [index], forces, fit, zoom)
    save_figure(figures.of(index), path, DPI)
    return Path(path)


def movie(
    recording: Recording,
    path: str | os.PathLike[str],
    *,
    rate: float = 25.0,
    frames: int = 250,
    start: float | None = None,
    end: float | None = None,
    view: str = "oblique",
    colour: str = "speed",
    forces: str = "none",
    fit: str = "most",
    zoom: float = 1.0,
    size: tuple[int, int] = SIZE,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a film of a recording: .gif, or .mp4 with ffmpeg.

    Parameters
    ----------
    recording : Recording
        The run.
    path : path
        Film to write.
    rate : float
        Frames per second.
    frames : int
        Largest number of frames, evenly over the time shown.
    start, end : float, optional
        Times between which it is shown (s); by default all of the run.
    view, colour, forces, fit, zoom, size
        As for :func:`snapshot`.
    progress : callable, optional
        Called with the number of frames done and of all.
    """
    target, total = Path(path), recording.n_frames
    if total == 0:
        raise FormatError(f"{recording.path}: no frame is complete")
    writer = {".gif": _write_gif, ".mp4": _write_mp4}.get(target.suffix.lower())
    if writer is None:
        raise SettingsError(f"{target.name}: a film is a .gif or an .mp4 file")
    if frames < 1 or not 0.01 <= rate <= 1000:
        raise SettingsError(
            f"a film needs at least 1 frame, and a rate from 0.01 to 1000 a second, got {frames} and {rate:g}"
        )
    folder = target.resolve().parent
    if not folder.is_dir():  # checked before hundreds of frames are drawn
        raise SettingsError(f"{target}: there is no folder '{folder}'; make it first")
    times = recording.times
    low, high = times[0] if start is None else start, times[-1] if end is None else end
    shown = np.flatnonzero((times >= low - 1e-12) & (times <= high + 1e-12))
    if len(shown) == 0:
        raise SettingsError(
            f"no frame lies between {low:g} and {high:g} s: the run goes from {times[0]:g} to {times[-1]:g} s"
        )
    places = np.unique(np.linspace(0, len(shown) - 1, min(frames, len(shown))).round().astype(int))
    chosen = shown[places].tolist()
    sampled = chosen[:: max(1, len(chosen) // SAMPLED)]
    figures = _Figures(recording, view, colour, size, sampled, forces, fit, zoom)

    def pictures() -> Iterator[Pixels]:
        for done, index in enumerate(chosen):
            yield _pixels(figures.of(index))
            if progress is not None:
                progress(done + 1, len(chosen))

    writer(target, pictures(), rate)
    return target


class _Figures:
    """Figures of frames with a common viewpoint and colour scale."""

    def __init__(
        self,
        recording: Recording,
        view: str,
        colour: str,
        size: tuple[int, int],
        sampled: list[int],
        forces: str = "none",
        fit: str = "most",
        zoom: float = 1.0,
    ) -> None:
        check_forces(forces)
        if not 0.0 < zoom < 1e6:
            raise SettingsError(f"zoom must be positive, got {zoom}")
        self.forces = forces
        if view not in VIEWS:
            raise SettingsError(f"no view is called '{view}': expected one of {', '.join(VIEWS)}")
        self.shown = Shown(recording, "")
        self.palette = Palette(self.shown, colour, [recording.frame(k) for k in sampled])
        self.labels = PLANE if recording.model.d == 2 else ALIGNED.get(view)
        self.size = size
        # room for the colour bar and the title
        inner = (int(0.84 * size[0]), int(0.88 * size[1]))
        self.painter = Painter(self.shown, view, inner, zoom=zoom, fit=fit)

    def of(self, index: int) -> Figure:
        from matplotlib.cm import ScalarMappable
        from matplotlib.figure import Figure

        frame = self.shown.recording.frame(index)
        figure = Figure(figsize=(self.size[0] / DPI, self.size[1] / DPI), dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        pixels = self.painter.paint(frame, self.palette.colours(frame), self.palette.of_skins(frame))
        axes.imshow(pixels, extent=self.painter.extent, interpolation="antialiased")
        if self.labels is None:
            axes.set_axis_off()
        else:
            axes.set(xlabel=self.labels[0], ylabel=self.labels[1])
        if self.palette.title is not None:
            scale = ScalarMappable(self.palette.norm, self.palette.map)
            figure.colorbar(scale, ax=axes, label=self.palette.title, shrink=0.8, format="%.3g")
        if self.forces != "none":
            drawn = draw_forces(
                axes, self.painter, Instant.of_recording(self.shown.recording, index), self.forces
            )
            figure.colorbar(drawn, ax=axes, label="friction used", shrink=0.8, format="%.3g")
        state = frame.state
        # Title of the figure: in small figures colour bars leave too little room above the axes.
        figure.suptitle(
            f"t = {state.time:.4g} s, {counted(frame.n_bodies, 'body', 'bodies')}, "
            f"{counted(len(frame.contacts), 'contact')}",
            fontsize=min(10.0, self.size[0] / 36),
        )
        return figure


def _pixels(figure: Any) -> Pixels:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    buffer = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    return np.asarray(buffer, dtype=np.uint8)[..., :3].copy()


def _write_gif(path: Path, pictures: Iterator[Pixels], rate: float) -> None:
    from PIL import Image  # matplotlib needs it too

    # GIF delays are in hundredths of a second, and players replace delays below two by ten.
    if rate > FASTEST_GIF:
        warn(f"a .gif shows at most {FASTEST_GIF} frames a second, not {rate:g}; take fewer frames, or .mp4")
    pause = 10 * round(100 / min(rate, FASTEST_GIF))
    images = [Image.fromarray(pixels).quantize(128) for pixels in pictures]
    with whole(path):
        images[0].save(path, save_all=True, append_images=images[1:], duration=pause, loop=0)


def _write_mp4(path: Path, pictures: Iterator[Pixels], rate: float) -> None:
    program = _ffmpeg()
    first = next(pictures)
    height, width = (n - n % 2 for n in first.shape[:2])  # yuv420p needs even sizes
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-", "-pix_fmt", "yuv420p", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        try:
            for pixels in itertools.chain((first,), pictures):
                process.stdin.write(np.ascontiguousarray(pixels[:height, :width]).tobytes())
            process.stdin.close()
        except BrokenPipeError:
            pass  # report the message of ffmpeg instead
        message = process.stderr.read().decode(errors="replace").strip()
    if process.returncode != 0:
        raise SettingsError(f"{path}: ffmpeg could not write it: {message or process.returncode}")


def _ffmpeg() -> str:
    """Path of ffmpeg: the installed one, or that of imageio-ffmpeg."""
    installed = shutil.which("ffmpeg")
    if installed is not None:
        return installed
    try:
        packaged = importlib.import_module("imageio_ffmpeg")
    except ImportError:
        raise MissingDependency(
            "imageio-ffmpeg", "movie", "writing an .mp4 film (a .gif works without it)"
        ) from None
    return str(packaged.get_ffmpeg_exe())
