import sys, json
import pytest
from tests.world.laboratories import Laboratory

M = "run,t1,t2,t3,t4,t5,t6,t7\nintfloat/e5,0.5,0.25,,0.1,0.9,1,0.3\nbm25,0.25,0.25,0.5,0.2,0.1,0.4,0.3\nzzz,0.9,0.95,0.9,0.8,0.9,1,0.9\n"


def test_it(shared):
    c = shared.as_("organiser") if hasattr(shared, "as_") else Laboratory(shared).organiser
    r = c.post("/v1/collections", json={"name": "board-x", "kind": "scores", "policy": {"phase": "released"}})
    print(r.status_code, r.text)
    r = c.post("/v1/collections", json={"name": "board-y", "kind": "scores", "levels": 1})
    print(r.status_code, r.text)
    r = c.post("/v1/collections", json={"name": "board-y"})
    print(r.status_code, r.text)
    P = "/v1/collections/board-x"
    r = c.get(P + "/leaderboard")
    print(r.status_code, r.text)
    r = c.put(P + "/score-matrices/acc?low=0&high=1", content=M)
    print(r.status_code, r.text)
    r = c.put(P + "/score-matrices/acc?low=0&high=1", content=M)
    print(r.status_code, r.text)
    r = c.get(P + "/leaderboard")
    print(r.status_code, json.dumps(r.json(), indent=1))
    for u in (
        "leaderboard?metric=acc",
        "leaderboard?metric=AP",
        "leaderboard?metric=custom:nope",
        "scores?topics=true",
        "compare?run=bm25&run=zzz&metric=acc",
        "runs",
        "qrels",
        "topics",
        "runs/bm25",
        "sweep?metric=acc",
        "score-matrices/acc",
        "audit",
        "compare?run=bm25&run=intfloat-e5",
        "",
    ):
        r = c.get(P + "/" + u if u else P)
        print(u, r.status_code, r.text[:1500])
    r = c.post(P + "/runs?team=x", content="1 Q0 d 1 1 x")
    print(r.status_code, r.text)
    r = c.put(P + "/qrels", content="1 0 d 1")
    print(r.status_code, r.text)
    for k in (
        "bootstrap-sensitivity",
        "stability",
        "swap-rate",
        "test-agreement",
        "rank-intervals",
        "difficulty",
        "topic-set-size",
        "concordance",
        "rank-correlation",
        "judgments",
        "pool",
    ):
        r = c.post(
            P + "/jobs", json={"kind": k, "params": {"metrics": ["acc"]} if k not in ("judgments", "pool") else {}}
        )
        print(k, r.status_code, r.text[:600])
