"""The two campaigns of the corpus: what they hold, and the requests that make them."""

import json
import re

from gainboard.evaluation.access.organisers import ensure_organiser
from tests.world.laboratories import qrels_text, rotated
from tests.world.servers import ADMIN

ADDRESS = "http://127.0.0.1:8000"
HIDDEN = "lighthouse"
RELEASED = "harbour"
WATCHED = ("heron", "gull")
"""The teams of the hidden campaign. What they read is counted, so each of their entries has a world of its own."""

QRELS = qrels_text()
RUNS = {
    name: rotated(number).replace(f"run-{number}", name)
    for number, name in enumerate(("pilot-1", "pilot-2", "ferry-1", "tug-1", "tug-2"))
}
HIDDEN_QRELS = "".join(f"{topic} 0 d{number} {(number + topic) % 3}\n" for topic in (1, 2, 3) for number in range(6))
HIDDEN_RUN = "".join(
    f"{topic} Q0 d{number} {number + 1} {6 - number} heron-1\n" for topic in (1, 2, 3) for number in range(6)
)
METADATA = "actor:\n  team: pilot\nmethod:\n  automatic: true\n  score_ties: reverse alphabetical order\n"
WIDE = {topic: {number: int((topic * 3 + number) % 5 < 2) for number in range(6)} for topic in range(1, 29)}
"""Judgments of enough topics for a correction by people, who judge the first twenty."""
MATRIX = "run,1,2,3,4\npilot-1,0.5,1,0.25,0\nferry-1,0.25,0.75,0.5,0.5\ntug-1,1,1,0,0.125\n"


def _wide_qrels(topics, kind):
    """Return judgments of the first topics; a judge is kind to every so many-th document."""
    return "".join(
        f"{topic} 0 d{number} {int(level or (topic + number) % kind == 0)}\n"
        for topic, levels in WIDE.items()
        if topic <= topics
        for number, level in levels.items()
    )


def _wide_run(step):
    return "".join(
        f"{topic} Q0 d{(place * 5 + topic * step) % 6} {place + 1} {6 - place} wide-{step}\n"
        for topic in WIDE
        for place in range(3 + step)
    )


FILES = {
    "qrels": QRELS,
    "qrels-changed": qrels_text(2),
    "qrels-faulty": "1 0 d0 2\n1 0 d1\n1 0 d0 1\n1 0 d2 9\n",
    "qrels-hidden": HIDDEN_QRELS,
    "qrels-wide": _wide_qrels(28, 7),
    "qrels-people": _wide_qrels(20, 99),
    "run-wide-1": _wide_run(1),
    "run-wide-2": _wide_run(2),
    "run-new": RUNS["pilot-2"].replace("pilot-2", "pilot-3"),
    "run-faulty": "1 Q0 d0 1 0.5 tag\n1 Q0 d1 2 many tag\n2 Q0 d0 1 0.5\n2 Q0 d0 2 0.5 tag\n",
    "run-heron-1": HIDDEN_RUN,
    "run-heron-2": HIDDEN_RUN.replace("heron-1", "heron-2").replace(" d1 ", " d9 "),
    "run-heron-3": "1 Q0 d0 1 6 heron-3\n3 Q0 d0 1 6 heron-3\n",
    "qrels-none": "1 0 d0 0\n3 0 d0 0\n",
    "run-gull-1": HIDDEN_RUN.replace("heron-1", "gull-1").replace(" d0 ", " d8 "),
    "metadata": METADATA,
    "matrix": MATRIX,
    "models": "system,t1,t2,t3,t4,t5,t6,t7\nlab/large,1,1,1,0,1,1,1\nlab/small,0,1,0,0,,0,1\nold,0,0,0,0,1,0,0\n",
    "matrix-faulty": "run,1,2\npilot-1,0.5\nnobody,0.5,x\n",
    **{f"run-{name}": text for name, text in RUNS.items()},
}
"""The files that entries send: the body `@name`."""

JOBS = {
    "stability": ("stability", {"metrics": ["AP", "Q"], "trials": 20}),
    "swap": ("swap-rate", {"metrics": ["AP"], "trials": 20}),
    "sensitivity": ("bootstrap-sensitivity", {"metrics": ["AP", "nDCG@3"], "resamples": 40}),
    "correlation": ("rank-correlation", {"metrics": ["AP", "Q", "nDCG@3"]}),
    "concordance": ("concordance", {"metrics": ["AP", "Q"]}),
    "difficulty": ("difficulty", {"metrics": ["AP"]}),
    "robustness": ("gain-robustness", {"metrics": ["Q"], "trials": 20}),
    "vectors": ("gain-vectors", {}),
    "intervals": ("rank-intervals", {"metrics": ["AP"], "resamples": 40}),
    "judgments": ("judgments", {}),
    "agreement": ("judge-agreement", {"metrics": ["AP"], "sets": ["model"], "resamples": 40}),
    "left-out": ("leave-one-team-out", {"metrics": ["AP"]}),
    "tests": ("test-agreement", {"metrics": ["AP"], "trials": 20}),
    "topics": ("topic-set-size", {"metrics": ["AP"], "trials": 20}),
    "pool": ("pool", {"depth": 3}),
}
REPORTS = {"appendix": "q-measure-appendix", "graded": "binary-and-graded-relevance"}


FORM = [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", ADDRESS)]
LEVELS = ["partly", "mostly", "fully"]
OFFICIAL = {"metrics": ["AP", "Q", "nDCG@3"]}
POLICY = {
    **{"scores": "own-mean", "presets": ["AP", "nDCG@3"], "decimals": 3, "answers": 40},
    **{"opens_at": "2026-03-01T00:00:00Z", "closes_at": "2026-03-09T00:00:00Z"},
    "quotas": {"per_day": 5, "total": 6},
}
FROZEN = {"metrics": ["AP", "Q"], "title": "Harbour 2026", "creators": ["R. Mokoena"], "license": "CC-BY-4.0"}


class Builder:
    """Makes both campaigns over HTTP, as people do: `organiser` organises the instance, and nobody is anonymous."""

    def __init__(self, world):
        self._world = world
        world.people |= {"organiser": {"token": ADMIN}, "nobody": {}}

    def build(self):
        ensure_organiser(self._world.workspace, ADMIN)
        self._build_released()
        self._build_hidden()
        self._work()
        self._ask("POST", f"/v1/collections/{RELEASED}/releases", FROZEN)
        for who in ("organiser", "heron"):
            self._open_browser(who)

    def archive(self):
        """Make a small released collection in an instance without any, and return its release as a tar archive."""
        ensure_organiser(self._world.workspace, ADMIN)
        own = "/v1/collections/buoy"
        sent = {"name": "buoy", "title": "Buoys", "levels": 2, "metrics": ["AP"], "policy": {"phase": "released"}}
        self._ask("POST", "/v1/collections", sent)
        self._ask("PUT", f"{own}/qrels", "@qrels-hidden")
        self._ask("POST", f"{own}/runs?team=heron", "@run-heron-1")
        self._ask("POST", f"{own}/releases", {"creators": ["R. Mokoena"]})
        return self._ask("GET", f"{own}/releases/1/archive").content

    def use_all_tokens(self):
        """Use each token and session once: uses are noted once in a while, and not while entries are asked for."""
        for who, person in self._world.people.items():
            self._ask("GET", "/v1/collections", who=who)
            if "cookie" in person:
                self._ask("GET", "/", who=f"{who}'s browser")

    def _ask(self, method, address, body="", who="organiser", headers=()):
        body = json.dumps(body) if isinstance(body, (dict, list)) else body
        answer = self._world.ask(who, method, address, headers, body)
        assert answer.status_code < 400, (method, address, answer.text)
        return answer

    def _build_released(self):
        own = f"/v1/collections/{RELEASED}"
        levels = ["partly", "mostly", "fully"]
        self._ask(
            "POST", "/v1/collections", {"name": RELEASED, "title": "Ships in harbour", "levels": levels} | OFFICIAL
        )
        self._ask("PUT", f"{own}/qrels", "@qrels")
        for name in RUNS:
            said = "&type=manual&description=With a [link](x) and <b>" if name == "tug-1" else ""
            self._ask("POST", f"{own}/runs?team={name.partition('-')[0]}{said}", f"@run-{name}")
        self._ask("PUT", f"{own}/runs/pilot-1/metadata", "@metadata")
        self._ask("PUT", f"{own}/topic-groups/even", ["2", "4", "6", "8"])
        self._ask("PUT", f"{own}/score-matrices/nuggets?direction=up", "@matrix")
        self._ask("PUT", f"{own}/qrels?judgments=model", "@qrels-changed")
        self._ask("PATCH", f"{own}/judgments/model", {"state": "released"})
        self._ask("PUT", f"{own}/qrels", "@qrels-changed")
        self._ask("PUT", f"{own}/qrels?draft=true", QRELS.replace("d0 0", "d0 3").rstrip("\n"))
        self._ask("PATCH", own, {"policy": {"phase": "released"}, "public": True})
        self._give_token("reader", RELEASED, "reader")

    def _build_hidden(self):
        own = f"/v1/collections/{HIDDEN}"
        sent = {"name": HIDDEN, "title": "Lights at sea", "levels": 2, "topics": ["1", "2", "3"], "policy": POLICY}
        self._ask("POST", "/v1/collections", sent)
        self._ask("PUT", f"{own}/qrels", "@qrels-hidden")
        for team in WATCHED:
            self._give_token(team, HIDDEN, "participant", team)
        self._give_token("chair", HIDDEN, "organiser")
        for team in WATCHED:
            self._ask("POST", f"{own}/runs", f"@run-{team}-1", team)

    def _give_token(self, who, collection, role, team=None):
        sent = {"role": role, "holder": f"The {who}"} | ({"team": team} if team else {})
        made = self._ask("POST", f"/v1/collections/{collection}/tokens", sent).json()
        self._world.people[who] = {"token": made["token"]}
        self._world.names.known[f"token {who}"] = made["id"]

    def _open_browser(self, who):
        person = self._world.people[who]
        answer = self._ask("POST", "/signin", f"token={person['token']}", "nobody", FORM)
        person["cookie"] = answer.headers["set-cookie"].partition(";")[0]
        page = self._ask("GET", "/", who="nobody", headers=[("Cookie", person["cookie"]), ("Accept", "text/html")])
        person["csrf"] = re.search(r'name="csrf" value="([^"]+)"', page.text)[1]

    def _work(self):
        """Have all jobs and reports worked, one cancelled, and one that waits."""
        known, own = {}, f"/v1/collections/{RELEASED}/jobs"
        for name, (kind, params) in JOBS.items():
            known[f"job {name}"] = self._ask("POST", own, {"kind": kind, "params": params}).json()["id"]
        for name, kind in REPORTS.items():
            sent = {"name": kind, "collections": [RELEASED], "params": {}}
            known[f"report {name}"] = self._ask("POST", "/v1/reports", sent).json()["id"]
        self._world.work()
        for name, trials in {"cancelled": 30, "queued": 40}.items():
            sent = {"kind": "stability", "params": {"metrics": ["AP"], "trials": trials}}
            known[f"job {name}"] = self._ask("POST", own, sent).json()["id"]
        self._ask("DELETE", f"/v1/jobs/{known['job cancelled']}")
        self._world.names.known = known | {
            name: value
            for name, value in self._world.names.known.items()
            if name.startswith("token ") and "new-" not in name
        }
