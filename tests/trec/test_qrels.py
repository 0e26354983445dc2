import re
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gainboard.trec.lines
from gainboard.errors import FaultyFile, InvalidRequest
from gainboard.trec import read_qrels
from gainboard.trec.findings import BY_INTENT
from gainboard.trec.layouts import LAYOUTS, LevelNotation
from tests.thorough import examples
from tests.trec.plain_qrels import read_plain
from tests.trec.readers import by_line

BAS = ["B", "A", "S"]


def read(*lines, levels=3, **options):
    return read_qrels(["\n".join([*lines, ""]).encode()], levels=levels, **options)


def faults_of(*lines, **options):
    with pytest.raises(FaultyFile) as refused:
        read(*lines, **options)
    return [(fault.code, fault.line, fault.lines, fault.topic) for fault in by_line(refused.value.faults)]


READ = [
    (3, "301 0 a 1|301 Q0 b 0|302 x a 3|302 0 c -2", "trec", {"301": {"a": 1, "b": 0}, "302": {"a": 3, "c": -2}}),
    (BAS, "1 d1 S|1 d2 B|1 d3 L2|1 d4 L0", "topic-document-level", {"1": {"d1": 3, "d2": 1, "d3": 2, "d4": 0}}),
    (3, "1\td1\t1|1\td2\t0|2\t7\t2", "topic-document-level", {"1": {"d1": 1, "d2": 0}, "2": {"7": 2}}),
    (3, "7\t718|2\t178", "topic-document", {"7": {"718": 1}, "2": {"178": 1}}),
    (BAS, "1 S d1|1 B d2|1 C d3", "topic-level-document", {"1": {"d1": 3, "d2": 1, "d3": 0}}),
    (BAS, "1 S d1 0|1 B d2 1|1 C d3 0", "topic-level-document", {"1": {"d1": 3, "d2": 1, "d3": 0}}),
    (3, "1 d C|1 e L1|1 f D|1 g L0", "topic-document-level", {"1": {"d": 0, "e": 1, "f": 0, "g": 0}}),
    (["D", "C"], "1 d C|1 e D", "topic-document-level", {"1": {"d": 2, "e": 1}}),
    # An iteration is no level even where levels are named by integers.
    (["0", "1"], "1 0 d 1|1 0 e 0", "trec", {"1": {"d": 1, "e": 0}}),
    (3, "topic 0 document 1|query 0 doc 0", "trec", {"topic": {"document": 1}, "query": {"doc": 0}}),
]


@pytest.mark.parametrize(("levels", "lines", "columns", "expected"), READ)
def test_the_columns_of_each_layout_are_recognised_and_read(levels, lines, columns, expected):
    found = read(*lines.split("|"), levels=levels)
    its = {topic: {doc.encode(): level for doc, level in own.items()} for topic, own in expected.items()}
    assert (found.columns, found.judgments) == (columns, its)
    assert [each.code for each in found.warnings] == (["no-levels"] if columns == "topic-document" else [])


WARNED = [
    (3, "7\t718|2\t178|2\t178", [("repeated-judgment", 1), ("no-levels", 2)]),
    (3, "301 0 a 1|301 0 a 1|302 0 a 2|301 0 a 01", [("repeated-judgment", 2)]),
    (3, "query-id\tcorpus-id\tscore|1\td1\t1", [("header", None)]),
    (3, "Query_ID Corpus_ID Score|1 d1 1", [("header", None)]),
    (3, '"qid" "corpus-id" "score"|1 d1 1', [("header", None)]),
]


@pytest.mark.parametrize(("levels", "lines", "warnings"), WARNED)
def test_what_is_odd_is_a_warning(levels, lines, warnings):
    found = read(*lines.split("|"), levels=levels)
    assert [(each.code, each.count if each.code != "header" else None) for each in found.warnings] == warnings


@pytest.mark.parametrize("lines", ["1 L1 L2|1 L2 L1", "1 d e|1 f g", "1 d 4", "1 L1 d|1 d L1", "1 0 d 1|1 d L1"])
def test_a_file_that_fits_two_layouts_or_none_is_ambiguous(lines):
    assert faults_of(*lines.split("|")) == [("ambiguous-columns", None, None, None)]


def test_the_caller_can_say_which_columns_they_are():
    lines = ("1 L1 L2", "1 L2 L1")
    third, second = (read(*lines, columns=each).judgments for each in ("topic-document-level", "topic-level-document"))
    assert (third, second) == ({"1": {b"L1": 2, b"L2": 1}}, {"1": {b"L2": 1, b"L1": 2}})
    with pytest.raises(InvalidRequest, match="trec, topic-document-level, topic-level-document"):
        read("1 0 d 1", columns="ntcir")


FAULTY = [
    *((3, f"301 0 a 1|301 0 b {level}|301 0 c 3", [("bad-level", 2)]) for level in ("4", "-128", "x", "1.0", "1_0")),
    *((3, f"301 0 a 1|301 0 b {level}|301 0 c 3", [("bad-level", 2)]) for level in ("L2", "+", "9" * 30)),
    *((BAS, f"1 a S|1 b L1|{line}", [("bad-level", 3)]) for line in ("1 d L4", "1 d s", "1 d 4")),
    # One misspelt level does not turn a file of letters into one of flags.
    (BAS, "1 A a 1|1 B b 0|1 Q c 1", [("bad-level", 3)]),
    *((3, f"301 0 c 1|301 0 d 1|{line}", [("bad-columns", 3)]) for line in ("301 0 a", "301 0 a 1 x", "301")),
    (3, "1 Q0 a 1 9 t|1 Q0 b 2 8 t", [("bad-columns", 1), ("bad-columns", 2)]),  # a run
    (3, "all 0 a 1|all 0 b 1", [("reserved-topic", 1)]),
    (3, "1 0 a\x00 1|1 0 b 9|1 0 c 1", [("bad-encoding", 1), ("bad-level", 2)]),
    (3, "1\td1\t1|1\td2\t0|query-id\tcorpus-id\tscore", [("bad-level", 3)]),
]


@pytest.mark.parametrize(("levels", "lines", "faults"), FAULTY)
def test_a_faulty_line_is_named(levels, lines, faults):
    assert [fault[:2] for fault in faults_of(*lines.split("|"), levels=levels)] == faults


def test_a_document_judged_twice_at_different_levels_names_both_lines():
    faults = faults_of("301 0 a 1", "301 0 b 1", "301 0 a 2")
    assert faults == [("conflicting-judgment", 3, (1, 3), "301")]


def test_a_comment_that_looks_like_a_judgment_is_a_warning():
    data = ("#2 0 d 1", "# 0 d 1", "<SYSDESC>x 0 d -1")
    for comment in (*data, "# version of 2", "#2 d 1", "#2 0 d x", "# 2 0 d 1", "#"):
        read = read_qrels([f"{comment}\n1 0 d 1\n".encode()], levels=2)
        assert list(read.judgments) == ["1"]
        assert ("commented-data" in [warning.code for warning in read.warnings]) == (comment in data), comment
    ntcir = read_qrels([b"#2 d L1\n1 d L1\n"], levels=2)
    assert [warning.code for warning in ntcir.warnings] == ["commented-data"]


def test_oddities_of_form_are_warnings():
    found = read_qrels([b"\xef\xbb\xbf1\t0\ta 1\r\n\r\n1 0 b 0"], levels=1)
    codes = [warning.code for warning in found.warnings]
    assert codes == ["byte-order-mark", "crlf", "no-final-newline", "mixed-whitespace", "blank-lines"]


@pytest.mark.parametrize("line", ["short", "1 0 d 9", "1 0 d x", "a\x00 b", "1 B d 1 2"])
@pytest.mark.parametrize("columns", [None, "trec", "topic-level-document"])
def test_after_a_thousand_faults_in_every_layout_the_rest_is_not_read(line, columns):
    endless = iter(lambda: f"1 0 a 1\n1 a B\n1 B c\n{line}\n".encode() * 99, None)
    with pytest.raises(FaultyFile) as refused:
        read_qrels(endless, levels=BAS, columns=columns)
    assert refused.value.is_minimum or refused.value.faults[0].code == "ambiguous-columns"


def test_conflicts_end_the_reading_as_other_faults_do():
    with pytest.raises(FaultyFile, match="at least 1,000 faults") as refused:
        read(*(f"1 0 d{number} {level}" for level in (1, 2) for number in range(3000)))
    assert refused.value.faults[0].lines == (1, 3001)


TREC_TOKENS = st.sampled_from(
    ["1", "2", "all", "0", "Q0", "L1", "d", "e", "f", "\u00e9", "-1", "3", "03", "4", "x", "#"]
)
ODD_LINES = st.sampled_from(
    [("#", "a comment"), ("<SYSDESC>",), ("",), ("1", "0", "d", "1", "\r"), ("1\x00", "0", "d", "1"), ("1", "B", "A")]
)
USUAL_LINES = [
    st.tuples(
        st.sampled_from("12"), st.just("0"), st.sampled_from("defghij"), st.sampled_from(["0", "1", "3", "-1", "01"])
    ),
    st.tuples(st.sampled_from("12"), st.sampled_from("defgh"), st.sampled_from(["L0", "L1", "B"])),
    st.tuples(st.sampled_from("12"), st.sampled_from(["L0", "L1", "B"]), st.sampled_from("defgh")),
    st.tuples(
        st.sampled_from("12"), st.sampled_from(["L0", "L1", "B"]), st.sampled_from("defgh"), st.sampled_from("01")
    ),
]
"""Lines without a fault in each layout."""
FILES = st.one_of(
    *(
        st.lists(st.one_of(usual, usual, usual, ODD_LINES, st.lists(TREC_TOKENS, max_size=6).map(tuple)), max_size=14)
        for usual in USUAL_LINES
    ),
    *(st.lists(usual, min_size=1, max_size=14) for usual in USUAL_LINES),
)


@settings(max_examples=examples(700))
@given(FILES, st.sampled_from([3, ["B", "A", "S"], ["0", "1"]]), st.integers(1, 60), st.sampled_from([1 << 15, 40, 12]))
def test_a_file_means_what_its_lines_mean(lines, levels, size, block):
    data = "".join(" ".join(line) + "\n" for line in lines).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    for columns in (None, *LAYOUTS):
        with patch.multiple(gainboard.trec.lines, BLOCK=block, _FEW_LINES=1):
            plain = read_plain(chunks, LevelNotation.of(levels), columns)
            try:
                found = told(read_qrels(chunks, levels=levels, columns=columns))
            except FaultyFile as error:
                found = [(fault.code, fault.line, fault.lines) for fault in by_line(error.faults)]
        assert found == plain


def told(found):
    flat = [(topic, document, level) for topic, its in found.judgments.items() for document, level in its.items()]
    return found.columns, sorted(flat), found.warnings


BEFORE = "1 0 a 1|1 0 b 1|"
TOLD = [
    (3, f"{BEFORE}1 Q0 d 1 2.5 tag", "It looks like a line of a run: were the two files exchanged?$"),
    (3, f"{BEFORE}1,0,d,1", "Separate the columns by spaces or tabs, not by commas$"),
    (3, f"{BEFORE}1 1 0.75", f"the probability of an intent. To read qrels by intent, {BY_INTENT}$"),
    (3, f"{BEFORE}1 d 1.5", "iteration, document id, level$"),
    (3, f"{BEFORE}1 d 1", "Is the second column missing, which is 0 in most files?$"),
    (3, f"{BEFORE}1 d", "iteration, document id, level$"),
    (BAS, "1 a S|1 d X", "'X' of document 'd' is not one of B, A, S, C, D, L0 to L3"),
    (3, "1 0 d 7", "'7' of document 'd' is not an integer from -127 to 3"),
    (3, "1 1 0.75|1 2 0.25", f"{BY_INTENT}$"),
    (3, "query-id corpus-id score|q1 d1 1.0|q1 d2 0.0", "level '1.0' of document 'd1' is not .* Write it as 1$"),
    (3, "query-id corpus-id score|8 12 0.5", "level '0.5' of document '12' .* A level is a whole number"),
    (3, "8 566392 1.0|8 65404 2.0", "level '1.0' of document '566392' is not .* Write it as 1$"),
    (3, "q1 0 d1 1.0", "level '1.0' of document 'd1' is not .* Write it as 1$"),
    (3, "q49 0 p3659|q49 0 p11027", "The level is missing at the end of the line"),
    (3, "q49 Q0 3659", "The level is missing"),
    (3, "1 0 12|1 0 7", "The level is missing"),
    (3, "1 0 1|1 0 7", "level '7' of document '0' .* Is the level missing?"),
    (3, "1 0 1|1 0 2", "has level 2 here, but level 1 on line 1. Is the level missing?"),
    (3, "q49 0 p1 ?", "level '?' of document 'p1' is not .* The level is missing"),
    (3, "1 0 a 1|1 0 b", "The level is missing at the end of the line"),
]


@pytest.mark.parametrize(("levels", "lines", "told"), TOLD)
def test_the_likely_cause_of_a_fault_is_told(levels, lines, told):
    with pytest.raises(FaultyFile) as refused:
        read(*lines.split("|"), levels=levels)
    pattern = re.escape(told.removesuffix("$")).replace(r"\.\*", ".*") + "$" * told.endswith("$")
    assert re.search(pattern, refused.value.faults[0].message)


def test_judgments_by_intent_are_recognised_by_their_second_column():
    with pytest.raises(FaultyFile) as refused:
        read("1 1 a 1", "1 2 a 0", "1 2 a 2", "2 0 a 1", "2 0 a 0")
    first, second, other = (fault.message for fault in refused.value.faults)
    assert first.startswith("document 'a' has level 0 here, but level 1 on line 1. If the second column names intents")
    assert first.endswith(BY_INTENT)
    assert second.endswith(BY_INTENT)
    assert other.endswith("but level 1 on line 4. Keep one of the two lines")


def test_many_values_of_the_second_column_are_told_apart():
    lines = [f"1 {number} d{number} 1" for number in range(300)]
    with pytest.raises(FaultyFile) as refused:
        read(*lines, "1 300 d3 0", "1 299 d299 0")
    assert [fault.message.endswith(BY_INTENT) for fault in refused.value.faults] == [True, False]


@pytest.mark.parametrize(
    "header",
    [
        "query_id iter doc_id relevance",
        "topic\t0\tdocno\trel",
        '"QueryID" "Iteration" "DocID" "Label"',
        "qid,docid,label",
        "Query ID;Doc ID;Relevance",
        "qid pid",
        "topic subtopic docid judgment",
        "query-id corpus-id relevance",
    ],
)
@pytest.mark.parametrize("before", [[], ["", "# made by hand"]])
def test_a_header_of_qrels_is_named(header, before):
    with pytest.raises(FaultyFile) as refused:
        read(*before, header, "1 0 a 1", "1 0 b 0")
    (fault,) = refused.value.faults
    assert (fault.code, fault.line) == ("bad-header", len(before) + 1)
    assert fault.message.startswith(f"line {len(before) + 1} is a header: remove it")
