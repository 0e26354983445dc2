"""Topic set size designs over HTTP."""

import pytest


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
    found = asked(shared, **sent).json()
    assert (found["method"], found["topics"]) == (sent["method"], topics)
    is_interval = sent["method"] == "interval"
    assert (found["power"] is None, found["width"] is None) == (is_interval, not is_interval)
    assert found["width"] <= sent["width"] if is_interval else 0.8 <= found["power"] < 0.82


def test_a_judge_who_correlates_with_people_saves_them_topics(shared):
    sent = {"method": "interval", "width": 0.15, "difference_variance": 0.1}
    assert asked(shared, **sent).json()["topics"] == 71
    found = asked(shared, **sent, correlation=0.8, topics=200).json()
    assert (found["topics"], found["topics_alone"], found["width"] <= 0.15) == (34, 71, True)
    # a correction by fewer is refused, however good the judge
    assert asked(shared, **sent, correlation=1).json()["topics"] == 20
    assert asked(shared, **sent, correlation=0.1, topics=71).json()["topics"] == 71
