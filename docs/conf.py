"""Sphinx configuration."""

import os
import sys
from importlib.metadata import version as _version
from pathlib import Path

# the gallery is executed: threads that wait for each other are slow
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "DiffGBM"
author = "The DiffGBM developers"
copyright = "2026, The DiffGBM developers"
release = _version("diffgbm")
extensions = [
    "myst_parser",
    "numpydoc",
    "mathml",
    "beside_peers",
    "measured",
    "source_lines",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
# the gallery's own tables of times and its code files are not pages
exclude_patterns = [
    "_build",
    "gallery/**/*.md5",
    "gallery/*.py",
    "gallery/*.ipynb",
    "gallery/*.json",
    "sg_execution_times.rst",
]

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
# pages with wide tables or code side by side need the width
html_sidebars = {page: [] for page in ("index", "gallery/**", "start", "faq", "migrating", "benchmarks", "paper")}
html_title = "DiffGBM"
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "gallery_order.ByLesson",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "thumbnail_size": (480, 300),
    "remove_config_comments": True,
}
