"""Topic set size designs over HTTP."""

import pytest

from gainboard.client import Gainboard
from tests.world.servers import ADMIN


def asked(service, **sent):
    return service.organiser.post("/v1/design", json=sent)


@pytest.mark.parametrize(
    ("sent", "topics"),
    [
        ({"method": "t-test", "difference": 0.5, "difference_variance": 1}, 34),
        ({"method": "t-test", "difference": 0.5, "variance": 0.5}, 34),
        ({"method": "anova", "difference": 0.1, "variance": 0.05, "runs": 100}, 405),
        ({"method": "interval", "width": 0.1, "difference_variance": 0.1}, 156),
        ({"method": "interval", "width": 0.2, "variance": 0.05}, 41),
    ],
)
def test_the_designs_of_the_paper(shared, sent, topics):
    answer = asked(shared, **sent)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["method"], found["topics"]) == (sent["method"], topics)
    is_interval = sent["method"] == "interval"
    assert (found["power"] is None, found["width"] is None) == (is_interval, not is_interval)
    assert found["width"] <= sent["width"] if is_interval else 0.8 <= found["power"] < 0.82
    factor = 1 if sent["method"] == "anova" else 2
    assert found["variance"] == pytest.approx(sent.get("difference_variance") or factor * sent["variance"])


def test_variances_of_several_collections_are_pooled(shared):
    known = [{"variance": 0.04, "degrees_of_freedom": 30}, {"variance": 0.08, "degrees_of_freedom": 10}]
    found = asked(shared, method="interval", width=0.1, variance=known).json()
    assert (found["topics"], found["variance"]) == (156, pytest.approx(0.1))


def test_a_judge_who_correlates_with_people_saves_them_topics(shared):
    sent = {"method": "interval", "width": 0.15, "difference_variance": 0.1}
    alone = asked(shared, **sent).json()
    assert (alone["topics"], alone["topics_alone"]) == (71, None)
    found = asked(shared, **sent, correlation=0.8, topics=200).json()
    assert (found["topics"], found["topics_alone"]) == (34, 71)
    assert found["width"] <= 0.15
    # a correction by fewer is refused, however good the judge
    assert asked(shared, **sent, correlation=1).json()["topics"] == 20
    assert asked(shared, **sent, correlation=0.1, topics=71).json()["topics"] == 71
    with Gainboard(shared.url, ADMIN) as gainboard:
        same = gainboard.design("interval", width=0.15, difference_variance=0.1, correlation=0.8, topics=200)
    assert same.model_dump() == found


def test_more_power_needs_more_topics(shared):
    sent = {"method": "t-test", "difference": 0.1, "variance": 0.05}
    topics = [asked(shared, **sent, power=power).json()["topics"] for power in (0.5, 0.8, 0.99)]
    assert topics == sorted(set(topics))


@pytest.mark.parametrize(
    ("sent", "location", "message"),
    [
        ({"method": "t-test", "variance": 1}, "body.difference", "needs difference. Example: 0.1"),
        ({"method": "t-test", "difference": 0.1}, "body.variance", "Give one of"),
        (
            {"method": "t-test", "difference": 0.1, "variance": 1, "difference_variance": 1},
            "body.variance",
            "Give one of",
        ),
        ({"method": "t-test", "difference": 0.1, "variance": 1, "runs": 3}, "body.runs", "takes no runs"),
        (
            {"method": "t-test", "difference": 0.1, "variance": 1, "correlation": 0.5},
            "body.correlation",
            "takes no correlation",
        ),
        ({"method": "interval", "width": 0.1, "variance": 1, "topics": 50}, "body.topics", "Give `correlation`"),
        (
            {"method": "interval", "width": 0.1, "variance": 1, "correlation": -0.5},
            "body.correlation",
            "Give a number from 0 to 1",
        ),
        (
            {"method": "interval", "width": 0.1, "variance": 1, "correlation": 0.5, "topics": 25},
            "body.topics",
            "Give a number from 26 to",
        ),
        (
            {"method": "interval", "width": 0.1, "variance": 1, "correlation": 0.9, "topics": 100},
            "body.width",
            "people judge all 100 topics",
        ),
        ({"method": "t-test", "difference": -1, "variance": 1}, "body.difference", "from 1e-06 to 1e+06"),
        ({"method": "t-test", "difference": 0.1, "variance": 0}, "body.variance", "variance is 0"),
        ({"method": "t-test", "difference": 1e-5, "variance": 1}, "body.difference", "More than 1,000,000 topics"),
        ({"method": "interval", "width": 1e-5, "variance": 1}, "body.width", "Choose a larger width"),
        ({"method": "interval", "width": 0.1, "variance": 1, "power": 0.9}, "body.power", "takes no power"),
        ({"method": "anova", "difference": 0.1, "variance": 1}, "body.runs", "needs runs"),
        ({"method": "anova", "difference": 0.1, "variance": 1, "runs": 1}, "body.runs", "from 2 to 10,000"),
        ({"method": "anova", "difference": 0.1, "runs": 2}, "body.variance", "needs variance"),
        (
            {"method": "anova", "difference": 0.1, "runs": 2, "difference_variance": 1},
            "body.difference_variance",
            "Give `variance` instead",
        ),
        ({"method": "t-test", "difference": 0.1, "variance": 1, "alpha": 1}, "body.alpha", "between 0 and 1"),
        ({"method": "t-test", "difference": 0.1, "variance": 1, "power": 0}, "body.power", "between 0 and 1"),
        (
            {"method": "anova", "difference": 1, "runs": 2, "variance": [{"variance": 1, "degrees_of_freedom": 0}]},
            "body.variance",
            "runs x (topics - 1)",
        ),
        ({"method": "sign", "difference": 0.1, "variance": 1}, "body.method", ""),
    ],
)
def test_what_cannot_be_computed_is_refused_with_its_place(shared, sent, location, message):
    answer = asked(shared, **sent)
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert fault["location"] == location
    assert message in fault["message"]
