"""The page that lists the files of a result."""

from types import SimpleNamespace

from gainboard.cli.jobs import write_files
from gainboard.client.answers import ResultTable

CAPTION = "<script>alert('AP & Q')</script>"


def test_captions_are_text_and_not_markup(tmp_path):
    table = SimpleNamespace(name="pairs", caption=CAPTION, latex=None)
    figure = SimpleNamespace(name="curves", caption=CAPTION)
    work = SimpleNamespace(
        id="1234",
        latest=SimpleNamespace(tables=[table], figures=[figure], kind="stability", collection="<b>"),
        result_json=dict,
        dependencies=lambda: None,
        table=lambda name: ResultTable("a\r\n1\r\n"),
        figure=lambda name: "<svg/>",
    )
    write_files(work, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("&lt;script&gt;alert(&#x27;AP &amp; Q&#x27;)&lt;/script&gt;") == 2
    assert page.count("stability: &lt;b&gt;") == 2
    assert ("<script" in page, "pairs.csv" in page, "pairs.tex" in page) == (False, True, False)
