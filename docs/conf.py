"""How Sphinx makes these pages: `python -m scripts.docs`, which also gives it what lies outside of this folder."""

from pygments.lexers import TextLexer
from sphinx.application import Sphinx

from gainboard import __version__

project = "Gainboard"
author = "The authors of Gainboard"
project_copyright = f"{author}, MIT licence"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
language = "en"
exclude_patterns = ["files", "sphinx", "notebooks"]
# Addresses are those of GitHub, which shows the same pages.
myst_heading_anchors = 6
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Bodies of requests are shortened with `...`, and the output of commands stands below them.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_title = f"Gainboard {version}"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = True
html_domain_indices = False
html_static_path = ["sphinx/static"]
templates_path = ["sphinx/templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        *(["service.html"] if tags.has("service") else []),  # noqa: F821 (Sphinx puts it here)
    ]
}
html_css_files = ["pages.css"]


def setup(app: Sphinx) -> None:
    """Show the formats of files as plain text."""
    for language in ("run", "qrels", "intents", "hex"):
        app.add_lexer(language, TextLexer)
