"""judgments, against counts made line by line of the qrels files as they are given back."""

from collections import Counter

import pytest

from tests.world.groves import NO_RELEVANT

KIND = "judgments"


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
