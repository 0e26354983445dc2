"""Judgments of ir_datasets, wherever judgments are named."""

import sys

import ir_datasets
import pytest
from ir_datasets.formats import BaseQrels, TrecQrel, TrecSubQrel

import gainboard
from gainboard.errors import BadInput
from tests.cli.shells import Shell
from tests.world.campaigns import QRELS, RUN

pytestmark = pytest.mark.outer
PLAIN, BY_INTENT, UNREACHED, WITHOUT = "gainboard/plain", "gainboard/intents", "gainboard/unreached", "gainboard/none"
DECIMAL = "gainboard/decimal"


class Judged(BaseQrels):
    def __init__(self, rows):
        self._rows = rows

    def qrels_iter(self):
        if not self._rows:
            raise OSError("no route to host")
        return iter(self._rows)


@pytest.fixture(scope="module", autouse=True)
def registered():
    words = [line.split() for line in QRELS.splitlines()]
    rows = [(topic, document, int(level)) for topic, _, document, level in words]
    parts = {
        PLAIN: [Judged([TrecQrel(*row, "0") for row in rows])],
        BY_INTENT: [Judged([TrecSubQrel(*row, "i1") for row in rows])],
        UNREACHED: [Judged([])],
        WITHOUT: [],
        DECIMAL: [Judged([TrecQrel("1", "a", 0.5, "0")])],
    }
    for name, own in parts.items():
        ir_datasets.registry.register(name, ir_datasets.Dataset(*own))


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    return Shell(tmp_path)


def test_commands_and_the_function_take_an_id_where_they_take_a_file(shell, tmp_path):
    of_file, of_dataset = (
        shell.run(f"gainboard score {qrels} run.txt -m Q -q") for qrels in ("qrels.txt", f"irds:{PLAIN}")
    )
    assert (of_dataset.code, of_dataset.out) == (0, of_file.out)
    assert shell.run(f"gainboard score irds:{BY_INTENT} run.txt --intents -m D-Q").code == 0
    by_file, by_id = (gainboard.score(qrels, tmp_path / "run.txt", ["Q"]) for qrels in (QRELS, f"irds:{PLAIN}"))
    assert by_file.to_dict() == by_id.to_dict()
    assert gainboard.score(f"irds:{BY_INTENT}", tmp_path / "run.txt", ["D-Q"], intents=True).means.all()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gainboard/absent", "ir_datasets has no dataset 'gainboard/absent'"),
        (UNREACHED, "cannot get the judgments of 'gainboard/unreached': no route to host"),
        (WITHOUT, "has no judgments. Name a part of it that has."),
        (DECIMAL, "topic '1', document 'a': level 0.5 is not an integer"),
    ],
)
def test_what_cannot_be_read_is_said(shell, name, why):
    with pytest.raises(BadInput, match=why):
        gainboard.score(f"irds:{name}", {"1": {"a": 1.0}})
    done = shell.run(f"gainboard score irds:{name} run.txt")
    assert done.code != 0
    assert why in done.err


def test_without_the_package_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(BadInput, match=r"needs ir_datasets\. Install it: pip install ir_datasets"):
        gainboard.score(f"irds:{PLAIN}", {"1": {"a": 1.0}})
