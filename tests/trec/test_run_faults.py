import tracemalloc

import pytest

from gainboard import trec
from gainboard.errors import FaultyFile, TooLarge
from gainboard.trec import FileLimits
from tests.trec.readers import EitherReader as RunReader

GOOD = b"301 Q0 a 1 9.5 tag\n301 Q0 b 2 8.5 tag\n"


def faults_of(data, **options):
    with pytest.raises(FaultyFile) as refused:
        list(RunReader([data], **options))
    return list(refused.value.faults)


def line(document=b"c", score=b"7", rank=b"3", topic=b"301"):
    return b" ".join([topic, b"Q0", document, rank, score, b"tag"]) + b"\n"


def test_a_duplicate_document_names_both_lines():
    (fault,) = faults_of(GOOD + line(b"a"))
    assert (fault.code, fault.line, fault.lines, fault.topic) == ("duplicate-document", 3, (1, 3), "301")
    assert "'a'" in fault.message


@pytest.mark.parametrize(
    "header",
    [
        b"qid Q0 docno rank score tag",
        b"query_id\t0\tdoc_id\trank\tscore\tsystem",
        b"# made by hand\n\nTopic,Q0,DocID,Rank,Score,RunID",
        b'"query-id" "doc-id" "similarity"',
    ],
)
def test_a_header_is_named_and_the_other_lines_are_read(header):
    (fault,) = faults_of(header + b"\n" + GOOD)
    assert (fault.code, fault.line) == ("bad-header", header.count(b"\n") + 1)
    assert [each.code for each in faults_of(header + b"\n" + GOOD + line(b"a"))] == ["bad-header", "duplicate-document"]


def test_all_faults_are_counted_and_the_first_hundred_kept_in_the_order_of_lines():
    data = GOOD + line(score=b"x") * 1500 + b"short\n" * 1500
    with pytest.raises(FaultyFile) as refused:
        list(RunReader([data], limits=FileLimits(faults=10_000)))
    assert refused.value.total == 1500 + 1499 + 1500
    assert "errors_total_is_minimum" not in refused.value.details
    shown = refused.value.faults
    assert [(fault.line, fault.code) for fault in shown[:3]] == [
        (3, "bad-number"),
        (4, "duplicate-document"),
        (5, "bad-number"),
    ]
    assert shown[0].last_line == 4
    assert len(shown) == 100


def test_successive_lines_with_the_same_fault_are_told_as_one():
    data = b"51 0 a 1\n" * 97 + GOOD + b"51 0 b 2\n"
    with pytest.raises(
        FaultyFile, match=r"^lines 1-97: the line has 4 columns .* exchanged\? \(and 1 more\)$"
    ) as refused:
        list(RunReader([data]))
    assert refused.value.details["errors_total"] == 98
    shown = [{**each, "message": ...} for each in refused.value.details["errors"]]
    assert shown == [
        {"code": "bad-columns", "message": ..., "line": 1, "last_line": 97},
        {"code": "bad-columns", "message": ..., "line": 97 + GOOD.count(b"\n") + 1},
    ]


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"51 0 doc 1", "It looks like a line of qrels: were the two files exchanged?"),
        (b"51,Q0,doc,1,2.5,tag", "Separate the columns by spaces or tabs, not by commas"),
        (b"51;Q0;doc;1;2.5;tag", "Separate the columns by spaces or tabs, not by semicolons"),
        (b"51 doc 1 2.5 tag", "Is a column missing, such as Q0 or the run tag?"),
        (b"51 Q0 doc 1 2.5 my best run", "Is there a blank in the run tag? It must be one word"),
        (b"one two", "run tag"),
    ],
)
def test_the_likely_cause_of_a_line_with_other_columns_is_told(data, cause):
    with pytest.raises(FaultyFile) as refused:
        list(RunReader([GOOD + data + b"\n"]))
    assert refused.value.faults[0].message.endswith(cause)


@pytest.mark.parametrize("score", [b"x", b"1"])
@pytest.mark.parametrize("gather", [False, True])
def test_after_a_thousand_faults_the_rest_is_not_read(score, gather):
    endless = iter(lambda: b"short\n" * 100, None)
    with pytest.raises(FaultyFile, match="at least 1,000 faults; the rest of the file was not read") as refused:
        list(RunReader(endless, gather=gather))
    assert refused.value.details["errors_total_is_minimum"] is True
    assert [(fault.line, fault.last_line) for fault in refused.value.faults] == [(1, 1000)]
    data = [line(score=score) * 2000, line(topic=b"302") * 2000]  # within one topic, too
    with pytest.raises(FaultyFile) as refused:
        list(RunReader(data, gather=gather))
    assert (refused.value.total, refused.value.is_minimum) == (1000, True)


@pytest.mark.parametrize("skipped", [b"\n", b" \t\r\n", b"# comment\n", b"<SYSDESC>\n"])
def test_what_is_skipped_may_exceed_the_lines_of_data_by_so_much(skipped):
    limits = FileLimits(skipped_lines=10)
    allowed = skipped * 10 + GOOD + skipped * 2 + b"301 Q0 c 3 7 tag\n" + skipped
    assert len(list(RunReader([allowed], limits=limits))) == 1
    for data in (skipped * 11 + GOOD * 9, allowed + skipped + line(b"z"), allowed + skipped):
        with pytest.raises(TooLarge, match="more than 10 blank lines and comments beyond its lines of data"):
            list(RunReader([data], limits=limits))


def test_a_line_over_the_limit_is_refused_at_once():
    limits = FileLimits(line_bytes=len(line()) - 1)
    assert list(RunReader([line()], limits=limits))
    with pytest.raises(TooLarge, match="GAINBOARD_MAX_LINE_BYTES"):
        list(RunReader([line() + line(b"cc")], limits=limits))


def test_a_line_without_end_is_refused_before_it_has_all_arrived():
    endless = iter(lambda: bytes(1 << 16), None)
    with pytest.raises(TooLarge, match="4,096"):
        list(RunReader(endless))


def test_memory_does_not_grow_with_the_file():
    topics = (
        b"".join(line(b"doc-%d" % n, b"%d" % -n, topic=b"%d" % topic) for n in range(1000)) for topic in range(60)
    )
    tracemalloc.start()
    retrieved = sum(len(ranking.documents) for ranking in trec.RunReader(topics))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert retrieved == 60_000
    assert peak < 4 << 20


@pytest.mark.parametrize("gather", [False, True])
def test_a_topic_of_too_many_lines_ends_the_reading_at_once(gather):
    endless = (line(b"%d" % number) for number in range(10**9))
    with pytest.raises(TooLarge, match=r"more lines than 1,000 .*GAINBOARD_MAX_TOPIC_LINES"):
        list(RunReader(endless, limits=FileLimits(topic_lines=1000), gather=gather))
    both = [GOOD, line(topic=b"302")]
    assert len(list(RunReader(both, limits=FileLimits(topic_lines=2), gather=gather))) == 2


@pytest.mark.parametrize("gather", [False, True])
def test_too_many_topics_end_the_reading_at_once(gather):
    endless = (line(topic=b"%d" % number) for number in range(10**9))
    with pytest.raises(TooLarge, match="more than 50 topics") as refused:
        list(RunReader(endless, limits=FileLimits(topics=50), gather=gather))
    assert refused.value.details == {"limit": 50, "setting": "GAINBOARD_MAX_TOPICS"}
    both = [GOOD, line(topic=b"302")]
    assert len(list(RunReader(both, limits=FileLimits(topics=2), gather=gather))) == 2
