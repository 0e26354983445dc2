"""`--qrels` and `--runs` mean the same in each command: digits are a version where a collection is named, or a file."""

import json

import pytest

from gainboard.cli import main
from tests.world.campaigns import QRELS, RUN, WORSE

pytestmark = pytest.mark.outer


@pytest.fixture
def files(campaign, folder):
    """The version 1 of a campaign's judgments, and a file of the same name with fewer of them."""
    assert campaign.put_qrels(QRELS).status_code == 201
    assert campaign.put_qrels("1 0 good 1\n1 0 new 0\n").status_code == 201
    for run in (RUN, WORSE):
        assert campaign.submit(run).status_code == 201
    (folder / "1").write_text("1 0 good 1\n1 0 bad 0\n")
    return campaign


def printed(capsys, line, code=0):
    assert main(line.split()) == code
    return capsys.readouterr()


def test_digits_are_a_version_of_the_collection(files, capsys):
    for line in ("leaderboard -m AP", "scores -m AP", "sweep -m AP"):
        assert "by version 1 of the qrels" in printed(capsys, f"{line} --qrels 1").err
        assert "by version 2 of the qrels" in printed(capsys, line).err
    assert f"version 1 of {files.name}: fine: qrels" in printed(capsys, "check run.txt --qrels 1").out
    job = printed(capsys, "job run difficulty -m AP --qrels 1").out.strip()
    assert json.loads(printed(capsys, f"job show {job} -f json").out)["qrels_version"] == 1


def test_with_files_of_runs_and_with_a_dot_they_are_a_file(files, capsys):
    for line in ("leaderboard -m AP", "scores -m AP", "sweep -m AP"):
        of_file = printed(capsys, f"{line} --qrels 1 --runs run.txt -f csv").out
        assert of_file == printed(capsys, f"{line} --qrels ./1 --runs run.txt -f csv").out
        assert of_file != printed(capsys, f"{line} --qrels qrels.txt --runs run.txt -f csv").out
        assert "name runs with --runs" in printed(capsys, f"{line} --qrels ./1", code=1).err
    assert "./1: fine: qrels" in printed(capsys, "check run.txt --qrels ./1").out
    assert printed(capsys, "score --qrels 1 run.txt").out == printed(capsys, "score 1 run.txt").out


def test_a_table_of_files_for_a_paper_has_no_version(files, capsys):
    for form in ("latex", "markdown"):
        for options, of_version in (("--qrels qrels.txt --runs run.txt", False), ("--qrels 1", True)):
            text = printed(capsys, f"leaderboard -m AP -f {form} {options}").out
            assert ("by version 1 of the qrels" in text) is of_version


def test_what_a_citation_lacks_is_named_as_an_option(files, capsys):
    assert "or cite a board: -m METRIC" in printed(capsys, "cite", code=1).err
