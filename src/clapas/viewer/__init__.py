"""A page in the browser that shows a recording, also while it grows, and offline exports of it."""

from clapas.viewer.export import Exported, export_page
from clapas.viewer.server import Viewer

__all__ = ["Exported", "Viewer", "export_page"]
