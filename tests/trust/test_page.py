"""docs/campaigns.md says what is so."""

from __future__ import annotations

import json
import math
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from gainboard.api.models.collections import Policy, Quotas
from gainboard.evaluation.policy import CollectionPolicy
from gainboard.store.access_records import MOST_PRESETS
from tests.conftest import Service
from tests.trust.attacks import ATTACKS

PAGE = (Path(__file__).parents[2] / "docs" / "campaigns.md").read_text(encoding="utf-8")


def test_the_campaign_of_the_page_can_be_made(shared: Service) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    answer = shared.organiser.post("/v1/collections", json=json.loads(example))
    assert answer.status_code == 201, answer.text
    assert answer.json()["policy"]["quotas"]["total"] == 20


@pytest.mark.parametrize("name", ["scores", "parameters", "decimals", "coverage", "answers"])
def test_the_defaults_of_the_page_are_the_policys(name: str) -> None:
    (shown,) = re.findall(rf"^\| `{name}` \| (.*?) \|", PAGE, re.MULTILINE)
    assert shown.strip("`") == str(asdict(CollectionPolicy())[name])


def test_the_page_has_every_field_of_the_policy() -> None:
    table = PAGE.split("\n## The policy\n")[1].split("\n## ")[0]
    times = {"phase", "opens_at", "closes_at", "releases_at"}
    assert {*re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)} == Policy.model_fields.keys() - times
    assert {*asdict(CollectionPolicy())} == Policy.model_fields.keys() - times - {"quotas"} | Quotas.model_fields.keys()
    assert [name for name in (*times, *Quotas.model_fields) if name not in PAGE] == []


def test_the_page_has_every_attack_and_the_bounds(shared: Service) -> None:
    assert len(re.findall(r"^\| .* \| [0-9.]+ % \|", PAGE, re.MULTILINE)) == len(ATTACKS)
    assert f"at most {MOST_PRESETS} expressions" in PAGE
    policy = CollectionPolicy()
    assert f"{policy.answers * math.log2(10**policy.decimals + 1):,.0f} bits" in PAGE
