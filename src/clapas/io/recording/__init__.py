"""Recordings: runs on disk, the only interface between engine, analysis and viewer."""

from clapas.io.recording.reader import Frame, Recording, is_recording
from clapas.io.recording.writer import RecordingWriter

__all__ = ["Frame", "Recording", "RecordingWriter", "is_recording"]
