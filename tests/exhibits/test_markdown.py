"""Tables as Markdown, read back by a parser of GitHub's form."""

import re
import string
from html import unescape
from itertools import product

from markdown_it import MarkdownIt

from gainboard.exhibits import Column, Table
from gainboard.exhibits.tables import as_markdown

GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])
SHAPES = ("{0}", "{0}{0}word{0}{0}", "a{0}b{0}c", "{0}word{0} and {0} more", "{0}1. x", "x{0}(y) [z]{0}")


def test_every_text_of_a_table_shows_as_it_is_written():
    texts = [shape.format(sign) for sign, shape in product(string.punctuation, SHAPES)]
    texts += ["![a](b)", "[a](b)", "&amp;", "<b>x</b>", "https://example.org", "- x", "    x", "a\\|b"]
    made = Table("made", "~~A~~ *caption*", [Column("text"), Column("~other~")], [[text, 1] for text in texts])
    shown = GITHUB.render(as_markdown(made))
    cells = re.findall(r"<td[^>]*>(.*?)</td>", shown, re.DOTALL)
    assert [unescape(cell) for cell in cells[::2]] == [" ".join(text.split()) for text in texts]
    assert "<p>~~A~~ *caption*</p>" in shown
    assert "~other~</th>" in shown
