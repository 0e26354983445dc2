"""`gainboard scores`, `leaderboard` and `sweep` against a real server, beside what it answers over HTTP."""

import csv
import io
import json

import pytest

from gainboard.cli import main
from tests.cli.terminals import in_terminal, printed
from tests.world.campaigns import Campaign, run_text
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer


def test_a_table_has_a_row_for_each_run(scored, capsys):
    found = scored.scores("Q", "P@1", beta="10")
    headings, *rows = (line.split() for line in printed(capsys, "scores", "-m", "Q P@1", "--beta", "10").splitlines())
    assert headings == ["run", *found["metrics"]]
    assert rows == [[run["name"], *(f"{mean:.4f}" for mean in run["mean"].values())] for run in found["runs"]]


def test_the_groups_of_a_board_are_shown_where_they_tell_runs_apart_and_the_test_is_named(
    shared, folder, capsys, monkeypatch
):
    campaign = Campaign(shared)
    topics = [str(number) for number in range(1, 11)]
    campaign.put_qrels("".join(f"{topic} 0 low 1\n{topic} 0 high 2\n" for topic in topics))
    for name, ranked in (("low", ["low", "x", "high"]), ("high", ["high", "x", "low"])):
        campaign.submit(run_text(dict.fromkeys(topics, ranked), name))
    monkeypatch.setenv("GAINBOARD_COLLECTION", campaign.name)
    by = "bootstrap-range, alpha 0.05, 10,000 draws, seed 0"
    assert main(["leaderboard", "-m", "nDCG@3", "--gains", "9:1"]) == 0
    said = capsys.readouterr()
    headings, *rows = (line.split() for line in said.out.splitlines())
    assert headings[-3:] == ["rank", "set", "groups"]
    assert [row[-2:] for row in rows] == [["1-1", "a"], ["2-2", "b"]]
    assert f"1 of 1 pairs of runs are told apart ({by})." in said.err
    assert main(["leaderboard", "-m", "P@3"]) == 0
    said = capsys.readouterr()
    assert "groups" not in said.out
    assert f"No two runs are told apart ({by})." in said.err
    assert main(["leaderboard", "-m", "AP(mean=geometric)"]) == 0
    assert "No groups: The test compares arithmetic means" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["scores", "leaderboard", "sweep"])
def test_a_table_says_by_which_version_it_is(scored, capsys, command):
    for options, said in (([], "by version 1 of the qrels\n"), (["-f", "csv"], ""), (["-f", "json"], "")):
        assert main([command, "-m", "AP", *options]) == 0
        first, *rest = capsys.readouterr().err.splitlines(keepends=True) or [""]
        assert first == said
        # The board says beside it why so few topics have no groups.
        assert [line.partition(":")[0] for line in rest] == (["No groups"] if said and command == "leaderboard" else [])


@pytest.mark.parametrize("per_topic", [False, True])
def test_json_and_csv_are_the_services(scored, capsys, per_topic):
    query = {"gains": "2:1", "run": ["worse"]} | ({"topics": "all"} if per_topic else {})
    line = ["scores", "-m", "Q", "--gains", "2:1", "--run", "worse", *(["-q"] if per_topic else [])]
    assert json.loads(printed(capsys, *line, "-f", "json")) == scored.scores("Q", **query)
    assert printed(capsys, *line, "-f", "csv") == scored.get("/scores", metric="Q", format="csv", **query).text


def test_trec_eval_gives_one_run_after_the_other(scored, capsys):
    expected = [
        scored.get("/scores", metric=["map", "P_5"], run=run, format="trec_eval", topics="all").text
        for run in ("tag", "worse")
    ]
    assert printed(capsys, "scores", "-m", "map", "-m", "P_5", "-q", "-f", "trec_eval") == "".join(expected)


def test_topics_stand_above_their_mean(scored, capsys):
    rows = [line.split() for line in printed(capsys, "scores", "-m", "AP", "-q", "--run", "worse").splitlines()]
    topics = scored.scores("AP", run="worse", topics="all")["runs"][0]["topics"]["AP"]
    assert [row[:2] for row in rows] == [["run", "topic"], ["worse", "1"], ["worse", "2"], ["worse", "all"]]
    assert [row[2] for row in rows[1:3]] == [f"{topics[topic]:.4f}" for topic in ("1", "2")]


def test_a_version_of_the_judgments_may_be_named(scored, capsys):
    assert scored.put_qrels("1 0 bad 1\n2 0 other 2\n").status_code == 201
    for version in (1, 2):
        line = ["scores", "-m", "AP", "--qrels", str(version), "-f", "json"]
        assert json.loads(printed(capsys, *line)) == scored.scores("AP", qrels=version)


def test_what_is_left_out_is_said_beside_the_table(campaign, capsys):
    assert campaign.put_qrels("1 0 good 1\n2 0 bad 0\n3 0 new 1\n").status_code == 201
    assert campaign.submit("1 Q0 good 1 1 tag\n2 Q0 bad 1 1 tag\n").status_code == 201
    assert main(["scores", "-m", "AP"]) == 0
    said = capsys.readouterr().err
    assert "note: 1 topics are left out of AP, because they have no relevant document: 2\n" in said
    assert "note: topics that score 0 because the run lacks them: tag lacks 1\n" in said


def test_latex_is_a_table_for_a_paper(scored, capsys):
    tex = printed(capsys, "scores", "-m", "AP", "-f", "latex")
    assert r"\begin{tabular}" in tex
    assert r"\textbf" in tex


def test_the_leaderboard_is_in_the_order_of_the_metric(scored, capsys):
    found = scored.get("/leaderboard", metric=["Q", "AP"], by="AP").json()
    line = ["leaderboard", "-m", "Q", "-m", "AP", "--by", "AP"]
    headings, *rows = (line.split() for line in printed(capsys, *line).splitlines())
    assert headings == ["rank", "run", "team", found["by"], found["metrics"][0]]
    assert [row[:4] for row in rows] == [
        [str(row["rank"]), row["name"], row["team"], f"{row['mean']['AP']:.4f}"] for row in found["rows"]
    ]
    assert json.loads(printed(capsys, *line, "--format", "json")) == found
    theirs = scored.get("/leaderboard", metric=["Q", "AP"], by="AP", format="csv").text
    assert printed(capsys, *line, "--format", "csv") == theirs
    read = list(csv.DictReader(io.StringIO(theirs)))
    first = found["rows"][0]
    assert read[0]["run"] == first["name"]
    assert float(read[0]["low"]) == first["interval"][read[0]["metric"]][0]


def test_a_sweep_has_a_row_for_each_run_at_each_point(scored, capsys):
    line = ["sweep", "-m", "Q", "--gains", "2:1", "--gains", "9:1", "--beta", "1", "--beta", "10", "--run", "tag"]
    query = {"metric": "Q", "gains": ["2:1", "9:1"], "beta": ["1", "10"], "run": "tag"}
    assert json.loads(printed(capsys, *line, "--format", "json")) == scored.get("/sweep", **query).json()
    theirs = scored.get("/sweep", format="csv", **query).text
    assert printed(capsys, *line, "--format", "csv") == theirs
    shown = printed(capsys, *line).splitlines()
    assert len(shown) == len(theirs.splitlines()) == 5
    means = [line.rsplit(",", 1)[1] for line in theirs.splitlines()[1:]]
    assert [line.split()[-1] for line in shown[1:]] == [f"{float(mean):.4f}" for mean in means]


def test_a_wrong_metric_is_refused_as_the_service_refuses_it(scored, capsys):
    assert main(["scores", "-m", "Qu"]) == 1
    detail = scored.get("/scores", metric="Qu").json()["detail"]
    assert capsys.readouterr().err == f"gainboard: {detail}\n(problem bad-expression)\n"


def test_the_best_mean_is_bold_on_a_terminal(scored):
    line = ["scores", "-m", "AP", "--server", scored.service.url, "-c", scored.name]
    assert "\N{ESCAPE}[1m" in in_terminal(line, GAINBOARD_TOKEN=ADMIN)[1]
