import pytest

from gainboard.errors import FaultyFile
from tests.trec.readers import EitherReader as RunReader


def run(*rows):
    return "".join(f"301 Q0 {row} tag\n" for row in rows).encode()


def documents(data, **options):
    (ranking,) = RunReader([data], **options)
    return [document.decode() for document in ranking.documents]


def warnings(data, **options):
    reader = RunReader([data], **options)
    list(reader)
    return {warning.code: warning.count for warning in reader.warnings}


ORDERS = [
    ("score", "a 1 1|b 2 3|c 3 2", "b c a"),  # whatever the lines and ranks say
    ("score", "a 1 5|é 2 5.0|Z 3 5e0|b 4 5|z 5 6", "z é b a Z"),  # equal scores: ids in descending order of bytes
    ("score", "d10 1 5|d9 2 5", "d9 d10"),
    ("score", "a 1 0|b 2 -0|c 3 0.0", "c b a"),
    ("score", "a 1 0.10000000001|b 2 0.1", "a b"),
    ("score32", "a 1 0.10000000001|b 2 0.1", "b a"),
    ("score32", "a 1 1e300|b 2 1e200|c 3 1e38", "b a c"),
    ("rank", "a 10 9|b -2 8|c 007 7", "b c a"),  # the smallest integer is best, and gaps do not matter
]


@pytest.mark.parametrize(("order_by", "rows", "expected"), ORDERS)
def test_documents_are_in_the_order_of_their_collection(order_by, rows, expected):
    assert documents(run(*rows.split("|")), order_by=order_by) == expected.split()


TIED = {"tied-scores": 1}
WARNED = [
    *(("score", f"a {ranks[0]} 3|b {ranks[1]} 3|c 3 2", TIED) for ranks in ("12", "21")),
    *(("rank", f"a {ranks[0]} 3|b {ranks[1]} 3|c 3 2", {}) for ranks in ("12", "21")),
    ("score", "a 1 3|b 2 3", {"all-scores-equal": 1}),
    ("score", "a 1 3", {}),
    ("score", "a 1 1.00000002|b 2 1.00000001|c 3 0.5", {}),
    ("score32", "a 1 1.00000002|b 2 1.00000001|c 3 0.5", TIED),
    *(("score", f"a {ranks[0]} 3|b {ranks[1]} 2|c {ranks[2]} 1", {}) for ranks in ("012", "123", "000", "112")),
    ("score", "a x 1|b 1 2", {}),  # no integers are not compared
]


@pytest.mark.parametrize(("order_by", "rows", "expected"), WARNED)
def test_ties_and_ranks_that_contradict_scores_are_told(order_by, rows, expected):
    assert warnings(run(*rows.split("|")), order_by=order_by) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"301 Q0 a 1 3 tag\n301 Q0 b 2 2 tag\n302 Q0 a 1 3 tag\n", ("tag", 1, 2, 3)),
        (b"# tag\n1 Q0 a 1 3 =cmd()\n1 Q0 b 2 2 other\n", ("=cmd()", 2, 1, 2)),
        (b"".join(b"1 Q0 %d 1 1 t%d\n" % (n, n) for n in range(1200)), ("t0", 1000, 1, 1200)),
    ],
)
def test_a_file_says_what_it_is(data, expected):
    reader = RunReader([data])
    list(reader)
    assert (reader.tag, reader.tags, reader.topics, reader.retrieved) == expected


@pytest.mark.parametrize("order_by", ["score", "score32", "rank"])
def test_a_document_that_is_named_like_its_topic_may_be_left_out_before_the_depth(order_by):
    data = run("301 1 9", "3010 2 8", "a 3 7", "b 4 6")
    assert documents(data, order_by=order_by, depth=3) == ["301", "3010", "a"]
    assert documents(data, order_by=order_by, depth=3, ignore_identical_ids=True) == ["3010", "a", "b"]
    assert documents(run("301 1 9"), order_by=order_by, ignore_identical_ids=True) == []
    with pytest.raises(FaultyFile, match="already on line 1"):  # its lines are checked all the same
        documents(run("301 1 9", "301 2 8"), order_by=order_by, ignore_identical_ids=True)


def test_the_warning_names_a_line_and_what_would_be_right():
    reader = RunReader([run("a 1 5", "b 1 5", "c 4 4", "d 3 3", "e 2 1")])
    list(reader)
    assert [warning.message for warning in reader.warnings if warning.code == "rank-contradicts-score"] == [
        "A document has a better rank than another one with a higher score, first on line 4. The scores are used; a "
        "collection with order_by=rank would use the ranks"
    ]


def test_the_share_of_tied_documents_is_told():
    data = run("a 1 3", "b 2 3", "c 3 2", "d 4 1") + run("a 1 3", "b 2 2", "c 3 1").replace(b"301", b"302")
    reader = RunReader([data])
    list(reader)
    (warning,) = reader.warnings
    assert (warning.code, warning.count) == ("tied-scores", 1)
    assert warning.message.startswith("28.6 % of the documents have the same score")


def test_a_comment_that_looks_like_data_is_a_warning():
    data = ("#2 Q0 d 1 2 tag", "# Q0 d 1 2 tag", "<SYSDESC>x Q0 d 1 -.5e1 tag", "#2\tQ0 d x 2 t")
    prose = (
        "# 2 Q0 d 1 2 t",
        "#",
        "# 2 3 4 5 6",
        "#2 0 d 1",
        "#2 Q0 d 1 x t",
        "<SYSDESC>BM25 of 2026",
        "#\0 Q0 d 1 2 t",
    )
    for comment in (*data, *prose):
        reader = RunReader([f"1 Q0 d 1 2 tag\n{comment}\n{comment}\n".encode()])
        assert [ranking.topic for ranking in reader] == ["1"]
        told = [warning for warning in reader.warnings if warning.code == "commented-data"]
        assert [warning.count for warning in told] == ([2] if comment in data else [])
        assert all(f"line 2: {comment!r}" in warning.message for warning in told)
