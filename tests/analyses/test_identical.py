"""Runs that a team has sent twice, which a job leaves out where it is asked to."""

import pytest

from tests.world.groves import made_of

KIND = "rank-correlation"
JUDGED = "1 0 good 2\n1 0 bad 0\n2 0 fine 1\n"
LISTS = {
    "a": {"1": "good new bad", "2": "fine new"},
    "b": {"1": "good new bad late", "2": "fine new"},
    "c": {"1": "good old bad", "2": "fine new"},
    "d": {"1": "good new bad", "2": "fine"},
    "e": {"1": "bad new good", "2": "fine new"},
    "f": {"1": "good new bad", "2": "fine new", "9": "any"},
}
"""Documents by run and topic, best first. To the depth of 3, only `b` is as `a`."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A campaign of depth 3: one team has all of the runs, the other one that is as `a`."""
    laboratory = made_of(tmp_path_factory.mktemp("small"), [JUDGED], {}, depth=3)
    sent = [("one", name, lists) for name, lists in LISTS.items()] + [("two", "g", LISTS["a"])]
    for step, (team, name, lists) in enumerate(sent, start=1):
        # With its lines turned round, and scores that far from each other.
        lines = [
            f"{topic} Q0 {document} 0 {-step / 10 * place:.4f} {name}\n"
            for topic, documents in lists.items()
            for place, document in enumerate(documents.split())
        ]
        laboratory.send(name, team, "".join(reversed(lines)))
    return laboratory


def test_a_teams_second_identical_run_is_left_out_and_named(answer):
    every = answer(KIND, metrics=["AP", "P@5"])
    found = answer(KIND, metrics=["AP", "P@5"], drop_identical=True)
    assert found["runs"] == [run for run in every["runs"] if run != "yew"]
    assert found["runs_left_out"] == [{"run": "yew", "identical_to": "hazel"}]
    assert "yew" in every["runs"]
    assert "runs_left_out" not in every


def test_runs_are_identical_whose_documents_are_the_same_to_the_depth_of_the_collection(small):
    found = small.answer("gain-vectors", cutoff=3, drop_identical=True)
    assert found["runs_left_out"] == [{"run": "b", "identical_to": "a"}]
    assert [run["name"] for run in found["runs"]] == ["a", "c", "d", "e", "f", "g"]


def test_an_unjudged_document_or_an_unjudged_topic_makes_a_difference(small):
    found = small.answer(KIND, metrics=["AP"], runs=["a", "b", "c", "f"])
    assert set(found["means"]["AP"]) == {1.0}
    kept = small.answer(KIND, metrics=["AP"], runs=["a", "b", "c", "f"], drop_identical=True)
    assert sorted(kept["runs"]) == ["a", "c", "f"]
