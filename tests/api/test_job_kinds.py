"""Every kind of the catalogue, from its description to its figures: a new one is tested unasked."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from gainboard.analyses.job_kinds import every_kind, find_kind
from tests.world.groves import few_trusted
from tests.world.laboratories import Laboratory, qrels_text, request_of, work


@pytest.fixture(scope="module")
def lab(still):
    """A campaign with all that the examples name."""
    lab = Laboratory(still)
    (judgments,) = find_kind("judge-agreement").example()["params"]["sets"]
    assert lab.put_qrels(qrels_text(1), judgments=judgments).status_code == 201
    corrected = find_kind("corrected-means").example()["params"]
    assert lab.put_qrels(qrels_text(1), judgments=corrected["judgments"]).status_code == 201
    some = "".join(line for line in qrels_text(2).splitlines(keepends=True) if line[0] in "1357")
    assert lab.put_qrels(some, judgments=corrected["trusted"]).status_code == 201
    return lab


def test_the_kinds_are_described(still):
    described = still.anonymous.get("/v1/job-kinds").json()["items"]
    assert [each["name"] for each in described] == [kind.name for kind in every_kind()]
    for each in described:
        assert each["definition"]
        for name, parameter in each["params"]["properties"].items():
            assert {"default", "examples"} & parameter.keys(), f"{each['name']}: {name}"
        assert each["result"]["properties"]["kind"]["const"] == each["name"]


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.name)
def test_its_result_tables_and_figures_are_there_and_its_request_is_settled(lab, kind, monkeypatch):
    few_trusted(monkeypatch)
    asked = lab.organiser.post(f"{lab.path}/jobs", json=request_of(kind))
    workspace = lab.service.application.state.workspace
    assert work(workspace) > 0
    job = lab.job(asked)
    assert job["state"] == "succeeded", job["error"]
    result = lab.organiser.get(job["result_url"])
    assert result.headers["content-type"] == "application/json"
    assert (result.json()["kind"], result.json()["collection"]) == (kind.name, lab.name)
    assert "NaN" not in result.text
    assert job["tables"]
    for table in job["tables"]:
        _check_table(lab, table)
    for figure in job["figures"][:1]:
        lab.organiser.get(figure["svg"])
        assert work(workspace) == 1
    for figure in job["figures"]:
        answer = lab.organiser.get(figure["svg"])
        assert answer.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert ElementTree.fromstring(answer.content).tag == "{http://www.w3.org/2000/svg}svg"
        assert figure["caption"]
    own = {"judgments": job["judgment_set"]} if kind.name == "corrected-means" else {}
    again = lab.ask(kind.name, **job["params"], **own)
    assert (again.status_code, again.json()["id"]) == (200, job["id"]), json.dumps(job["params"])


def _check_table(lab, table):
    answer = lab.organiser.get(table["csv"])
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    header, *rows = csv.reader(io.StringIO(answer.text))
    assert {len(row) for row in rows} <= {len(header)}
    latex = lab.organiser.get(table["latex"])
    assert latex.headers["content-type"] == "application/x-tex"
    assert f"\\label{{tab:{table['name']}}}" in latex.text
