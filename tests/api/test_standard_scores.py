"""Boards of standardised scores: the numbers, the list of reference runs, and who may ask."""

import numpy as np
import pytest
from scipy import stats

from tests.world.campaigns import codes, refused
from tests.world.laboratories import Laboratory

REFERENCE = ["run-0", "run-1", "run-2"]
FORMS = ("normal", "linear", "empirical")
METRICS = ("AP", "Q", "ADM")


def board(lab, form="normal", **query):
    return lab.board(**{"metric": METRICS, "standardise": form, "reference": REFERENCE} | query)


def plain(scores, form):
    """The standardised scores of all runs [runs, topics] over the first three."""
    own = scores[:3]
    found = np.full(scores.shape, np.nan)
    for topic in range(scores.shape[1]):
        column = own[:, topic]
        if np.ptp(column) <= 1e-12:
            continue
        if form == "empirical":
            found[:, topic] = [(column <= score + 1e-12).mean() for score in scores[:, topic]]
        else:
            z = (scores[:, topic] - column.mean()) / column.std(ddof=1)
            found[:, topic] = stats.norm.cdf(z) if form == "normal" else np.clip(0.15 * z + 0.5, 0, 1)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_means_and_intervals_are_of_the_standardised_scores(lab, form):
    by_topic = lab.scores(*METRICS, topics="all")
    found = board(lab, form)
    rows = {row["name"]: row for row in found["rows"]}
    for label in by_topic["metrics"]:
        runs = sorted(by_topic["runs"], key=lambda run: str(run["name"]))
        topics = [topic for topic, score in runs[0]["topics"][label].items() if score is not None]
        scores = np.array([[run["topics"][label][topic] for topic in topics] for run in runs])
        expected = plain(scores, form)
        alike = [topic for topic, column in zip(topics, expected.T, strict=True) if np.isnan(column).any()]
        assert found["standardised"]["topics_left_out"][label] == alike
        assert found["topics_scored"][label] == len(topics) - len(alike)
        for run, row in zip(runs, expected, strict=True):
            known = row[~np.isnan(row)]
            assert rows[run["name"]]["mean"][label] == pytest.approx(known.mean(), abs=1e-12)
            low, high = stats.t.interval(0.95, len(known) - 1, known.mean(), stats.sem(known))
            assert rows[run["name"]]["interval"][label] == pytest.approx((low, high), abs=1e-9)
    assert (found["standardised"]["form"], found["standardised"]["reference"]) == (form, REFERENCE)
    assert found["groups_test"]["topics"] == found["topics_scored"][found["by"]]


def test_groups_of_topics_have_standardised_means_too(lab):
    lab.organiser.put(f"{lab.path}/topic-groups/hard", json=["2", "4", "5", "6"]).raise_for_status()
    beside = {row["name"]: row["by_group"]["hard"] for row in board(lab, by_group=["hard"])["rows"]}
    assert beside == {row["name"]: row["mean"] for row in board(lab, topics="hard")["rows"]}
    whole = {row["name"]: row["by_group"]["hard"] for row in board(lab, topics="hard", by_group=["hard"])["rows"]}
    assert whole == beside


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"reference": ["run-0"]}, "too-few-runs"),
        ({"reference": ["run-0", "run-0"]}, "too-few-runs"),
        ({"reference": []}, "too-few-runs"),
        ({"reference": ["run-0", "absent"]}, "unknown-run"),
        ({"standardise": None}, "missing"),
        ({"metric": "AP(mean=geometric)"}, "geometric-mean"),
    ],
)
def test_what_cannot_be_standardised_is_refused(lab, query, code):
    asked = {"metric": "AP", "standardise": "linear", "reference": REFERENCE} | query
    answer = lab.get("/leaderboard", **{name: value for name, value in asked.items() if value is not None})
    assert answer.status_code == 422
    assert codes(answer) == [code]


def test_only_those_who_see_scores_under_any_parameters_may_ask(shared):
    lab = Laboratory(shared, policy={"scores": "all", "presets": ["AP"]})
    participant = lab.client("participant", "team-0")
    for query in (
        {"standardise": "linear", "reference": REFERENCE},
        {"standardise": "linear", "reference": ["absent", "other"]},
    ):
        assert refused(lab.get("/leaderboard", participant, metric="AP", **query))[0] == 403
    assert lab.get("/leaderboard", participant, metric="AP").status_code == 200
