"""The worked examples of pages about the demo are what the demo answers."""

import json
import re
import shlex
import shutil
from glob import glob
from urllib.parse import parse_qs

import pytest

from gainboard.cli import main
from tests.cli.conftest import prepared  # noqa: F401 (a fixture)
from tests.cli.shells import shell
from tests.test_demo import loaded, service  # noqa: F401 (fixtures)
from tests.waiting import over
from tests.world.pages import DOCS, block, rows
from tests.world.servers import ADMIN

pytestmark = pytest.mark.outer


def answer_to(page, name, service):  # noqa: F811
    found = re.search(rf"<!-- example: {name} -->\n```http\nGET (\S+)\n```", DOCS[page])
    assert found is not None
    path, _, query = found[1].partition("?")
    return service.anonymous.get(path, params=parse_qs(query)).raise_for_status().json()


def test_the_runs_beside_a_baseline_are_those_of_the_page(service):  # noqa: F811
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


def test_the_agreement_of_two_assessors_is_that_of_the_page(service):  # noqa: F811
    sent = block(DOCS["judges.md"], "example: agreement")
    path = "/v1/collections/demo-small/jobs"
    job = service.organiser.post(path, json=json.loads(sent)).raise_for_status().json()["id"]
    assert over(service.organiser, f"/v1/jobs/{job}")["state"] == "succeeded"
    (found,) = service.anonymous.get(f"/v1/jobs/{job}/result").raise_for_status().json()["sets"]
    for name, value, interval in rows("judges.md", "labels"):
        each = at(found, name)
        low, high = each["interval"]
        assert (value, interval) == (f"{each['value']:.3f}", f"{low:.3f} to {high:.3f}"), name
    for name, value in rows("judges.md", "rankings"):
        each = at(found["metrics"][0], name)
        shown = each["value"] if isinstance(each, dict) else each
        assert value == (f"{shown:.3f}" if isinstance(shown, float) else str(shown)), name
    assert found["only_reference"] == 430
    assert found["metrics"][0]["largest_rise"] is None


@pytest.mark.proof  # a claim of a page, over the whole demo
def test_people_correct_the_model_as_the_page_says(
    service,  # noqa: F811
    tmp_path,
    printed,
):
    check_examples(printed, "judges.md", ["model", "corrected", "design"], tmp_path, **asking(service))
    sent = block(DOCS["judges.md"], "example: means")
    job = service.organiser.post("/v1/collections/demo/jobs", json=json.loads(sent)).raise_for_status().json()["id"]
    assert over(service.organiser, f"/v1/jobs/{job}")["state"] == "succeeded"
    metrics = service.anonymous.get(f"/v1/jobs/{job}/result").raise_for_status().json()["metrics"]
    query = {"metric": ["nDCG@10", "Q"]}
    official = service.anonymous.get("/v1/collections/demo/scores", params=query).raise_for_status().json()
    truth = {run["name"]: run["mean"] for run in official["runs"]}
    found = {each["metric"]: each for each in metrics}
    table = rows("judges.md", "means")
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
def rounded(service, tmp_path):  # noqa: F811
    """The folder of the page about ties: judgments and a run of the demo, and the run with rounded scores."""
    demo, text = "/v1/collections/demo-small", {"Accept": "text/plain"}
    for name, address in (("qrels", "qrels/1"), ("puffin-1", "runs/puffin-1")):
        answer = service.anonymous.get(f"{demo}/{address}", headers=text).raise_for_status()
        (tmp_path / f"{name}.txt").write_bytes(answer.content)
    (command,) = re.findall(r"^awk .*$", DOCS["ties.md"], re.MULTILINE)
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
        command = block(DOCS[page], f"example: {name}")
        shown = block(DOCS[page], f"prints: {name}")
        assert printed(command, folder, **environment) == shown, name


def asking(service):  # noqa: F811
    return {"GAINBOARD_SERVER": service.url, "GAINBOARD_TOKEN": ADMIN}


def test_the_scores_of_tied_documents_are_those_of_the_page(rounded, printed):
    check_examples(printed, "ties.md", ["range", "expected"], rounded)


def test_the_scores_of_diverse_rankings_are_those_of_the_page(tmp_path, printed):
    for file, content in re.findall(r"<!-- file: (\S+) -->\n```text\n(.*?)```", DOCS["diversity.md"], re.DOTALL):
        (tmp_path / file).write_text(content, encoding="utf-8")
    check_examples(printed, "diversity.md", ["equal", "probable"], tmp_path)


def test_the_commands_about_uploaded_scores_print_what_the_page_says(
    service,  # noqa: F811
    tmp_path,
    printed,
):
    page = "scores-from-elsewhere.md"
    content = block(DOCS[page], "file: clicks.csv")
    (tmp_path / "clicks.csv").write_text(content, encoding="utf-8")
    refused = shell("gainboard matrix put clicks clicks.csv -c demo-small", tmp_path, **asking(service))
    assert (refused.returncode, refused.stderr.split()[1]) == (1, "missing-score:")
    check_examples(printed, page, ["put", "board", "job"], tmp_path, **asking(service))


def test_the_commands_about_groups_print_what_the_page_says(
    service,  # noqa: F811
    tmp_path,
    printed,
):
    content = block(DOCS["topic-groups.md"], "file: groups.csv")
    (tmp_path / "groups.csv").write_text(content, encoding="utf-8")
    stored = service.organiser.put("/v1/collections/demo-small/topic-groups", content=content)
    assert stored.status_code == 200, stored.text
    check_examples(printed, "topic-groups.md", ["replace", "columns", "hard"], tmp_path, **asking(service))


def test_the_pools_of_the_page_are_those_of_the_demo(
    service,  # noqa: F811
    tmp_path,
    printed,
):
    """Also: files of the stored runs have the bytes of the pool of these runs."""
    check_examples(printed, "pools.md", ["costs", "make"], tmp_path, **asking(service))
    (tmp_path / "runs").mkdir()
    demo = "/v1/collections/demo-small/runs"
    for run in service.anonymous.get(demo).raise_for_status().json()["items"]:
        text = service.anonymous.get(f"{demo}/{run['name']}", headers={"Accept": "text/plain"}).text
        (tmp_path / "runs" / f"{run['name']}.txt").write_text(text)
    command = block(DOCS["pools.md"], "example: files")
    stored = command.replace("--runs runs/*.txt", "-c demo-small")
    assert printed(command, tmp_path, **asking(service)) == printed(stored, tmp_path, **asking(service))


def test_the_commands_of_a_page_work_on_files(prepared, tmp_path, printed):  # noqa: F811
    script = block(DOCS["comparing-runs.md"], "example: files")
    shutil.copytree(prepared, tmp_path / "own")
    for command in script.splitlines():
        printed(command, tmp_path / "own")
