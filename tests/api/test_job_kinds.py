"""Every kind of the catalogue, from its description to its figures: a new one is tested unasked."""

from __future__ import annotations

import csv
import io
import json
from typing import Any
from xml.etree import ElementTree

import pytest

from gainboard.work.job_kinds import JobKind, every_kind, find_kind
from tests.api.laboratory import Laboratory, qrels_text, request_of
from tests.conftest import Service

pytestmark = pytest.mark.outer

each_kind = pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def lab(shared: Service) -> Laboratory:
    """A campaign with all that the examples name."""
    lab = Laboratory(shared)
    (judgments,) = find_kind("judge-agreement").example()["params"]["sets"]
    assert lab.put_qrels(qrels_text(1), judgments=judgments).status_code == 201
    return lab


def _finished(lab: Laboratory, kind: JobKind[Any]) -> Any:
    return lab.finished(lab.organiser.post(f"{lab.path}/jobs", json=request_of(kind)))


def test_the_kinds_are_described(shared: Service) -> None:
    described = shared.anonymous.get("/v1/job-kinds").json()["items"]
    assert [each["name"] for each in described] == [kind.name for kind in every_kind()]
    for each in described:
        assert each["definition"]
        for name, parameter in each["params"]["properties"].items():
            assert {"default", "examples"} & parameter.keys(), f"{each['name']}: {name}"


@each_kind
def test_the_description_of_the_interface_has_the_parameters_and_an_example(
    shared: Service, kind: JobKind[Any]
) -> None:
    description = shared.anonymous.get("/openapi.json").json()
    body = description["paths"]["/v1/collections/{collection}/jobs"]["post"]["requestBody"]["content"]
    media = body["application/json"]
    asked = media["schema"]["discriminator"]["mapping"][kind.name].rpartition("/")[2]
    params = description["components"]["schemas"][asked]["properties"]["params"]
    described = description["components"]["schemas"][params["$ref"].rpartition("/")[2]]["properties"]
    assert described.keys() == kind.params.model_fields.keys()
    assert media["examples"][kind.name]["value"]["kind"] == kind.name


@each_kind
def test_its_result_says_what_it_is_about(lab: Laboratory, kind: JobKind[Any]) -> None:
    result = lab.organiser.get(_finished(lab, kind)["result_url"])
    assert result.headers["content-type"] == "application/json"
    assert (result.json()["kind"], result.json()["collection"]) == (kind.name, lab.name)
    assert "NaN" not in result.text


@each_kind
def test_its_tables_are_csv_and_latex(lab: Laboratory, kind: JobKind[Any]) -> None:
    job = _finished(lab, kind)
    assert job["tables"]
    for table in job["tables"]:
        answer = lab.organiser.get(table["csv"])
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        header, *rows = csv.reader(io.StringIO(answer.text))
        assert {len(row) for row in rows} <= {len(header)}
        latex = lab.organiser.get(table["latex"])
        assert latex.headers["content-type"] == "application/x-tex"
        assert f"\\label{{tab:{table['name']}}}" in latex.text


@each_kind
def test_its_figures_are_svg(lab: Laboratory, kind: JobKind[Any]) -> None:
    for figure in _finished(lab, kind)["figures"]:
        answer = lab.organiser.get(figure["svg"])
        assert answer.headers["content-type"] == "image/svg+xml; charset=utf-8"
        assert ElementTree.fromstring(answer.content).tag == "{http://www.w3.org/2000/svg}svg"
        assert figure["caption"]


@each_kind
def test_its_request_is_settled_once_and_for_all(lab: Laboratory, kind: JobKind[Any]) -> None:
    job = _finished(lab, kind)
    again = lab.ask(kind.name, **job["params"])
    assert (again.status_code, again.json()["id"]) == (200, job["id"]), json.dumps(job["params"])
