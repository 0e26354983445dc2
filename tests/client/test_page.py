"""What docs/client.md says is true: its examples run, one after the other, and its tables name what there is."""

import re

from gainboard import client
from gainboard.client import ClientError, Gainboard
from tests.world.laboratories import qrels_text, rotated
from tests.world.pages import DOCS
from tests.world.servers import ADMIN

PAGE = DOCS["client.md"]
EXAMPLES = re.findall(r"<!-- example: (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_run(sqlite_service, tmp_path, monkeypatch, capsys):
    (tmp_path / "qrels.txt").write_text(qrels_text())
    for number, run in enumerate(("lemur-1", "lemur-3")):
        (tmp_path / f"{run}.txt").write_text(rotated(number).replace(f"run-{number}", run))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GAINBOARD_SERVER", sqlite_service.url)
    monkeypatch.setenv("GAINBOARD_TOKEN", ADMIN)
    printed = {}
    with Gainboard() as gb:
        names = {}
        for name, example in EXAMPLES:
            exec(example.replace("http://127.0.0.1:8000", sqlite_service.url).replace("TOKEN", ADMIN), names)
            printed[name] = capsys.readouterr().out
            if name == "first":
                names["gb"] = gb
                gb.submit("web", "lemur-3.txt", team="newt")
    assert printed["first"] == "lemur-1 lemur 8\n"
    assert printed["jobs"].splitlines()[-1].startswith("succeeded ")
    assert printed["wrong"].splitlines()[0] == "422 faulty-file"
    assert printed["asynchronous"].split() == ["lemur-1", "lemur-3", "succeeded"]
    assert names["found"].values.shape == (2, 8, 2)


def test_every_error_has_a_row_and_every_row_an_error():
    rows = set(re.findall(r"^\| `([A-Z]\w+)` \|", PAGE, re.MULTILINE))
    assert rows == {"MissingPackage", *(error.__name__ for error in ClientError.__subclasses__())}
    assert rows <= set(client.__all__)
