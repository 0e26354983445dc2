"""The demo shows what the papers report: beta, the log base and the gains change the ranking of the runs.

The campaigns come from fixed seeds, so these numbers do not vary. Comments give the numbers themselves.
"""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gainboard import demo
from gainboard.evaluation.principals import Sender, authenticate
from gainboard.main import open_workspace
from gainboard.settings import Settings
from gainboard.statistics.correlation import kendall_matrix
from tests import test_readme as readme
from tests.cli.shells import Done, Shell, served
from tests.waiting import over
from tests.world.pages import DOCS
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

COLLECTIONS = ("demo", "demo-small")
BETAS = [f"Q(beta={beta})" for beta in ("0.1", "1", "10", "100", "1000")]
BASES = [f"nDCG(base={base})" for base in ("2", "5", "10", "50", "100")]
GAINS = [f"nDCG(gains={gains})@10" for gains in ("1:1:1", "3:2:1", "10:5:1")]


@dataclass
class Demo:
    """What came of the README's command, which was stopped, and of what the README asks meanwhile."""

    data: Path
    done: Done
    url: str
    answered: str


@pytest.fixture(scope="session")
def loaded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    line = f"gainboard {readme.command('demo')[3]} --data {folder / 'data'}"
    request = readme.block("requests", "demo").split("\n", 1)[0].removeprefix("$ ")
    done, (url, answered) = served(Shell(folder), line, lambda url: (url, readme.shell(request, url, folder)))
    (token,) = re.findall(r"gainboard_\S+", done.out)
    workspace, _ = open_workspace(Settings.read({}, data=folder / "data"))
    assert authenticate(workspace, Sender.of(token)).role == "organiser"
    workspace.database.close()
    return Demo(folder / "data", done, url, answered)


@pytest.fixture(scope="module")
def service(loaded):
    with serving(new_settings(loaded.data)) as service:
        yield service


@readme.needs_curl
def test_the_demo_says_where_it_is_and_answers_as_the_readme_shows(loaded, service):
    printed = readme.block("requests", "demo").split("\n", 1)[1]
    assert cells(loaded.answered) == cells(printed)
    assert f" at {loaded.url} (API: {loaded.url}/docs)" in loaded.done.out
    assert "loaded in " in loaded.done.err
    script, printed = readme.session(readme.block("requests", "board"))
    assert readme.shell(script, service.url, loaded.data.parent) == printed


def cells(text):
    """The cells of a table, with scores to 12 digits: other processors may differ in the last ones."""
    rows = list(csv.reader(text.splitlines()))
    return [[f"{float(cell):.12g}" if cell[0].isdigit() else cell for cell in row] for row in rows]


def means(service, metrics, collection="demo"):
    """The mean of each run under each metric: [metrics, runs]."""
    answer = service.anonymous.get(f"/v1/collections/{collection}/scores", params={"metric": metrics}).json()
    labels = [answer["asked"][metric] for metric in metrics]
    return np.array([[run["mean"][label] for run in answer["runs"]] for label in labels])


def taus(service, metrics, collection="demo"):
    """Kendall's tau of each metric with the first one."""
    return np.asarray(kendall_matrix(means(service, metrics, collection))[0])


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_larger_beta_ranks_less_and_less_like_ap(service, collection):
    found = taus(service, ["AP", *BETAS], collection)[1:]
    assert found.tolist() == sorted(found, reverse=True)  # demo: 0.988, 0.968, 0.911, 0.855, 0.828
    assert found[0] > 0.97
    assert 0.75 < found[-1] < 0.9
    assert 0.75 < taus(service, [BETAS[0], BETAS[-1]], collection)[1] < 0.9  # demo: 0.836, demo-small: 0.867


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_a_larger_base_changes_the_ranking_more_than_beta_does(service, collection):
    found = taus(service, BASES, collection)
    assert found.tolist() == sorted(found, reverse=True)  # demo: 1, 0.893, 0.857, 0.741, 0.669
    assert found[-1] < 0.7
    assert found[-1] < taus(service, [BETAS[1], BETAS[-1]], collection)[1]


def swaps(service, metrics):
    """The number of pairs of the 45 runs that the other metrics order unlike the first one."""
    return [round(990 * (1 - tau) / 2) for tau in taus(service, metrics)[1:]]


def test_steeper_gains_swap_more_runs(service):
    less, more = swaps(service, GAINS)  # 93 and 146
    assert 50 < less < more - 25
    of_q = swaps(service, [f"Q(gains={gains})" for gains in ("1:1:1", "3:2:1", "10:5:1")])  # 18 and 56
    assert 10 < of_q[0] < of_q[1] - 25
    runs = service.anonymous.get("/v1/collections/demo/scores", params={"metric": "AP"}).json()["runs"]
    best = [runs[means(service, [metric])[0].argmax()]["name"] for metric in (GAINS[0], GAINS[2])]
    assert best == ["puffin-3", "marten-3"]


def test_no_scores_are_tied_and_no_means_are_equal(service):
    for collection, count in zip(COLLECTIONS, (45, 15), strict=True):
        runs = service.organiser.get(f"/v1/collections/{collection}/runs", params={"limit": 100}).json()["items"]
        assert len(runs) == count
        assert [run["name"] for run in runs if run["warnings"]] == []
        for row in means(service, ["AP", *BETAS, *BASES, *GAINS], collection):
            assert len({*np.round(row, 12)}) == count


def test_topics_differ_in_how_many_documents_are_relevant_and_groups_of_runs_overlap(service):
    relevant = [int((topic.levels > 0).sum()) for topic in demo.campaign().topics]
    assert min(relevant) < 10 < 90 < max(relevant)  # 4 and 99: some bases exceed R, as section 3.2 of the paper warns
    rows = service.anonymous.get("/v1/collections/demo/leaderboard", params={"metric": "Q"}).json()["rows"]
    groups = [row["groups"] for row in rows]
    assert len(set("".join(groups))) >= 10
    assert max(map(len, groups)) >= 4
    assert not {*groups[0]} & {*groups[-1]}


def test_a_report_over_both_collections_has_averages(service):
    sent = {"name": "controlling-late-arrival-penalty", "collections": [*COLLECTIONS], "params": {"resamples": 200}}
    asked = service.organiser.post("/v1/reports", json=sent)
    found = over(service.organiser, asked.headers["location"], 240)
    assert found["state"] == "succeeded", found["error"]
    result = service.organiser.get(found["result_url"]).json()
    assert result["left_out"] == []
    tables = {table["name"]: table["rows"] for table in result["tables"]}
    assert [row[0] for row in tables["table-1"]] == [*COLLECTIONS]
    names = ("figures-5-6.demo", "figures-5-6.demo-small", "average-figures-5-6")
    large, small, average = (np.array([row[1:] for row in tables[name]]) for name in names)
    np.testing.assert_allclose(average, (large + small) / 2, rtol=1e-12)
    assert not np.allclose(large, small)


QUALITY = DOCS["quality.md"]
JOBS = re.findall(r"<!-- job: (\S+) (\S+) ({.*}) -->\n((?:\|.*\n)+)", QUALITY)
COMMANDS = re.findall(r"```sh\n(gainboard job run .*)\n```", QUALITY)


def test_the_page_on_quality_has_an_example_of_each_kind():
    assert {kind for kind, *_ in JOBS} | {"leave-one-team-out"} == {line.split()[3] for line in COMMANDS}


@pytest.mark.parametrize(("kind", "name", "params", "printed"), JOBS)
def test_the_page_on_quality_shows_the_results_of_the_demo(service, kind, name, params, printed):
    asked = service.organiser.post("/v1/collections/demo/jobs", json={"kind": kind, "params": json.loads(params)})
    job = over(service.organiser, asked.headers["location"], 240)
    assert job["state"] == "succeeded", job["error"]
    table = next(each for each in job["tables"] if each["name"] == name)
    rows = list(csv.DictReader(service.organiser.get(table["csv"]).text.splitlines()))
    headings, _, *shown = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in printed.splitlines())
    assert shown
    for cells in shown:
        assert [cells] == [
            found
            for row in rows
            for found in [[as_printed(row[heading], cell) for heading, cell in zip(headings, cells, strict=True)]]
            if found == cells
        ]


def as_printed(value, cell):
    """A value of a CSV file with as many decimal places as the cell of a page has."""
    _, point, decimals = cell.partition(".")
    return f"{float(value):.{len(decimals)}f}" if point and decimals.isdigit() and value else value


@pytest.mark.parametrize("line", [*COMMANDS, *re.findall(r"^\$ (gainboard .*)$", QUALITY, re.MULTILINE)])
def test_the_commands_of_the_page_on_quality_work(loaded, service, line, tmp_path):
    done = Shell(tmp_path, GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=ADMIN).run(line)
    assert done.code == 0, done.err
    said = done.out
    assert said
    if line.startswith("gainboard design"):
        assert f"$ {line}\n{said}```" in QUALITY
