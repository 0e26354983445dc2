"""`gainboard scores`, `leaderboard` and `sweep` against a real server give what it answers over HTTP."""

import json

import pytest

from gainboard.cli import main
from tests.cli.terminals import printed

pytestmark = pytest.mark.outer

ASKED = {
    "scores -m Q --gains 2:1 --run worse -q": {"metric": "Q", "gains": "2:1", "run": "worse", "topics": "all"},
    "leaderboard -m Q -m AP --by AP": {"metric": ["Q", "AP"], "by": "AP"},
    "sweep -m Q --gains 2:1 --gains 9:1 --beta 10": {"metric": "Q", "gains": ["2:1", "9:1"], "beta": "10"},
}


@pytest.mark.parametrize("line", ASKED)
def test_json_and_csv_are_the_services_and_a_table_alone_says_by_which_version_it_is(line, scored, capsys):
    address, query = f"/{line.split()[0]}", ASKED[line]
    assert json.loads(printed(capsys, *line.split(), "-f", "json")) == scored.get(address, **query).json()
    assert main([*line.split(), "-f", "csv"]) == 0
    assert tuple(capsys.readouterr()) == (scored.get(address, format="csv", **query).text, "")
    assert main(line.split()) == 0
    assert capsys.readouterr().err.startswith("by version 1 of the qrels\n")


def test_trec_eval_gives_one_run_after_the_other(scored, capsys):
    expected = [
        scored.get("/scores", metric=["map", "P_5"], run=run, format="trec_eval", topics="all").text
        for run in ("tag", "worse")
    ]
    assert printed(capsys, "scores", "-m", "map", "-m", "P_5", "-q", "-f", "trec_eval") == "".join(expected)
