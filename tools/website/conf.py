"""Sphinx's settings: nothing is executed, and no page asks another host for anything."""

from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from links import Links, settings

project = "Multi-head attention, seen"
author = copyright = ""
language = "en"
extensions = ["myst_nb"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "misc.highlighting_failure"]
exclude_patterns = ["_static"]

html_theme = "sphinx_book_theme"
html_title = project
html_static_path = []  # see setup: it stands among the sources
html_favicon = "static/favicon.svg"
html_css_files = ["pictures.css", "site.css"]
html_js_files = [("pictures.js", {"defer": "defer"}), ("site.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = html_show_sphinx = html_show_copyright = False
html_show_search_summary = False  # a page from a file may not fetch the pages that it would quote
html_math_renderer = "mathml"
templates_path = ["templates"]
html_sidebars = {"**": ["home.html", "icon-links.html", "search-button-field.html", "sbt-sidebar-nav.html"]}
html_context = {"default_mode": "auto"}
html_theme_options = {"use_download_button": False, "back_to_top_button": False, "show_toc_level": 2}


def launch_options(links: Links) -> dict:
    """Return what the theme needs for its launch buttons; nothing where nothing is published."""
    if not links.repository:
        return {}
    buttons = {"binderhub_url": "https://mybinder.org", "colab_url": "https://colab.research.google.com"}
    buttons["notebook_interface"] = "jupyterlab"
    if links.hub:
        buttons["jupyterhub_url"] = links.hub
    return {
        "repository_url": links.repository,
        "repository_branch": links.branch,
        "path_to_docs": "",
        "use_repository_button": True,
        "launch_buttons": buttons,
    }


html_theme_options |= launch_options(settings())


def _mathml(translator, node: nodes.Element, *, block: bool) -> None:
    translator.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app) -> None:
    app.config.html_static_path = [str(Path(app.srcdir) / "_static")]
    app.add_html_math_renderer(
        "mathml",
        (lambda self, node: _mathml(self, node, block=False), None),
        (lambda self, node: _mathml(self, node, block=True), None),
    )
