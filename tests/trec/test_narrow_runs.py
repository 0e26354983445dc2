"""Runs of three columns: BEIR's with retrieval scores, MS MARCO's with ranks."""

import pytest

from gainboard.errors import FaultyFile
from gainboard.trec import RunReader
from tests.trec.readers import EitherReader

BEIR = b"1\td1\t1.5\n1\td2\t2.5\n2\td3\t-1\n"
MS_MARCO = b"1048585\t7187158\t1\n1048585\t7187157\t2\n2\t1782337\t1\n"


def ranked(text, order_by="score", plain=False):
    return {each.topic: list(each.documents) for each in EitherReader([text], order_by=order_by, plain=plain)}


def faults(text, order_by="score"):
    with pytest.raises(FaultyFile) as refused:
        ranked(text, order_by)
    return [(fault.code, fault.line) for fault in refused.value.faults]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("header", [b"", b"query-id\tcorpus-id\tscore\n"])
def test_beirs_run_is_ordered_by_its_scores(header, plain):
    assert ranked(header + BEIR, plain=plain) == {"1": [b"d2", b"d1"], "2": [b"d3"]}
    reader = RunReader([header + BEIR])
    list(reader)
    assert (reader.tag, reader.tags, reader.topics, reader.retrieved) == ("", 0, 2, 3)
    assert [each.code for each in reader.warnings] == (["header"] if header else [])


def test_ms_marcos_run_is_ordered_by_its_ranks():
    expected = {"1048585": [b"7187158", b"7187157"], "2": [b"1782337"]}
    assert ranked(MS_MARCO, "rank") == expected
    backwards = b"".join(reversed(MS_MARCO.splitlines(keepends=True)))
    assert ranked(backwards, "rank") == expected
    reader = RunReader([MS_MARCO], order_by="rank")
    list(reader)
    assert reader.warnings == []


def test_ms_marcos_run_has_no_scores():
    assert faults(MS_MARCO) == [("no-scores", None)]
    assert faults(MS_MARCO.replace(b"2\t17", b"3\t17")) == [("no-scores", None)]
    # One document for each topic may have a score of 1, and whole numbers may be scores.
    assert ranked(b"1\td\t1\n2\td\t1\n") == {"1": [b"d"], "2": [b"d"]}
    assert ranked(b"1\td\t1\n1\te\t3\n") == {"1": [b"e", b"d"]}


def test_scores_are_no_ranks():
    assert faults(BEIR, "rank") == [("no-ranks", None)]
    assert faults(MS_MARCO + b"2\td\t1.5\n", "rank") == [("no-ranks", None)]
    assert faults(MS_MARCO.replace(b"\t2\n", b"\tsecond\n"), "rank") == [("bad-rank", 2)]


def test_the_lines_at_the_beginning_decide_on_the_columns():
    assert faults(BEIR + b"2 Q0 d4 1 2 t\n") == [("bad-columns", 1), ("bad-columns", 3)]
    long = b"".join(b"%d\td%d\t1.5\n" % (topic, topic) for topic in range(5000))
    assert faults(long + b"2 Q0 d4 1 2 t\n") == [("bad-columns", 5001)]
    assert faults(BEIR.replace(b"2.5", b"x")) == [("bad-number", 2)]
