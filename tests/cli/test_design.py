"""`gainboard design` computes what `POST /v1/design` does, without a server."""

import json

import pytest

from gainboard.cli import main


@pytest.mark.parametrize(
    ("line", "topics"),
    [
        ("t-test --difference 0.2 --difference-variance 1", 199),
        ("t-test --difference 1 --variance 0.5 --power 0.8", 10),
        ("anova --difference 0.1 --runs 3 --variance 0.05", 98),
        ("interval --width 0.1 --variance 0.05", 156),
        ("interval --width 0.1 --variance 0.04:30 --variance 0.08:10", 156),
        ("interval --width 0.15 --difference-variance 0.1 --correlation 0.8 --topics 200", 34),
    ],
)
def test_the_designs_of_the_paper(line, topics, capsys):
    assert main(["design", *line.split(), "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["method"], found["topics"]) == (line.split(maxsplit=1)[0], topics)
    assert main(["design", *line.split()]) == 0
    headings, row = capsys.readouterr().out.splitlines()
    assert dict(zip(headings.split(), row.split(), strict=True))["topics"] == str(topics)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t-test --difference 0 --variance 1", "difference is 0. Give a number from 1e-06 to 1e+06."),
        ("t-test --difference 0.00001 --variance 1", "Choose a larger difference."),
        ("t-test --difference 0.1 --variance 1 --variance 2:3", "Add the degrees of freedom to each"),
        ("t-test --difference 0.1 --variance 1:0 --variance 2:3", "degrees of freedom from 1 to"),
        ("anova --difference 0.1 --variance 1 --runs 1", "Give a whole number from 2 to 10,000."),
        ("interval --width 0.1 --variance 1 --alpha 2", "alpha is 2. Give a number between 0 and 1."),
    ],
)
def test_a_refusal_says_what_is_wrong(line, message, capsys):
    assert main(["design", *line.split()]) == 1
    assert message in capsys.readouterr().err


def test_a_variance_is_required(capsys):
    with pytest.raises(SystemExit):
        main(["design", "t-test", "--difference", "0.1"])
    assert "--variance" in capsys.readouterr().err
