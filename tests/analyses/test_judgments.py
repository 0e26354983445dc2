"""judgments, against counts made line by line of the qrels files as they are given back."""

from collections import Counter

import pytest

from tests.world.groves import NO_RELEVANT, made_of

KIND = "judgments"
OLD = "1 0 a 1\n1 0 b 0\n1 0 c 2\n1 0 gone 1\n2 0 a -1\n2 0 b 2\n3 0 a 1\n"
NEW = "1 0 a 2\n1 0 b 0\n1 0 c -2\n1 0 found 2\n2 0 a 0\n2 0 b 2\n10 0 z 1\n"


@pytest.fixture(scope="module")
def reassessed(tmp_path_factory):
    """A collection with two levels and two versions, and no run at all."""
    own = {"level_names": ["fair", "good"], "highest_level": 2, "gains": "2:1"}
    return made_of(tmp_path_factory.mktemp("reassessed"), (OLD, NEW), {}, **own)


@pytest.mark.parametrize("version", [1, 2])
def test_documents_are_counted_by_topic_and_level(answer, laboratory, version):
    found = answer(KIND, qrels=version)
    levels = laboratory.levels(version)
    topics = sorted({topic for topic, _ in levels})
    counts = Counter((topic, level) for (topic, _), level in levels.items())
    assert (found["topics"], found["judged"]) == (len(topics), len(levels))
    assert [each["topic"] for each in found["by_topic"]] == topics
    for each in found["by_topic"]:
        assert each["per_level"] == [counts[each["topic"], level] for level in range(4)]
        assert each["relevant"] == sum(each["per_level"][1:]) == each["judged"] - each["per_level"][0]
    for each in found["levels"]:
        documents = sum(counts[topic, each["level"]] for topic in topics)
        assert (each["documents"], each["mean"]) == (documents, pytest.approx(documents / len(topics)))


def test_the_least_and_the_most_relevant_documents_are_named_with_their_topics(answer):
    found = answer(KIND)
    by_topic = {each["topic"]: each["relevant"] for each in found["by_topic"]}
    relevant = found["relevant"]
    assert relevant["minimum"] == {"relevant": 0, "topics": [NO_RELEVANT]}
    most = max(by_topic.values())
    assert relevant["maximum"] == {"relevant": most, "topics": [each for each in by_topic if by_topic[each] == most]}
    assert relevant["documents"] == sum(by_topic.values())
    assert relevant["mean"] == pytest.approx(sum(by_topic.values()) / 12)


def test_levels_are_called_as_the_collection_calls_them(reassessed):
    found = reassessed.answer(KIND, against=1)
    names = ["L0", "fair", "good"]
    assert [each["name"] for each in found["levels"]] == found["against"]["levels"] == names
    assert found["runs"] == []


def test_two_versions_are_crossed_document_by_document(answer, laboratory):
    found = answer(KIND, against=1)["against"]
    there, here = laboratory.levels(1), laboratory.levels(2)
    counts = Counter((there[document], here[document]) for document in there.keys() & here.keys())
    assert found["crossed"] == [[counts[row, column] for column in range(4)] for row in range(4)]
    assert (found["qrels_version"], found["documents"]) == (1, len(there.keys() & here.keys()))
    assert found["topics_only_here"] == ["105"]
    for row, total, shares in zip(found["crossed"], found["there"], found["shares"], strict=True):
        assert total == sum(row) > 0
        assert shares == pytest.approx([count / sum(row) for count in row])
    assert found["here"] == [sum(column) for column in zip(*found["crossed"], strict=True)]
    assert found["shares_here"] == pytest.approx([count / found["documents"] for count in found["here"]])
    only = Counter(here[document] for document in here.keys() - there.keys())
    assert found["judged_only_here"] == [only[level] for level in range(4)]
    assert found["judged_only_there"] == [0, 0, 0, 0]
    assert any(counts[row, column] for row in range(4) for column in range(4) if row != column)


def test_what_only_one_version_judges_is_counted_apart(reassessed):
    found = reassessed.answer(KIND, against=1)["against"]
    assert found["crossed"] == [[2, 0, 0], [0, 0, 1], [1, 0, 1]]
    assert (found["judged_only_there"], found["judged_only_here"]) == ([0, 2, 0], [0, 1, 1])
    assert (found["topics_only_there"], found["topics_only_here"]) == (["3"], ["10"])
    back = reassessed.answer(KIND, qrels=1, against=2)["against"]
    assert back["crossed"] == [list(row) for row in zip(*found["crossed"], strict=True)]
    assert back["judged_only_there"] == found["judged_only_here"]
