"""Build of the documentation: ``make docs``."""

from __future__ import annotations

from importlib.metadata import version as installed_version

project = "Clapas"
author = "The Clapas developers"
copyright = "The Clapas developers"  # noqa: A001
version = release = installed_version("clapas")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "results/*/report.md"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

templates_path = ["_templates"]
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
suppress_warnings = ["ref.python", "autosummary.import_cycle"]

html_theme = "pydata_sphinx_theme"
html_title = "Clapas"
html_static_path = ["_static"]
html_theme_options = {
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["sidebar-nav-bs"]}
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True
