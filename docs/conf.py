"""Sphinx configuration."""

from importlib.metadata import version as _version

project = "DiffGBM"
author = "The DiffGBM authors"
copyright = "2026, The DiffGBM authors"
release = _version("diffgbm")
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False}
html_title = "DiffGBM"
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
