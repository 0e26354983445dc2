"""Sends many runs at once against a quota, again and again, and counts what is stored.

    python -m tests.proofs.quotas --rounds 20

on SQLite, and on PostgreSQL where GAINBOARD_TEST_POSTGRES names one. Exactly the quota must be stored and answered
201 each time, all else refused as beyond it; what is wrong is said, and the exit code is 1.
"""

import os
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from gainboard.settings import Settings
from tests.api.test_races import at_once
from tests.proofs import asked
from tests.world.campaigns import Campaign, run_text
from tests.world.servers import ADMIN, serving

UPLOADS, QUOTA = 100, 5


def one_round(service, quota="total", uploads=UPLOADS):
    campaign = Campaign(service, policy={"quotas": {quota: QUOTA}})
    own = campaign.client("participant", "own")
    texts = [run_text({"1": [f"d{number}"]}, f"r{number}") for number in range(uploads)]
    answers = at_once([partial(campaign.submit, text, own) for text in texts])
    statuses = dict(Counter(answer.status_code for answer in answers))
    stored = len(campaign.get("/runs", limit=500).json()["items"])
    left = own.get("/v1/me/limits").json()["submissions_left"]
    expected = {201: QUOTA, 403: uploads - QUOTA}
    return [] if (statuses, stored, left) == (expected, QUOTA, 0) else [f"{statuses}, {stored} stored, {left} left"]


def _services():
    with TemporaryDirectory() as folder, serving(Settings.read({}, data=Path(folder), admin_token=ADMIN)) as service:
        yield "sqlite", service
    if url := os.environ.get("GAINBOARD_TEST_POSTGRES"):
        with serving(Settings.read({}, database_url=url, admin_token=ADMIN)) as service:
            yield "postgresql", service


def main():
    rounds, wrong = asked(__doc__, rounds=20).rounds, 0
    for name, service in _services():
        began = time.monotonic()
        found = [each for number in range(rounds) for each in one_round(service, ("total", "per_day")[number % 2])]
        wrong += len(found)
        print(f"{name}: {rounds} rounds of {UPLOADS} uploads, {len(found)} wrong, {time.monotonic() - began:.0f} s")
        print(*found, sep="\n", end="\n" if found else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
