"""docs/campaigns.md says what is so."""

import json
import math
import re

from gainboard.evaluation.collection_settings import Policy
from tests.trust.attacks import ATTACKS
from tests.world.pages import DOCS

PAGE = DOCS["campaigns.md"]


def test_the_campaign_of_the_page_can_be_made(shared):
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    answer = shared.organiser.post("/v1/collections", json=json.loads(example))
    assert answer.status_code == 201, answer.text
    assert answer.json()["policy"]["quotas"]["total"] == 20


def test_the_page_has_every_attack_and_the_bounds(shared):
    assert len(re.findall(r"^\| .* \| [0-9.]+ % \|", PAGE, re.MULTILINE)) == len(ATTACKS)
    policy = Policy()
    assert f"{policy.answers * math.log2(10**policy.decimals + 1):,.0f} bits" in PAGE
