"""The page that lists the files of a result."""

from types import SimpleNamespace

import pytest

from gainboard.cli.result_files import write_files
from gainboard.client import Problem
from gainboard.client.frames import ResultTable
from gainboard.errors import BadSetting

CAPTION = "<script>alert('AP & Q')</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;AP &amp; Q&#x27;)&lt;/script&gt;"


class Work:
    """A job with one table that is too long for LaTeX, and one figure."""

    id = "1234"

    def __init__(self, *, is_drawn):
        table = SimpleNamespace(name="pairs", caption=CAPTION, latex=None)
        figure = SimpleNamespace(name="curves", caption=CAPTION)
        self.latest = SimpleNamespace(tables=[table], figures=[figure], kind="stability", collection="<b>")
        self._is_drawn = is_drawn

    def result_json(self):
        return {}

    def dependencies(self):
        return None

    def table(self, name):
        return ResultTable("a\r\n1\r\n")

    def figure(self, name):
        if not self._is_drawn:
            raise Problem({"type": "/problems/no-result"}, 409)
        return "<svg/>"


def index(folder, *, is_drawn):
    write_files(Work(is_drawn=is_drawn), folder)
    return (folder / "index.html").read_text()


def test_captions_are_text_and_not_markup(tmp_path):
    page = index(tmp_path, is_drawn=True)
    assert page.count(ESCAPED) == 2
    assert page.count("stability: &lt;b&gt;") == 2
    assert "<script" not in page


def test_only_files_that_were_written_are_listed(tmp_path):
    with pytest.raises(
        BadSetting, match=r"Results and tables are written, but not the figures \(curves\).*`figures` extra"
    ):
        index(tmp_path, is_drawn=False)
    page = (tmp_path / "index.html").read_text()
    assert 'href="pairs.csv"' in page
    assert "pairs.tex" not in page
    assert "curves" not in page
