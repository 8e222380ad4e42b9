"""Recordings: a run on disk, the only bond between engine, analysis and viewer."""

from clapas.io.recording.reader import Frame, Recording, is_recording
from clapas.io.recording.writer import RecordingWriter

__all__ = ["Frame", "Recording", "RecordingWriter", "is_recording"]
