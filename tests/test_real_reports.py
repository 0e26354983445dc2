"""Every report over HTTP, on the demo's runs and on 37 real ones: each number is one that its jobs answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest

from gainboard import demo
from gainboard.evaluation.principals import Sender, authenticate
from gainboard.main import create_app, open_workspace
from gainboard.work.report_kinds import every_report_kind
from tests import real
from tests.conftest import ADMIN, Service, new_settings, running, serving
from tests.exhibits.compiling import compiles_text
from tests.waiting import over

pytestmark = pytest.mark.outer

KINDS = [kind.name for kind in every_report_kind() if kind.name != "web-track-diversity"]
"""Reports on judgments without intents. tests/reports/test_web_track_diversity.py is about the other one."""


@pytest.fixture(scope="module", params=["demo", "dl19"])
def campaign(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """A server with the collection of this name."""
    settings = new_settings(tmp_path_factory.mktemp("data"))
    if request.param == "demo":
        workspace, _ = open_workspace(settings)
        list(demo.load(workspace, authenticate(workspace, Sender.of(ADMIN))))
        with running(create_app(workspace, settings)) as service:
            yield service, "demo"
        return
    real.folder()
    with serving(settings) as service:
        real.load(service, "dl19", order_by="score32")
        yield service, "dl19"


@pytest.fixture(params=KINDS)
def report(request: pytest.FixtureRequest, campaign: tuple[Service, str]) -> tuple[httpx.Client, Any]:
    """A client, and a report that has succeeded."""
    service, name = campaign
    sent = {"name": request.param, "collections": [name]}
    asked = service.organiser.post("/v1/reports", json=sent)
    found = over(service.organiser, asked.headers["location"], 240)
    assert found["state"] == "succeeded", found["error"]
    return service.organiser, found


def numbers(node: Any) -> Iterator[float]:
    """Every number in JSON, at any depth."""
    if isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from numbers(each)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield float(node)


def test_every_number_of_a_table_is_one_that_a_job_answers(report: tuple[httpx.Client, Any]) -> None:
    client, found = report
    result = client.get(found["result_url"]).json()
    answered = {number for job in found["jobs"] for number in numbers(client.get(f"{job['url']}/result").json())}
    facts = set(numbers(result["collections"]))
    assert result["tables"]
    for table in result["tables"]:
        if "systems" in table["name"]:
            assert [row[0] for row in table["rows"]] == list(range(1, len(table["rows"]) + 1))
            continue
        cells = [cell["count"] if isinstance(cell, dict) else cell for row in table["rows"] for cell in row]
        strange = {cell for cell in cells if isinstance(cell, int | float)} - answered - facts
        assert strange == set(), table["name"]


def test_every_figure_is_drawn_with_titles_on_its_axes(report: tuple[httpx.Client, Any]) -> None:
    pytest.importorskip("matplotlib")
    client, found = report
    result = client.get(found["result_url"]).json()
    assert result["figures"]
    for shown, figure in zip(found["figures"], result["figures"], strict=True):
        drawn = ElementTree.fromstring(client.get(shown["svg"]).text)
        assert drawn.tag.endswith("svg")
        for panel in figure["panels"]:
            axes = [panel["scale"]] if "values" in panel else [panel["x"], panel["y"]]
            assert all(axis["title"] for axis in axes)
            assert all(math.isfinite(number) for number in numbers(panel))


def test_the_tables_compile(report: tuple[httpx.Client, Any]) -> None:
    client, found = report
    compiles_text(client.get(found["result_url"], params={"format": "latex"}).text)


def test_nothing_of_a_graded_campaign_is_left_out_but_what_takes_two_versions(report: tuple[httpx.Client, Any]) -> None:
    client, found = report
    left_out = client.get(found["result_url"]).json()["left_out"]
    assert all("version" in each["why"] for each in left_out), left_out
