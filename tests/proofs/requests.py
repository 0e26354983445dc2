"""Requests made from the OpenAPI description, as every role: no answer is a 5xx, and none is undescribed.

`python -m tests.proofs.requests --cases 20000` sends 20,000 requests, in about ten minutes. It prints each kind of
fault once, with a command that repeats the request, and ends with 1 if there was one.
"""

import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance, unsupported_method

from gainboard.evaluation.access import principals
from gainboard.settings import Settings
from tests.api.routes import answer_of
from tests.proofs import asked
from tests.waiting import over
from tests.world.laboratories import Laboratory
from tests.world.servers import ADMIN, Service, description, serving

ROLES = ("anonymous", "reader", "participant", "organiser", "admin")
ORDER = ("GET", "POST", "PUT", "PATCH", "DELETE")
"""What changes little comes first, so that the collection is there for most of the requests."""
LEFT_OUT = [
    # A schema has no grammar of metric expressions, run files or dates that lie in the past: 422 is right for these.
    positive_data_acceptance,
    # It sends requests of its own for each case. tests/api/test_access.py asks for every other method of every path.
    unsupported_method,
]


REFUSALS = ["408", "413", "414"]
"""The statuses of our own that refuse an invalid request, beside those that schemathesis knows."""


@dataclass
class Found:
    """The answers of a session, by status, and each kind of fault with its first example."""

    statuses: Counter[int] = field(default_factory=Counter)
    operations: set[str] = field(default_factory=set)
    faults: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self):
        return sum(self.statuses.values())


@dataclass(frozen=True)
class World:
    """A running service, the tokens of each role, and the names of what is stored."""

    service: Service
    tokens: dict[str, str]
    names: dict[str, str]


@contextmanager
def world(folder):
    """A service over a collection with runs, jobs and tokens. New jobs stay queued, so that they cost nothing."""
    with serving(Settings.read({}, data=folder, admin_token=ADMIN, job_slots=1)) as service:
        lab = Laboratory(service, policy={"scores": "own-mean", "presets": ["AP"]})
        job, report = lab.finished(lab.ask())["id"], lab.report().json()["id"]
        assert over(lab.organiser, f"/v1/reports/{report}")["state"] == "succeeded"
        # A figure is drawn when it is first asked for. The second server would let each such request wait for it.
        assert lab.organiser.get(f"/v1/jobs/{job}/figures/curves.svg").status_code == 200
        assert lab.organiser.put(f"{lab.path}/topic-groups/half", json=["1", "2"]).status_code == 201
        matrix = "run,1,2\nrun-0,0.5,1\nrun-1,0.25,0\n"
        assert lab.organiser.put(f"{lab.path}/score-matrices/nuggets", content=matrix).status_code == 201
        for judge in ("official", "model"):
            assert lab.organiser.put(f"{lab.path}/answers/{judge}", content=answer_of("run-0")).status_code == 201
        token = lab.new_token()["id"]
        tokens = {"anonymous": "", "admin": ADMIN}
        for role in ("reader", "participant", "organiser"):
            tokens[role] = lab.token(role, "team-0" if role == "participant" else None)
    names = {
        "collection": lab.name,
        "version": "1",
        "judgments": "official",
        "run": "run-0",
        "team": "team-0",
        "token": token,
        "group": "half",
        "matrix": "nuggets",
        **{"judge": "official", "other": "model"},
    }
    names |= {"job": job, "report": report, "slug": "not-found", "topic": "1", "table": "curves", "figure": "curves"}
    # All requests come from one address, and many have invalid tokens. The limit on these has tests of its own.
    with (
        patch.object(principals, "MOST_FAILURES", sys.maxsize),
        serving(Settings.read({}, data=folder, admin_token=ADMIN, job_slots=0)) as service,
    ):
        yield World(service, tokens, names)


def send(world, cases, number=0, described=None, *, found=None, progress=False):
    """Send about so many requests, as many for each operation and role, made from the seed `number`.

    They are made from the description of the service, or from another one. There are fewer where an operation has few
    different requests. `found` is continued, if it is given.
    """
    load_all_checks()
    described = described or description()
    schema = schemathesis.openapi.from_dict(described)
    schema.config.update(base_url=world.service.url)
    rejection = schema.config.checks.negative_data_rejection
    rejection.expected_statuses = [*rejection.expected_statuses, *REFUSALS]
    found = found or Found()
    operations = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    assert len(operations) == sum(map(len, described["paths"].values()))
    operations.sort(key=lambda each: (ORDER.index(each.method.upper()), -len(each.path)))
    share, more = divmod(cases, len(operations) * len(ROLES))
    with requests.Session() as client:
        turns = [(operation, role) for operation in operations for role in ROLES]
        for turn, (operation, role) in enumerate(turns):
            if progress and role == ROLES[0]:
                print(f"{found.cases} requests, {len(found.faults)} faults; {operation.label}", file=sys.stderr)
            if examples := share + (turn * more // len(turns) != (turn + 1) * more // len(turns)):
                _ask(world, operation, role, examples, number, found, client)
    return found


def _ask(world, operation, role, examples, number, found, client):
    either = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in GenerationMode))

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=either, is_there=st.booleans())
    def ask(case, is_there):
        path = case.meta.components.get(ParameterLocation.PATH)
        if is_there and path and path.mode.is_positive:  # most names that are made up are those of nothing
            case.path_parameters = {name: world.names[name] for name in case.path_parameters or {}}
        headers = {"Authorization": f"Bearer {world.tokens[role]}"} if world.tokens[role] else {}
        response = case.call(session=client, headers=headers, timeout=60)
        found.statuses[response.status_code] += 1
        found.operations.add(operation.label)
        try:
            case.validate_response(response, excluded_checks=LEFT_OUT, headers=headers)
        except FailureGroup as group:
            for failure in group.exceptions:
                found.faults.setdefault(f"{operation.label}: {failure.title}", f"as {role}: {group}"[:3000])

    ask()


def main():
    given = asked(__doc__, cases=20_000, seed=0)
    began = time.monotonic()
    found, number = Found(), given.seed
    while (missing := given.cases - found.cases) > 0:  # each time over a new collection
        with TemporaryDirectory() as folder, world(Path(folder)) as made:
            send(made, missing, number, found=found, progress=True)
        number += 1
    for kind, example in found.faults.items():
        print(f"== {kind}\n{example}\n")
    statuses = ", ".join(f"{status}: {count}" for status, count in sorted(found.statuses.items()))
    print(f"{found.cases} requests to {len(found.operations)} operations as {len(ROLES)} roles, "
          f"in {time.monotonic() - began:.0f} s; by status: {statuses}; faults: {len(found.faults)}")  # fmt: skip
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
