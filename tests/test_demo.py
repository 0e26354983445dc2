"""The demo shows what the papers report, and answers what pages say: their worked examples and commands.

The campaigns come from fixed seeds, so these numbers do not vary. Comments give the numbers themselves.
"""

import csv
import json
import re
import shlex
import shutil
from glob import glob
from urllib.parse import parse_qs

import numpy as np
import pytest

from gainboard.cli import main
from gainboard.cli.parsing import parser
from gainboard.statistics.correlation import kendall_matrix
from tests import test_readme as readme
from tests.cli.conftest import prepared  # noqa: F401 (a fixture)
from tests.cli.shells import Shell, shell
from tests.waiting import over
from tests.world.demos import loaded_demo, serving_demo
from tests.world.pages import DOCS, rows
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer

COLLECTIONS = ("demo", "demo-small")
BETAS = [f"Q(beta={beta})" for beta in ("0.1", "1", "10", "100", "1000")]
BASES = [f"nDCG(base={base})" for base in ("2", "5", "10", "50", "100")]
GAINS = [f"nDCG(gains={gains})@10" for gains in ("1:1:1", "3:2:1", "10:5:1")]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A copy of the demo, to which these tests add groups and scores."""
    with serving_demo(tmp_path_factory, job_slots=1) as service:
        yield service


@readme.needs_curl
def test_the_demo_says_where_it_is_and_answers_as_the_readme_shows(service, tmp_path_factory, tmp_path):
    folder = loaded_demo(tmp_path_factory)
    out, err, url, role = json.loads((folder / "said.json").read_text())
    assert readme.command("demo")[3:] == ["demo"]
    assert f" at {url} (API: {url}/docs)" in out
    assert "loaded in " in err
    assert role == "organiser"
    request, printed = readme.block("requests", "demo").split("\n", 1)
    assert cells(readme.shell(request.removeprefix("$ "), service.url, tmp_path)) == cells(printed)
    script, printed = readme.session(readme.block("requests", "board"))
    assert readme.shell(script, service.url, tmp_path) == printed


def cells(text):
    """The cells of a table, with scores to 12 digits: other processors may differ in the last ones."""
    rows = list(csv.reader(text.splitlines()))
    return [[f"{float(cell):.12g}" if cell[0].isdigit() else cell for cell in row] for row in rows]


def means(service, metrics, collection="demo"):
    answer = service.anonymous.get(f"/v1/collections/{collection}/scores", params={"metric": metrics}).json()
    labels = [answer["asked"][metric] for metric in metrics]
    return np.array([[run["mean"][label] for run in answer["runs"]] for label in labels])


def taus(service, metrics, collection="demo"):
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


QUALITY = DOCS["quality.md"]
JOBS = re.findall(r"<!-- job: (\S+) (\S+) ({.*}) -->\n((?:\|.*\n)+)", QUALITY)
COMMANDS = re.findall(r"```sh\n(gainboard job run .*)\n```", QUALITY)


def test_the_page_on_quality_has_an_example_of_each_kind():
    assert {kind for kind, *_ in JOBS} | {"leave-one-team-out"} == {line.split()[3] for line in COMMANDS}
    assert [line for line in COMMANDS if not parser().parse_args(shlex.split(line)[1:])] == []


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


@pytest.mark.parametrize("line", re.findall(r"^\$ (gainboard design .*)$", QUALITY, re.MULTILINE))
def test_the_page_on_quality_shows_what_its_commands_print(line, tmp_path):
    assert f"$ {line}\n{Shell(tmp_path).run(line).out}```" in QUALITY


def answer_to(page, name, service):
    found = re.search(rf"<!-- example: {name} -->\n```http\nGET (\S+)\n```", DOCS[page])
    assert found is not None
    path, _, query = found[1].partition("?")
    return service.anonymous.get(path, params=parse_qs(query)).raise_for_status().json()


def test_the_runs_beside_a_baseline_are_those_of_the_page(service):
    answer = answer_to("comparing-runs.md", "baseline", service)
    found = {each["run"]: each for each in answer["comparisons"]}
    table = rows("comparing-runs.md", "baseline")
    assert (len(found), len(table)) == (14, 4)
    for run, *cells in table:
        own, tests = found[run], {test["name"]: test for test in found[run]["tests"]}
        low, high = own["interval"]
        t, bootstrap = tests["t-test"], tests["paired-bootstrap"]
        numbers = (t["asl"], t["asl_holm"], bootstrap["asl_max_t"], own["equivalence"]["asl_holm"])
        assert cells == [
            f"{own['difference']:.4f}",
            f"{low:.4f} to {high:.4f}",
            f"{own['effect_size']:.2f}",
            *(f"{number:.4f}" for number in numbers),
            f"{own['won']}, {own['lost']}, {own['tied']}",
        ]
    assert found["ibis-1"]["tipping_topics"] == []
    alone = {"run": ["ibis-1", "marten-1"], "metric": "Q"}
    (pair,) = service.anonymous.get("/v1/collections/demo-small/compare", params=alone).json()["comparisons"]
    assert len(pair["tipping_topics"]) == 5
    assert not found["koala-1"]["equivalence"]["is_equivalent"]


def test_the_agreement_of_two_assessors_is_that_of_the_page(service):
    (sent,) = re.findall(r"<!-- example: agreement -->\n```json\n(.*?)```", DOCS["judgments.md"], re.DOTALL)
    path = "/v1/collections/demo-small/jobs"
    job = service.organiser.post(path, json=json.loads(sent)).raise_for_status().json()["id"]
    assert over(service.organiser, f"/v1/jobs/{job}")["state"] == "succeeded"
    (found,) = service.anonymous.get(f"/v1/jobs/{job}/result").raise_for_status().json()["sets"]
    for name, value, interval in rows("judgments.md", "labels"):
        each = at(found, name)
        low, high = each["interval"]
        assert (value, interval) == (f"{each['value']:.3f}", f"{low:.3f} to {high:.3f}"), name
    for name, value in rows("judgments.md", "rankings"):
        each = at(found["metrics"][0], name)
        shown = each["value"] if isinstance(each, dict) else each
        assert value == (f"{shown:.3f}" if isinstance(shown, float) else str(shown)), name
    assert found["only_reference"] == 430
    assert found["metrics"][0]["largest_rise"] is None


@pytest.mark.proof  # a claim of a page, over the whole demo
def test_the_model_favours_the_team_that_the_page_says(service):
    (sent,) = re.findall(r"<!-- example: validity -->\n```json\n(.*?)```", DOCS["judgments.md"], re.DOTALL)
    job = service.organiser.post("/v1/collections/demo/jobs", json=json.loads(sent)).raise_for_status().json()["id"]
    assert over(service.organiser, f"/v1/jobs/{job}")["state"] == "succeeded"
    (judge,) = service.anonymous.get(f"/v1/jobs/{job}/result").raise_for_status().json()["judges"]
    (family,) = judge["families"]
    (best,) = [run for run in judge["runs"] if run["run"] == "koala-2"]
    said = " ".join(DOCS["judgments.md"].split())
    for form, estimate in (
        ("tau is {:.2f} ({:.2f} to {:.2f})", judge["tau"]),
        ("grow by {:.3f} more than those of the other runs ({:.3f} to {:.3f})", family["shift"]),
        ("rise by {:.1f} ranks more ({:.1f} to {:.1f})", family["rise"]),
        ("`koala-2` gains {:.0f} places ({:.0f} to {:.0f})", best["rise"]),
        ("gives {:.3f} levels more ({:.3f} to {:.3f})", judge["levels"]["bias"]),
    ):
        assert form.format(estimate["value"], *estimate["interval"]) in said
    assert family["shift"]["interval"][0] > 0
    assert [run for run in judge["runs"] if run["suspicious"]] == []


@pytest.mark.proof  # a claim of a page, over the whole demo
def test_people_correct_the_model_as_the_page_says(service, tmp_path, printed):
    check_examples(printed, "judgments.md", ["corrected", "design"], tmp_path, **asking(service))
    (sent,) = re.findall(r"<!-- example: means -->\n```json\n(.*?)```", DOCS["judgments.md"], re.DOTALL)
    job = service.organiser.post("/v1/collections/demo/jobs", json=json.loads(sent)).raise_for_status().json()["id"]
    assert over(service.organiser, f"/v1/jobs/{job}")["state"] == "succeeded"
    metrics = service.anonymous.get(f"/v1/jobs/{job}/result").raise_for_status().json()["metrics"]
    query = {"metric": ["nDCG@10", "Q"]}
    official = service.anonymous.get("/v1/collections/demo/scores", params=query).raise_for_status().json()
    truth = {run["name"]: run["mean"] for run in official["runs"]}
    found = {each["metric"]: each for each in metrics}
    table = rows("judgments.md", "means")
    assert len(table) == 4
    for which, *cells in table:
        metric = found[official["asked"][which.split(", ")[0]]]
        (own,) = [run for run in metric["runs"] if run["run"] == which.split(", ")[1]]
        means = [f"{own[way]['mean']:.3f} ({{:.3f}} to {{:.3f}})".format(*own[way]["interval"]) for way in WAYS]
        assert cells == [*means, f"{own['worth']:.0f}", f"{truth[own['run']][metric['metric']]:.3f}"]
    held = {
        way: sum(
            low <= truth[run["run"]][q["metric"]] <= high for run in q["runs"] for low, high in [run[way]["interval"]]
        )
        for q in metrics[1:]
        for way in WAYS
    }
    assert (held["cheap"], held["corrected"]) == (7, 45)
    assert [f"{metric['weight']:.2f}" for metric in metrics] == ["0.63", "0.68"]
    assert metrics[0]["pairs_told_apart"] == 375
    assert f"{metrics[0]['difference_correlation']:.3f}" == "0.981"


WAYS = ("cheap", "trusted", "corrected")


def at(found, path):
    """What a result has at a path such as `labels.kappa`, as the page writes it."""
    for name in path.strip("`").split("."):
        found = found[name]
    return found


@pytest.fixture
def rounded(service, tmp_path):
    """The folder of the page about ties: judgments and a run of the demo, and the run with rounded scores."""
    demo, text = "/v1/collections/demo-small", {"Accept": "text/plain"}
    for name, address in (("qrels", "qrels/1"), ("puffin-1", "runs/puffin-1")):
        answer = service.anonymous.get(f"{demo}/{address}", headers=text).raise_for_status()
        (tmp_path / f"{name}.txt").write_bytes(answer.content)
    (command,) = re.findall(r"^awk .*$", DOCS["comparing-runs.md"], re.MULTILINE)
    assert shell(command, tmp_path).returncode == 0
    return tmp_path


@pytest.fixture
def printed(monkeypatch, capfd):
    """Runs a command of a page in this process, in a folder: `| head -5` and `> file` are all it knows of a shell."""

    def run(line, folder, **environment):
        monkeypatch.chdir(folder)
        for name, value in ({"HOME": str(folder)} | environment).items():
            monkeypatch.setenv(name, value)
        command, _, lines = line.partition(" > ")[0].partition(" | head -")
        words = [each for word in shlex.split(command)[1:] for each in sorted(glob(word)) or [word]]
        capfd.readouterr()
        code, (said, complaint) = main(words), capfd.readouterr()
        assert code == 0, complaint
        return "".join(said.splitlines(keepends=True)[: int(lines) if lines else None])

    return run


def check_examples(printed, page, names, folder, **environment):
    for name in names:
        (command,) = re.findall(rf"<!-- example: {name} -->\n```sh\n(.*?)```", DOCS[page], re.DOTALL)
        (shown,) = re.findall(rf"<!-- prints: {name} -->\n```text\n(.*?)```", DOCS[page], re.DOTALL)
        assert printed(command, folder, **environment) == shown, name


def asking(service):
    return {"GAINBOARD_SERVER": service.url, "GAINBOARD_TOKEN": ADMIN}


def test_the_scores_of_tied_documents_are_those_of_the_page(rounded, printed):
    check_examples(printed, "comparing-runs.md", ["range", "expected"], rounded)


def test_the_scores_of_diverse_rankings_are_those_of_the_page(tmp_path, printed):
    for file, content in re.findall(r"<!-- file: (\S+) -->\n```text\n(.*?)```", DOCS["diversity.md"], re.DOTALL):
        (tmp_path / file).write_text(content, encoding="utf-8")
    check_examples(printed, "diversity.md", ["equal", "probable"], tmp_path)


def test_the_commands_about_uploaded_scores_print_what_the_page_says(service, tmp_path, printed):
    page = "scores-from-elsewhere.md"
    (content,) = re.findall(r"<!-- file: clicks.csv -->\n```csv\n(.*?)```", DOCS[page], re.DOTALL)
    (tmp_path / "clicks.csv").write_text(content, encoding="utf-8")
    refused = shell("gainboard matrix put clicks clicks.csv -c demo-small", tmp_path, **asking(service))
    assert (refused.returncode, refused.stderr.split()[1]) == (1, "missing-score:")
    check_examples(printed, page, ["put", "board", "job"], tmp_path, **asking(service))


def test_the_commands_about_groups_print_what_the_page_says(service, tmp_path, printed):
    (content,) = re.findall(r"<!-- file: groups.csv -->\n```csv\n(.*?)```", DOCS["topic-groups.md"], re.DOTALL)
    (tmp_path / "groups.csv").write_text(content, encoding="utf-8")
    stored = service.organiser.put("/v1/collections/demo-small/topic-groups", content=content)
    assert stored.status_code == 200, stored.text
    check_examples(printed, "topic-groups.md", ["replace", "columns", "hard"], tmp_path, **asking(service))


def test_the_pools_of_the_page_are_those_of_the_demo(service, tmp_path, printed):
    """Also: files of the stored runs have the bytes of the pool of these runs."""
    check_examples(printed, "judgments.md", ["costs", "make"], tmp_path, **asking(service))
    (tmp_path / "runs").mkdir()
    demo = "/v1/collections/demo-small/runs"
    for run in service.anonymous.get(demo).raise_for_status().json()["items"]:
        text = service.anonymous.get(f"{demo}/{run['name']}", headers={"Accept": "text/plain"}).text
        (tmp_path / "runs" / f"{run['name']}.txt").write_text(text)
    (command,) = re.findall(r"<!-- example: files -->\n```sh\n(.*?)\n```", DOCS["judgments.md"], re.DOTALL)
    stored = command.replace("--runs runs/*.txt", "-c demo-small")
    assert printed(command, tmp_path, **asking(service)) == printed(stored, tmp_path, **asking(service))


def test_the_commands_of_a_page_work_on_files(prepared, tmp_path, printed):  # noqa: F811
    (script,) = re.findall(r"<!-- example: files -->\n```sh\n(.*?)```", DOCS["comparing-runs.md"], re.DOTALL)
    shutil.copytree(prepared, tmp_path / "own")
    for command in script.splitlines():
        printed(command, tmp_path / "own")
