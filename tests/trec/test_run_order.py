import numpy as np
import pytest

from gainboard.errors import FaultyFile
from gainboard.trec import FileWarning
from tests.trec.readers import EitherReader as RunReader


def run(*rows):
    """A run of one topic from `document rank score` rows."""
    return "".join(f"301 Q0 {row} tag\n" for row in rows).encode()


def documents(data, **options):
    (ranking,) = RunReader([data], **options)
    return [document.decode() for document in ranking.documents]


def warnings(data, **options):
    reader = RunReader([data], **options)
    list(reader)
    return {warning.code: warning.count for warning in reader.warnings}


def test_documents_go_by_score_whatever_the_lines_and_ranks_say():
    assert documents(run("a 1 1", "b 2 3", "c 3 2")) == ["b", "c", "a"]


def test_equal_scores_go_by_document_id_in_descending_byte_order():
    assert documents(run("a 1 5", "é 2 5.0", "Z 3 5e0", "b 4 5", "z 5 6")) == ["z", "é", "b", "a", "Z"]


def test_numbers_in_ids_are_not_numbers():
    assert documents(run("d10 1 5", "d9 2 5")) == ["d9", "d10"]


def test_minus_zero_ties_with_zero():
    assert documents(run("a 1 0", "b 2 -0", "c 3 0.0")) == ["c", "b", "a"]


def test_single_precision_ties_what_double_precision_separates():
    near = run("a 1 0.10000000001", "b 2 0.1")
    assert documents(near) == ["a", "b"]
    assert documents(near, order_by="score32") == ["b", "a"]


def test_scores_beyond_single_precision_tie_with_each_other():
    assert documents(run("a 1 1e300", "b 2 1e200", "c 3 1e38"), order_by="score32") == ["b", "a", "c"]


def test_by_rank_the_smallest_integer_is_best_and_gaps_do_not_matter():
    assert documents(run("a 10 9", "b -2 8", "c 007 7"), order_by="rank") == ["b", "c", "a"]


@pytest.mark.parametrize("order_by", ["score", "score32", "rank"])
def test_a_document_that_is_named_like_its_topic_may_be_left_out_before_the_depth(order_by):
    data = run("301 1 9", "3010 2 8", "a 3 7", "b 4 6")
    assert documents(data, order_by=order_by, depth=3) == ["301", "3010", "a"]
    assert documents(data, order_by=order_by, depth=3, ignore_identical_ids=True) == ["3010", "a", "b"]
    assert documents(run("301 1 9"), order_by=order_by, ignore_identical_ids=True) == []
    with pytest.raises(FaultyFile, match="already on line 1"):  # its lines are checked all the same
        documents(run("301 1 9", "301 2 8"), order_by=order_by, ignore_identical_ids=True)


def test_the_ranking_keeps_the_scores_of_its_documents_in_double_precision():
    (ranking,) = RunReader([run("a 3 0.1", "b 2 1e-300", "c 1 -5")], order_by="rank")
    assert ranking.scores.dtype == np.float64
    assert ranking.scores.tolist() == [-5, 1e-300, 0.1]


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_ranking_is_truncated_after_it_was_ordered(depth):
    reader = RunReader([run("a 1 1", "b 2 3", "c 3 2")], depth=depth)
    (ranking,) = reader
    assert ranking.documents == [b"b", b"c", b"a"][:depth]
    assert len(ranking.scores) == min(depth, 3)
    assert reader.retrieved == 3


def test_equal_ranks_are_a_fault_where_ranks_decide():
    with pytest.raises(FaultyFile) as refused:
        list(RunReader([run("a 1 3", "b 2 2", "c 01 1")], order_by="rank"))
    (fault,) = refused.value.faults
    assert (fault.code, fault.line, fault.lines) == ("bad-rank", 3, (1, 3))


@pytest.mark.parametrize("rank", ["x", "1.0", "1_0", "1e1", "9" * 19, "\u0661"])
def test_a_rank_that_is_no_integer_is_a_fault_where_ranks_decide(rank):
    data = run("a 1 3", f"b {rank} 2")
    with pytest.raises(FaultyFile, match=r"line 2: rank .* is not an integer"):
        list(RunReader([data], order_by="rank"))
    assert documents(data) == ["a", "b"]


def test_topics_where_ranks_and_scores_disagree_are_counted_either_way():
    data = b"".join(run("a 1 3", f"b {rank} 4").replace(b"301", b"%d" % topic) for topic, rank in enumerate([2, 0, 2]))
    assert warnings(data) == {"rank-contradicts-score": 2}
    assert warnings(data, order_by="rank") == {"rank-contradicts-score": 2}


def test_the_warning_names_a_line_and_what_would_be_right():
    reader = RunReader([run("a 1 5", "b 1 5", "c 4 4", "d 3 3", "e 2 1")])
    list(reader)
    assert [warning.message for warning in reader.warnings if warning.code == "rank-contradicts-score"] == [
        "A document has a better rank than another one with a higher score, first on line 4. The scores are used; a "
        "collection with order_by=rank would use the ranks"
    ]


@pytest.mark.parametrize("ranks", ["1 2 3", "2 1 3"])
def test_how_equal_scores_are_ranked_contradicts_nothing(ranks):
    first, second, third = ranks.split()
    data = run(f"a {first} 3", f"b {second} 3", f"c {third} 2")
    assert warnings(data) == {"tied-scores": 1}
    assert warnings(data, order_by="rank") == {}


def test_the_share_of_tied_documents_is_told():
    data = run("a 1 3", "b 2 3", "c 3 2", "d 4 1") + run("a 1 3", "b 2 2", "c 3 1").replace(b"301", b"302")
    reader = RunReader([data])
    list(reader)
    (warning,) = reader.warnings
    assert (warning.code, warning.count) == ("tied-scores", 1)
    assert warning.message.startswith("28.6 % of the documents have the same score")


def test_equal_scores_throughout_are_another_warning():
    assert warnings(run("a 1 3", "b 2 3")) == {"all-scores-equal": 1}
    assert warnings(run("a 1 3")) == {}


def test_scores_that_are_equal_in_single_precision_are_ties_where_it_decides():
    data = run("a 1 1.00000002", "b 2 1.00000001", "c 3 0.5")
    assert (warnings(data), warnings(data, order_by="score32")) == ({}, {"tied-scores": 1})


@pytest.mark.parametrize("ranks", [(0, 1, 2), (1, 2, 3), (10, 20, 30), (0, 0, 0), (1, 1, 2)])
def test_ranks_that_do_not_contradict_the_scores_give_no_warning(ranks):
    assert warnings(run(f"a {ranks[0]} 3", f"b {ranks[1]} 2", f"c {ranks[2]} 1")) == {}


def test_ranks_that_are_no_integers_are_not_compared():
    assert warnings(run("a x 1", "b 1 2")) == {}


def test_what_is_odd_about_a_file_is_said_in_warnings():
    odd = b"\xef\xbb\xbf1 Q0 a 1 3 one\r\n\r\n\n1\tQ0\tb\t2\t2\ttwo\n# ignored\r\n2 Q0 a 1 1 three"
    expected = {"byte-order-mark": None, "crlf": 3, "no-final-newline": None, "mixed-whitespace": None}
    assert warnings(odd) == expected | {"blank-lines": 2, "mixed-tags": 3}


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


def test_an_ordinary_file_has_no_warnings_and_says_what_it_is():
    reader = RunReader([run("a 1 3", "b 2 2") + b"302 Q0 a 1 3 tag\n"])
    list(reader)
    assert (reader.tag, reader.tags, reader.topics, reader.retrieved) == ("tag", 1, 2, 3)
    assert reader.warnings == []


def test_the_run_tag_is_that_of_the_first_line():
    reader = RunReader([b"# tag\n1 Q0 a 1 3 =cmd()\n1 Q0 b 2 2 other\n"])
    list(reader)
    assert (reader.tag, reader.tags) == ("=cmd()", 2)


def test_run_tags_are_counted_up_to_a_thousand():
    reader = RunReader([b"".join(b"1 Q0 %d 1 1 t%d\n" % (n, n) for n in range(1200))])
    list(reader)
    assert reader.tags == 1000


def test_a_warning_without_a_count_has_none_in_json():
    assert FileWarning("crlf", "Lines end in CRLF", 2).as_json() == {
        "code": "crlf",
        "message": "Lines end in CRLF",
        "count": 2,
    }
    assert set(FileWarning("x", "y").as_json()) == {"code", "message"}
