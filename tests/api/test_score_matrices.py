"""Scores that were computed elsewhere: stored in versions, and a metric wherever there are metrics."""

import pytest

from gainboard.analyses.job_kinds import find_kind
from tests.api.changes import log
from tests.world.campaigns import codes, refused
from tests.world.laboratories import FEW, TOPICS, Laboratory, request_of

RUNS = [f"run-{number}" for number in range(4)]
LABEL = "custom:nuggets(version=1)"


def table(*runs, scale=1.0, topics=TOPICS):
    """Scores of these runs, or of all: the later the run, the higher."""
    rows = [
        [run, *(f"{scale * ((RUNS.index(run) * 2 + place * 3 % 5) / 12)!r}" for place, _ in enumerate(topics))]
        for run in runs or RUNS
    ]
    return "".join(",".join(row) + "\n" for row in [["run", *topics], *rows])


def put(lab, content, name="nuggets", client=None, **query):
    return (client or lab.organiser).put(f"{lab.path}/score-matrices/{name}", content=content, params=query)


def laboratory(service):
    lab = Laboratory(service)
    assert put(lab, table(), low=0, high=1).status_code == 201
    return lab


@pytest.fixture
def lab(shared):
    return laboratory(shared)


@pytest.fixture
def lab_on_both(on_both):
    """For what the databases store; the rest is the same on each."""
    return laboratory(on_both)


def test_each_upload_is_a_version_and_the_same_scores_are_none(lab_on_both):
    lab = lab_on_both
    again = put(lab, table(), low=0, high=1)
    assert (again.status_code, again.json()["version"]) == (200, 1)
    other = put(lab, table(scale=0.5), low=0, high=1)
    assert (other.status_code, other.json()["label"]) == (201, "custom:nuggets(version=2)")
    assert [each["version"] for each in lab.get("/score-matrices").json()["items"]] == [2]
    assert lab.scores("custom:nuggets")["metrics"] == ["custom:nuggets(version=2)"]
    assert lab.scores(LABEL)["metrics"] == [LABEL]
    assert lab.organiser.delete(f"{lab.path}/score-matrices/nuggets").status_code == 204
    assert refused(lab.get("/score-matrices/nuggets")) == (404, "not-found")
    assert refused(lab.get("/scores", metric="custom:nuggets")) == (422, "bad-expression")
    assert put(lab, table()).json()["version"] == 3
    actions = [each["action"] for each in log(lab.organiser, lab.path) if each["action"].startswith("score-matrix")]
    assert actions == ["score-matrix-uploaded"] * 2 + ["score-matrix-deleted", "score-matrix-uploaded"]


def test_boards_and_comparisons_know_the_direction_of_uploaded_scores(lab):
    assert put(lab, table(), "seconds", direction="down").status_code == 201
    up = lab.get("/leaderboard", metric=["custom:nuggets", "AP"]).json()
    down = lab.get("/leaderboard", metric="custom:seconds").json()
    assert [row["name"] for row in up["rows"]] == RUNS[::-1]
    assert [row["name"] for row in down["rows"]] == RUNS
    means = [row["mean"]["custom:seconds(version=1)"] for row in down["rows"]]
    assert means == sorted(means)
    assert all(row["groups"] for row in up["rows"])
    pairs = lab.get("/compare", run=["run-2", "run-0"], metric=["custom:nuggets", "custom:seconds"]).json()
    assert [each["difference"] for each in pairs["comparisons"]] == pytest.approx([4 / 12, -4 / 12])
    assert [each["won"] for each in pairs["comparisons"]] == [8, 0]


def test_a_run_that_is_not_in_the_matrix_has_no_score_and_no_comparison(lab):
    assert put(lab, table("run-0", "run-1", "run-2"), "some").status_code == 201
    rows = lab.get("/leaderboard", metric="custom:some").json()["rows"]
    assert (rows[-1]["name"], rows[-1]["mean"]) == ("run-3", {"custom:some(version=1)": None})
    answer = lab.get("/compare", run=["run-1", "run-3"], metric="custom:some")
    assert (refused(answer), codes(answer)) == ((422, "invalid-request"), ["not-in-matrix"])
    asked = lab.ask("bootstrap-sensitivity", metrics=["custom:some"], resamples=FEW)
    assert codes(asked) == ["not-in-matrix"]
    named = lab.ask(
        "bootstrap-sensitivity", metrics=["custom:some"], resamples=FEW, baseline="custom:some", runs=RUNS[:3]
    )
    assert named.status_code == 202, named.text


def test_a_run_of_a_later_upload_is_not_the_one_of_the_matrix(lab):
    text = lab.organiser.get(f"{lab.path}/runs/run-1", headers={"Accept": "text/plain"}).text
    assert lab.organiser.delete(f"{lab.path}/runs/run-1").status_code == 204
    assert lab.submit(text + "1 Q0 another 9 0.01 run-1\n", team="team-1", name="run-1").status_code == 201
    found = {run["name"]: run["mean"][LABEL] for run in lab.scores("custom:nuggets")["runs"]}
    assert found["run-1"] is None
    assert found["run-0"] is not None


KINDS = (
    "rank-correlation bootstrap-sensitivity stability swap-rate test-agreement concordance rank-intervals difficulty "
    "topic-set-size"
)


@pytest.mark.parametrize("kind", KINDS.split())
def test_every_analysis_of_metrics_takes_uploaded_scores(lab, kind):
    example = request_of(find_kind(kind))["params"]
    few = {name: example[name] for name in ("trials", "resamples") if name in example}
    job = lab.worked(lab.ask(kind, metrics=["custom:nuggets", "AP"], **few))
    result = lab.organiser.get(job["result_url"]).json()
    assert result["uploaded_scores"][0]["metric"] == LABEL
    assert LABEL in str(result["metrics"])


def test_what_needs_the_judgments_refuses_uploaded_scores(lab):
    assert codes(lab.ask("leave-one-team-out", metrics=["custom:nuggets"])) == ["uploaded-scores"]
    assert codes(lab.ask("gain-robustness", metrics=["custom:nuggets"])) == ["unknown-parameter"]
    assert codes(lab.get("/scores", metric="custom:nuggets", ties="range")) == ["uploaded-scores"]


def test_stability_needs_a_range_and_maps_scores_to_it(lab):
    put(lab, table(), "open")
    assert codes(lab.ask("stability", metrics=["custom:open"], trials=FEW)) == ["unbounded-metric"]
    put(lab, table(scale=100), "percent", low=0, high=100)
    reversed_rows = [row.split(",") for row in table().splitlines()]
    turned = "\n".join(
        [",".join(reversed_rows[0])]
        + [",".join([row[0], *(repr(7 - float(each)) for each in row[1:])]) for row in reversed_rows[1:]]
    )
    put(lab, turned + "\n", "cost", low=6, high=7, direction="down")
    results = []
    for name in ("nuggets", "percent", "cost"):
        job = lab.worked(lab.ask("swap-rate", metrics=[f"custom:{name}"], trials=FEW))
        (metric,) = lab.organiser.get(job["result_url"]).json()["metrics"]
        results.append([(each["comparisons"], each["swaps"]) for each in metric["bins"]])
    assert results[0] == results[1] == results[2]
