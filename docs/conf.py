"""Build of the documentation: ``make docs``."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from docstrings import prepare
from generated import fill
from mathml import display, inline
from notebook_pages import show

project = "Clapas"
author = "The Clapas developers"
copyright = "The Clapas developers"
version = release = installed_version("clapas")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".ipynb": "markdown"}
exclude_patterns = ["_build", "_templates", "results/reports"]  # included by the pages that show them
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

templates_path = ["_templates"]
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words and shapes, not names to be linked

html_theme = "pydata_sphinx_theme"
html_title = "Clapas"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
html_theme_options = {
    "navbar_center": [],  # all pages are at the side
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["pages"]}
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Any) -> None:
    """Connect what prepares docstrings and what fills pages."""
    app.connect("autodoc-process-docstring", prepare, priority=100)  # before napoleon
    app.connect("source-read", show)  # a notebook becomes Markdown first
    app.connect("source-read", fill)
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
