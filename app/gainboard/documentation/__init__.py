"""The documentation: its pages in Markdown, what of them the program makes, their HTML, and a search in their sections.

The pages are the files of `docs/`, which GitHub shows, too. What describes the program itself is no text of theirs:
`<!-- made: NAME -->` stands where it belongs, and `gainboard.cli.parts` makes it.
"""

from gainboard.documentation.pages import HelpPage, contents, every_page, linked_files, make_ahead
from gainboard.documentation.rendering import Rendered, heading_id, render
from gainboard.documentation.search import Hit, search

__all__ = [
    "HelpPage",
    "Hit",
    "Rendered",
    "contents",
    "every_page",
    "heading_id",
    "linked_files",
    "make_ahead",
    "render",
    "search",
]
