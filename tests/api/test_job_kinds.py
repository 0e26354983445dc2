"""Every kind of the catalogue, from its description to its figures: a new one is tested unasked."""

import csv
import io
import json
from xml.etree import ElementTree

import pytest

from gainboard.analyses.job_kinds import every_kind, find_kind
from tests.world.groves import few_trusted
from tests.world.laboratories import Laboratory, qrels_text, request_of, rotated, work


@pytest.fixture(scope="module")
def lab(still):
    """A campaign with all that the examples name."""
    lab = Laboratory(still)
    (judgments,) = find_kind("judge-agreement").example()["params"]["sets"]
    corrected = find_kind("corrected-means").example()["params"]
    some = "".join(line for line in qrels_text(2).splitlines(keepends=True) if line[0] in "1357")
    sent = {judgments: qrels_text(1), corrected["judgments"]: qrels_text(1), corrected["trusted"]: some}
    for name, text in sent.items():
        assert lab.put_qrels(text, judgments=name).status_code == 201
    (pair,) = find_kind("reproduction").example()["params"]["pairs"]
    for number, name in enumerate(pair.values(), start=4):
        assert lab.submit(rotated(number), team="again", name=name).status_code == 201
    for number in (8, 9):
        assert lab.submit(rotated(number), team="seeds", system="seeded", replicate=str(number)).status_code == 201
    fact, labels = {"text": "Established in 2004", "importance": "vital"}, ("support", "not_support")
    nuggets = [{"qid": topic, "nuggets": [fact]} for topic in "1357"]
    lab.organiser.put(f"{lab.path}/nuggets", content="\n".join(map(json.dumps, nuggets))).raise_for_status()
    for number, judge in enumerate(("official", "model")):
        said = [fact | {"assignment": labels[place * number % 2]} for place in range(len(nuggets))]
        lines = [of | {"run_id": "run-0", "nuggets": [one]} for of, one in zip(nuggets, said, strict=True)]
        text = "\n".join(map(json.dumps, lines))
        lab.organiser.put(f"{lab.path}/answers/{judge}", content=text).raise_for_status()
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
    job = lab.worked(asked)
    result = lab.organiser.get(job["result_url"])
    assert (result.json()["kind"], result.json()["collection"], "NaN" in result.text) == (kind.name, lab.name, False)
    assert job["tables"]
    for table in job["tables"]:
        header, *rows = csv.reader(io.StringIO(lab.organiser.get(table["csv"]).text))
        assert {len(row) for row in rows} <= {len(header)}
        assert f"\\label{{tab:{table['name']}}}" in lab.organiser.get(table["latex"]).text
    for figure in job["figures"]:
        if lab.organiser.get(figure["svg"]).status_code == 409:  # all are drawn when the first is wanted
            assert work(lab.service.application.state.workspace) == 1
        drawn = ElementTree.fromstring(lab.organiser.get(figure["svg"]).content)
        assert (drawn.tag, bool(figure["caption"])) == ("{http://www.w3.org/2000/svg}svg", True)
    own = {"judgments": job["judgment_set"]} if kind.name == "corrected-means" else {}
    again = lab.ask(kind.name, **job["params"], **own)
    assert (again.status_code, again.json()["id"]) == (200, job["id"]), json.dumps(job["params"])
