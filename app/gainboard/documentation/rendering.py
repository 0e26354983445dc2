"""Pages as HTML, whose headings and rows can be linked to, and their sections as plain text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, takewhile
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from gainboard.documentation.pages import HelpPage, every_page

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A heading, the id that it is linked by, its level, and the text up to the next one."""

    heading: str
    anchor: str
    level: int
    text: str


@dataclass(frozen=True)
class Rendered:
    """A page: its HTML, its sections, of which the first is the title, and its rows by the codes that link to them."""

    html: str
    sections: tuple[Section, ...]
    codes: Mapping[str, str]


@cache
def render(name: str) -> Rendered:
    """Return the page of this name, which `every_page` has. It is made once, and kept."""
    page = every_page()[name]
    tokens = _MARKDOWN.parse(page.text)
    anchors, codes = Counter[str](), dict[str, str]()
    for token, content in pairwise(tokens):
        if token.type == "heading_open":
            anchor = heading_id(_write_plainly(content))
            # Equal headings are numbered as on GitHub, so that links to them lead to the same place there and here.
            token.attrSet("id", f"{anchor}-{anchors[anchor]}" if anchor in anchors else anchor)
            anchors[anchor] += 1
    for number, token in enumerate(tokens):
        # A row can be linked to by the code that is its first cell, if no heading or row above it has that id.
        if token.type == "tr_open" and (code := _only_code(tokens[number + 2])) and code not in anchors:
            token.attrSet("id", code)
            anchors[code] += 1
            row = takewhile(lambda cell: cell.type != "tr_close", tokens[number + 4 :])
            codes[code] = " ".join(_write_plainly(cell) for cell in row if cell.type == "inline")
        for child in token.children or ():
            _lead_to_help(child, page)
    return Rendered(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), tuple(_sections(tokens)), codes)


def heading_id(heading: str) -> str:
    """Return the id of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _write_plainly(inline: Token) -> str:
    return "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ())


def _only_code(cell: Token) -> str:
    """Return the code that is all of a cell, such as `crlf` of a warning; empty if there is more or no code."""
    is_one = len(cell.children or ()) == 1 and _write_plainly(cell) and re.fullmatch(r"`[\w-]+`", cell.content)
    return _write_plainly(cell) if is_one else ""


def _lead_to_help(token: Token, page: HelpPage) -> None:
    """Let a link or picture lead to where `/help/` has its target."""
    name = {"link_open": "href", "image": "src"}.get(token.type)
    address = str(token.attrGet(name) or "") if name else ""
    path, mark, anchor = address.partition("#")
    if name and path and ":" not in path:
        target = page.target_of(path)
        names = (page_name.name for page_name in every_page().values() if page_name.source == target)
        token.attrSet(name, f"{next((f'{page_name}.html' for page_name in names), target)}{mark}{anchor}")


def _sections(tokens: Sequence[Token]) -> Iterator[Section]:
    """Yield the sections. Their text has everything that a reader sees, code and cells, too."""
    head: Token | None = None
    heading, words = "", list[str]()
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            if head is not None:
                yield _section(head, heading, words)
            head, heading, words = token, _write_plainly(tokens[number + 1]), []
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
        elif token.type == "inline" and tokens[number - 1] is not head:
            words.append(_write_plainly(token))
    if head is not None:
        yield _section(head, heading, words)


def _section(head: Token, heading: str, words: Sequence[str]) -> Section:
    return Section(heading, str(head.attrGet("id")), int(head.tag[1:]), " ".join(" ".join(words).split()))


class _Renderer(RendererHTML):
    """Makes HTML whose wide parts are scrolled by themselves, also by the keyboard. Comments are left out."""

    def table_open(self, *_: Any) -> str:
        return '<div class="scroll" tabindex="0"><table class="plain">\n'

    def table_close(self, *_: Any) -> str:
        return "</table></div>\n"

    def fence(self, *arguments: Any) -> str:
        return super().fence(*arguments).replace("<pre>", '<pre tabindex="0">', 1)

    def html_block(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        return _COMMENT.sub("", tokens[idx].content)

    def html_inline(self, *arguments: Any) -> str:
        return self.html_block(*arguments)


_MARKDOWN = MarkdownIt("commonmark", renderer_cls=_Renderer).enable("table")
