"""Every report over HTTP, on the small demo's runs and on 37 real ones: each number is one that its jobs answer."""

import math
from xml.etree import ElementTree

import pytest

from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.analyses.result_models import ReportResult
from tests import real
from tests.exhibits.compiling import compiles_text
from tests.reports.laboratory import numbers
from tests.waiting import over
from tests.world.demos import serving_demo
from tests.world.groves import check_form
from tests.world.servers import new_settings, serving

pytestmark = [pytest.mark.outer, pytest.mark.proof]

KINDS = [kind.name for kind in every_report_kind() if kind.name != "web-track-diversity"]
"""Reports on judgments without intents. tests/reports/test_web_track_diversity.py is about the other one."""

FEW = {
    "controlling-late-arrival-penalty": {"resamples": 100},
    "reliability-of-graded-metrics": {"trials": 20, "seeds": 2},
}
"""Parameters on the demo; real runs have the defaults."""


@pytest.fixture(scope="module", params=["demo-small", "dl19"])
def campaign(request, tmp_path_factory):
    if request.param == "demo-small":
        with serving_demo(tmp_path_factory) as service:
            yield service, request.param
        return
    real.folder()
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        real.load(service, "dl19", order_by="score32")
        yield service, request.param


def report(campaign, kind):
    service, name = campaign
    sent = {"name": kind, "collections": [name], "params": {} if name == "dl19" else FEW.get(kind, {})}
    asked = service.organiser.post("/v1/reports", json=sent)
    found = over(service.organiser, asked.headers["location"], 240)
    assert found["state"] == "succeeded", found["error"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_one_that_a_job_answers_and_all_is_drawn(campaign, kind):
    client, found = campaign[0].organiser, report(campaign, kind)
    answer = client.get(found["result_url"])
    check_form(ReportResult, answer.content)
    result = answer.json()
    answered = set()
    for job in found["jobs"]:
        answer = client.get(f"{job['url']}/result")
        check_form(find_kind(job["kind"]).result_model, answer.content)
        answered.update(numbers(answer.json()))
    facts = set(numbers(result["collections"]))
    assert result["tables"]
    for table in result["tables"]:
        if "systems" in table["name"]:
            assert [row[0] for row in table["rows"]] == list(range(1, len(table["rows"]) + 1))
            continue
        cells = [cell["count"] if isinstance(cell, dict) else cell for row in table["rows"] for cell in row]
        strange = {cell for cell in cells if isinstance(cell, int | float)} - answered - facts
        assert strange == set(), table["name"]
    # Nothing of a graded campaign is left out but what takes two versions.
    assert all("version" in each["why"] for each in result["left_out"]), result["left_out"]
    check_figures(client, found["figures"], result["figures"])


def check_figures(client, shown, figures):
    pytest.importorskip("matplotlib")
    assert figures
    for each, figure in zip(shown, figures, strict=True):
        assert ElementTree.fromstring(client.get(each["svg"]).text).tag.endswith("svg")
        for panel in figure["panels"]:
            axes = [panel["scale"]] if "values" in panel else [panel["x"], panel["y"]]
            assert all(axis["title"] for axis in axes)
            assert all(math.isfinite(number) for number in numbers(panel))


def test_the_tables_compile(campaign):
    addresses = [report(campaign, kind)["result_url"] for kind in KINDS]
    texts = [campaign[0].organiser.get(address, params={"format": "latex"}).text for address in addresses]
    assert all(texts)
    compiles_text("\n\\clearpage\n".join(texts))
