"""Every request that changes something, ready to be sent: the routes, and which entry of the audit log each leaves."""

import json
from uuid import uuid4

from tests.api.routes import answer_of
from tests.world.campaigns import run_text
from tests.world.laboratories import LONG, REPORT, SHORT, TOPICS, qrels_text, work

C = "/v1/collections/{collection}"


def _unlike():
    return f"x{uuid4().hex}"


def _qrels_file():
    return f"{qrels_text()}{TOPICS[0]} 0 {_unlike()} 1\n"


def _draft(lab):
    answer = lab.put_qrels(_qrels_file(), draft=True)
    return f"{lab.path}/qrels/{answer.json()['version']}"


def _judgment_set(lab):
    name = _unlike()
    lab.put_qrels(_qrels_file(), judgments=name)
    return f"{lab.path}/judgments/{name}"


def _run(lab):
    name = lab.submit(_run_file()).json()["name"]
    return f"{lab.path}/runs/{name}"


def _run_file():
    return run_text({TOPICS[0]: [_unlike()]}, _unlike())


def _token(lab, path="/tokens"):
    place = lab.path + path if path == "/tokens" else path
    sent = {"role": "reader"} if path == "/tokens" else {}
    return f"{place}/{lab.organiser.post(place, json=sent).json()['id']}"


def _team(lab):
    name = _unlike()
    lab.organiser.post(f"{lab.path}/teams", json={"name": name})
    return f"{lab.path}/teams/{name}"


def _group(lab):
    path = f"{lab.path}/topic-groups/{_unlike()}"
    lab.organiser.put(path, json=["1"])
    return path


def _scores():
    return "run,1,2\nrun-0,0.5,1\nrun-1,0.25,0\n"


def _matrix(lab):
    path = f"{lab.path}/score-matrices/{_unlike()}"
    assert lab.organiser.put(path, content=_scores()).status_code == 201
    return path


def _nuggets():
    return json.dumps({"qid": "1", "nuggets": [{"text": _unlike(), "importance": "vital"}]})


def _judge(lab):
    path = f"{lab.path}/answers/{_unlike()}"
    assert lab.organiser.put(path, content=answer_of("run-0")).status_code == 201
    return path


def _nuggets_draft(lab):
    answer = lab.organiser.put(f"{lab.path}/nuggets", content=_nuggets(), params={"draft": True})
    return f"{lab.path}/nuggets/{answer.json()['version']}"


def _job(lab):
    return str(lab.ask(**LONG, seed=uuid4().int % 2**64).headers["location"])


def _finished(lab):
    job = lab.worked(lab.ask(**SHORT, seed=uuid4().int % 2**64))
    return f"/v1/jobs/{job['id']}"


def _finished_report(lab):
    asked = lab.report(seed=uuid4().int % 2**64)
    work(lab.service.application.state.workspace)
    return str(asked.headers["location"])


def _released(lab):
    path = f"{lab.path}/score-matrices/{_unlike()}"
    assert lab.organiser.put(path, content=_scores()).status_code == 201
    lab.change(policy={"phase": "released"})
    return f"{lab.path}/releases"


def _request(**params):
    return {"json": {"kind": "stability", "params": {**params, "seed": uuid4().int % 2**64}}}


def _report(lab, name=REPORT, **params):
    return {"name": name, "collections": [lab.name], "params": {**params, "seed": uuid4().int % 2**64}}


def _long_report(lab):
    sent = _report(lab, "controlling-late-arrival-penalty", resamples=100_000)
    return str(lab.organiser.post("/v1/reports", json=sent).headers["location"])


def _upload(lab):
    lab.submit(_run_file())  # so that its team is there
    return f"{lab.path}/runs", {"params": {"team": "lemur"}, "content": _run_file()}


CHANGES = {
    "POST /v1/collections": (
        "collection-created",
        lambda lab: ("/v1/collections", {"json": {"name": _unlike(), "levels": 1}}),
    ),
    f"PATCH {C}": ("collection-changed", lambda lab: (lab.path, {"json": {"title": _unlike()}})),
    f"DELETE {C}": ("collection-deleted", lambda lab: (lab.path, {})),
    f"PUT {C}/qrels": ("qrels-published", lambda lab: (f"{lab.path}/qrels", {"content": _qrels_file()})),
    f"POST {C}/qrels/{{version}}/publish": ("qrels-published", lambda lab: (f"{_draft(lab)}/publish", {})),
    f"DELETE {C}/qrels/{{version}}": ("qrels-discarded", lambda lab: (_draft(lab), {})),
    f"PATCH {C}/judgments/{{judgments}}": (
        "judgments-released",
        lambda lab: (_judgment_set(lab), {"json": {"state": "released"}}),
    ),
    f"DELETE {C}/judgments/{{judgments}}": ("judgments-deleted", lambda lab: (_judgment_set(lab), {})),
    f"POST {C}/runs": ("run-uploaded", _upload),
    f"PATCH {C}/runs/{{run}}": ("run-changed", lambda lab: (_run(lab), {"json": {"priority": 3}})),
    f"PUT {C}/runs/{{run}}/metadata": (
        "run-described",
        lambda lab: (f"{_run(lab)}/metadata", {"content": "method: {automatic: true}\n"}),
    ),
    f"DELETE {C}/runs/{{run}}": ("run-withdrawn", lambda lab: (_run(lab), {})),
    f"POST {C}/jobs": ("job-launched", lambda lab: (f"{lab.path}/jobs", _request(**SHORT))),
    "DELETE /v1/jobs/{job}": ("job-cancelled", lambda lab: (_job(lab), {})),
    "POST /v1/jobs/{job}/verify": ("job-launched", lambda lab: (f"{_finished(lab)}/verify", {})),
    "POST /v1/reports/{report}/verify": ("job-launched", lambda lab: (f"{_finished_report(lab)}/verify", {})),
    "POST /v1/reports": ("report-launched", lambda lab: ("/v1/reports", {"json": _report(lab)})),
    "DELETE /v1/reports/{report}": ("report-cancelled", lambda lab: (_long_report(lab), {})),
    f"POST {C}/releases": ("release-frozen", lambda lab: (_released(lab), {"json": {}})),
    f"POST {C}/teams": ("team-created", lambda lab: (f"{lab.path}/teams", {"json": {"name": _unlike()}})),
    f"PUT {C}/topic-groups": (
        "topic-groups-replaced",
        lambda lab: (f"{lab.path}/topic-groups", {"content": f"topic,group\n1,{_unlike()}\n"}),
    ),
    f"PUT {C}/topic-groups/{{group}}": (
        "topic-group-put",
        lambda lab: (f"{lab.path}/topic-groups/{_unlike()}", {"json": ["1", "2"]}),
    ),
    f"DELETE {C}/topic-groups/{{group}}": ("topic-group-deleted", lambda lab: (_group(lab), {})),
    f"PUT {C}/score-matrices/{{matrix}}": (
        "score-matrix-uploaded",
        lambda lab: (f"{lab.path}/score-matrices/{_unlike()}", {"content": _scores()}),
    ),
    f"DELETE {C}/score-matrices/{{matrix}}": ("score-matrix-deleted", lambda lab: (_matrix(lab), {})),
    f"PUT {C}/nuggets": ("nuggets-published", lambda lab: (f"{lab.path}/nuggets", {"content": _nuggets()})),
    f"POST {C}/nuggets/{{version}}/publish": (
        "nuggets-published",
        lambda lab: (f"{_nuggets_draft(lab)}/publish", {}),
    ),
    f"DELETE {C}/nuggets/{{version}}": ("nuggets-discarded", lambda lab: (_nuggets_draft(lab), {})),
    f"PUT {C}/answers/{{judge}}": (
        "answers-judged",
        lambda lab: (f"{lab.path}/answers/{_unlike()}", {"content": answer_of("run-0")}),
    ),
    f"DELETE {C}/answers/{{judge}}": ("answers-deleted", lambda lab: (_judge(lab), {})),
    f"POST {C}/tokens": ("token-created", lambda lab: (f"{lab.path}/tokens", {"json": {"role": "reader"}})),
    f"POST {C}/tokens/{{token}}/rotate": ("token-rotated", lambda lab: (f"{_token(lab)}/rotate", {})),
    f"DELETE {C}/teams/{{team}}": ("team-deleted", lambda lab: (_team(lab), {})),
    f"DELETE {C}/tokens/{{token}}": ("token-revoked", lambda lab: (_token(lab), {})),
    "POST /v1/tokens": ("token-created", lambda lab: ("/v1/tokens", {"json": {}})),
    "DELETE /v1/tokens/{token}": ("token-revoked", lambda lab: (_token(lab, "/v1/tokens"), {})),
}


def prepared(lab, route):
    method = route.partition(" ")[0]
    path, sent = CHANGES[route][1](lab)
    return lambda client: client.request(method, path, **sent)


def log(client, path="/v1", **query):
    answer = client.get(f"{path}/audit", params={"format": "ndjson"} | query)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]
