import re
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gainboard.trec.lines
from gainboard.errors import FaultyFile, InvalidRequest, TooLarge
from gainboard.trec import FileLimits, read_qrels
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


def test_trec_has_an_integer_in_the_fourth_column_and_ignores_the_second():
    found = read("301 0 a 1", "301 Q0 b 0", "302 x a 3", "302 0 c -2")
    assert found.columns == "trec"
    assert found.judgments == {"301": {b"a": 1, b"b": 0}, "302": {b"a": 3, b"c": -2}}
    assert found.warnings == []


def test_ntcir_has_the_level_third():
    found = read("0001 d1 S", "0001 d2 B", "0001 d3 L2", "0001 d4 L0", levels=BAS)
    assert found.columns == "topic-document-level"
    assert found.judgments == {"0001": {b"d1": 3, b"d2": 1, b"d3": 2, b"d4": 0}}


def test_beir_has_an_integer_third_and_perhaps_a_header():
    lines = ("1\td1\t1", "1\td2\t0", "2\t7\t2")
    found = read(*lines)
    assert (found.columns, found.warnings) == ("topic-document-level", [])
    assert found.judgments == {"1": {b"d1": 1, b"d2": 0}, "2": {b"7": 2}}
    headed = read("query-id\tcorpus-id\tscore", *lines)
    assert headed.judgments == found.judgments
    assert [each.code for each in headed.warnings] == ["header"]
    assert faults_of(*lines, "query-id\tcorpus-id\tscore") == [("bad-level", 4, None, "query-id")]


def test_ms_marco_has_two_columns_whose_documents_are_relevant():
    found = read("1048585\t7187158", "2\t1782337", "2\t1782337")
    assert found.judgments == {"1048585": {b"7187158": 1}, "2": {b"1782337": 1}}
    assert found.columns == "topic-document"
    assert [(each.code, each.count) for each in found.warnings] == [("repeated-judgment", 1), ("no-levels", 2)]


@pytest.mark.parametrize("flag", ["", " 0", " 1"])
def test_or_second_with_a_flag_that_is_ignored(flag):
    found = read(f"0001 S d1{flag}", f"0001 B d2{flag}", f"0001 C d3{flag}", levels=BAS)
    assert found.columns == "topic-level-document"
    assert found.judgments == {"0001": {b"d1": 3, b"d2": 1, b"d3": 0}}


@pytest.mark.parametrize("letter", ["C", "D", "L0"])
def test_c_and_d_of_early_ntcir_are_judged_nonrelevant(letter):
    assert read(f"1 d {letter}", "1 e L1").judgments["1"] == {b"d": 0, b"e": 1}


def test_a_declared_name_means_what_the_collection_says():
    assert read("1 d C", "1 e D", levels=["D", "C"]).judgments["1"] == {b"d": 2, b"e": 1}


def test_an_iteration_is_no_level_even_where_levels_are_named_by_integers():
    found = read("1 0 d 1", "1 0 e 0", levels=["0", "1"])
    assert (found.columns, found.judgments["1"]) == ("trec", {b"d": 1, b"e": 0})


@pytest.mark.parametrize(
    "lines", [("1 L1 L2", "1 L2 L1"), ("1 d e", "1 f g"), ("1 d 4",), ("1 L1 d", "1 d L1"), ("1 0 d 1", "1 d L1")]
)
def test_a_file_that_fits_two_layouts_or_none_is_ambiguous(lines):
    assert faults_of(*lines) == [("ambiguous-columns", None, None, None)]


def test_the_caller_can_say_which_columns_they_are():
    lines = ("1 L1 L2", "1 L2 L1")
    third = read(*lines, columns="topic-document-level")
    second = read(*lines, columns="topic-level-document")
    assert third.judgments == {"1": {b"L1": 2, b"L2": 1}}
    assert second.judgments == {"1": {b"L2": 1, b"L1": 2}}


def test_a_layout_that_there_is_not_is_named_with_those_there_are():
    with pytest.raises(InvalidRequest, match="trec, topic-document-level, topic-level-document"):
        read("1 0 d 1", columns="ntcir")


@pytest.mark.parametrize("level", ["4", "-128", "x", "1.0", "L2", "1_0", "+", "9" * 30])
def test_a_level_outside_the_scale_is_a_fault_of_its_line(level):
    assert faults_of("301 0 a 1", f"301 0 b {level}", "301 0 c 3") == [("bad-level", 2, None, "301")]


@pytest.mark.parametrize("line", ["1 d L4", "1 d s", "1 d 4"])
def test_a_token_that_is_no_level_is_a_fault_of_its_line(line):
    assert faults_of("1 a S", "1 b L1", line, levels=BAS) == [("bad-level", 3, None, "1")]


def test_the_message_names_the_levels_there_are():
    with pytest.raises(FaultyFile, match="'X' of document 'd' is not one of B, A, S, C, D, L0 to L3"):
        read("1 a S", "1 d X", levels=BAS)
    with pytest.raises(FaultyFile, match="'7' of document 'd' is not an integer from -127 to 3"):
        read("1 0 d 7")


def test_one_misspelt_level_does_not_turn_a_file_of_letters_into_one_of_flags():
    assert faults_of("1 A a 1", "1 B b 0", "1 Q c 1", levels=BAS) == [("bad-level", 3, None, "1")]


@pytest.mark.parametrize("line", ["301 0 a", "301 0 a 1 x", "301"])
def test_a_line_with_other_columns_than_the_rest_is_at_fault(line):
    assert faults_of("301 0 c 1", "301 0 d 1", line) == [("bad-columns", 3, None, None)]


def test_a_run_sent_as_qrels_has_a_fault_in_every_line():
    assert [fault[:2] for fault in faults_of("1 Q0 a 1 9 t", "1 Q0 b 2 8 t")] == [
        ("bad-columns", 1),
        ("bad-columns", 2),
    ]


def test_a_document_judged_twice_at_different_levels_names_both_lines():
    faults = faults_of("301 0 a 1", "301 0 b 1", "301 0 a 2")
    assert faults == [("conflicting-judgment", 3, (1, 3), "301")]


def test_a_document_judged_twice_at_the_same_level_is_a_warning():
    found = read("301 0 a 1", "301 0 a 1", "302 0 a 2", "301 0 a 01")
    assert found.judgments == {"301": {b"a": 1}, "302": {b"a": 2}}
    assert [(warning.code, warning.count) for warning in found.warnings] == [("repeated-judgment", 2)]


def test_the_topic_all_is_reserved():
    assert faults_of("all 0 a 1", "all 0 b 1") == [("reserved-topic", 1, None, "all")]


@pytest.mark.parametrize("data", [b"", b"\n \n", b"# only\n"])
@pytest.mark.parametrize("columns", [None, "trec"])
def test_a_file_without_judgments_is_empty(data, columns):
    with pytest.raises(FaultyFile) as refused:
        read_qrels([data], levels=3, columns=columns)
    assert [fault.code for fault in refused.value.faults] == ["empty-file"]


def test_unreadable_lines_are_faults_beside_the_others():
    assert [fault[:2] for fault in faults_of("1 0 a\x00 1", "1 0 b 9", "1 0 c 1")] == [
        ("bad-encoding", 1),
        ("bad-level", 2),
    ]


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


def test_limits_hold_for_qrels():
    with pytest.raises(TooLarge, match="GAINBOARD_MAX_LINES"):
        read("1 0 a 1", "1 0 b 1", limits=FileLimits(lines=1))


@pytest.mark.parametrize("line", ["short", "1 0 d 9", "1 0 d x", "a\x00 b", "1 B d 1 2"])
@pytest.mark.parametrize("columns", [None, "trec", "topic-level-document"])
def test_after_a_thousand_faults_in_every_layout_the_rest_is_not_read(line, columns):
    endless = iter(lambda: f"1 0 a 1\n1 a B\n1 B c\n{line}\n".encode() * 99, None)
    with pytest.raises(FaultyFile) as refused:
        read_qrels(endless, levels=BAS, columns=columns)
    assert refused.value.is_minimum or refused.value.faults[0].code == "ambiguous-columns"


def test_a_file_is_not_given_up_while_it_fits_one_layout():
    found = read(*(f"{topic} B d" for topic in range(5000)), levels=BAS, limits=FileLimits(faults=2))
    assert (found.columns, len(found.judgments)) == ("topic-level-document", 5000)


def test_conflicts_end_the_reading_as_other_faults_do():
    with pytest.raises(FaultyFile, match="at least 1,000 faults") as refused:
        read(*(f"1 0 d{number} {level}" for level in (1, 2) for number in range(3000)))
    assert refused.value.faults[0].lines == (1, 3001)


def test_skipped_lines_are_limited_in_qrels():
    limits = FileLimits(skipped_lines=2)
    assert read("#", "", "1 0 a 1", "#", limits=limits).judgments == {"1": {b"a": 1}}
    for lines in (["#", "", "#", "1 0 a 1"], ["1 0 a 1", "", "", "", ""]):
        with pytest.raises(TooLarge, match="blank lines and comments"):
            read(*lines, limits=limits)


JUDGED = st.dictionaries(
    st.sampled_from(["1", "2", "é"]),
    st.dictionaries(st.text("dxé\u2028", min_size=1, max_size=3), st.integers(0, 3), min_size=1),
    min_size=1,
)


@given(JUDGED, st.integers(1, 50))
def test_every_layout_gives_the_same_judgments_from_chunks_of_any_size(judged, size):
    flat = [(topic, document, level) for topic, its in judged.items() for document, level in its.items()]
    texts = {
        "trec": "".join(f"{topic} 0 {document} {level}\n" for topic, document, level in flat),
        "topic-document-level": "".join(f"{topic} {document} L{level}\n" for topic, document, level in flat),
        "topic-level-document": "".join(f"{topic} L{level} {document} 1\n" for topic, document, level in flat),
    }
    right = {topic: {document.encode(): level for document, level in its.items()} for topic, its in judged.items()}
    for columns, text in texts.items():
        data = text.encode()
        found = read_qrels([data[at : at + size] for at in range(0, len(data), size)], levels=3)
        assert (found.columns, dict(found.judgments)) == (columns, right)


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


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("1 Q0 d 1 2.5 tag", "It looks like a line of a run: were the two files exchanged?"),
        ("1,0,d,1", "Separate the columns by spaces or tabs, not by commas"),
        ("1 1 0.75", f"the probability of an intent. To read qrels by intent, {BY_INTENT}"),
        ("1 d 1.5", "iteration, document id, level"),
        ("1 d 1", "Is the second column missing, which is 0 in most files?"),
        ("1 d", "iteration, document id, level"),
    ],
)
def test_the_likely_cause_of_a_line_with_other_columns_is_told(line, cause):
    with pytest.raises(FaultyFile) as refused:
        read("1 0 a 1", "1 0 b 1", line)
    assert refused.value.faults[0].message.endswith(cause)


def test_judgments_by_intent_are_recognised_by_their_second_column():
    with pytest.raises(FaultyFile) as refused:
        read("1 1 a 1", "1 2 a 0", "1 2 a 2", "2 0 a 1", "2 0 a 0")
    first, second, other = (fault.message for fault in refused.value.faults)
    assert first == (
        "document 'a' has level 0 here, but level 1 on line 1. If the second column names intents (subtopics), read "
        "the file by intent: set `intents` of the collection, or use `--intents`"
    )
    assert second.endswith(BY_INTENT)
    assert other.endswith("but level 1 on line 4. Keep one of the two lines")


def test_many_values_of_the_second_column_are_told_apart():
    lines = [f"1 {number} d{number} 1" for number in range(300)]
    with pytest.raises(FaultyFile) as refused:
        read(*lines, "1 300 d3 0", "1 299 d299 0")
    assert [fault.message.endswith(BY_INTENT) for fault in refused.value.faults] == [True, False]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ["query-id corpus-id score", "q1 d1 1.0", "q1 d2 0.0"],
            "level '1.0' of document 'd1' is not .* Write it as 1$",
        ),
        (["query-id corpus-id score", "8 12 0.5"], "level '0.5' of document '12' .* A level is a whole number"),
        (["8 566392 1.0", "8 65404 2.0"], "level '1.0' of document '566392' is not .* Write it as 1$"),
        (["q1 0 d1 1.0"], "level '1.0' of document 'd1' is not .* Write it as 1$"),
        (["q49 0 p3659", "q49 0 p11027"], "The level is missing at the end of the line"),
        (["q49 Q0 3659"], "The level is missing"),
        (["1 0 12", "1 0 7"], "The level is missing"),
        (["1 0 1", "1 0 7"], "level '7' of document '0' .* Is the level missing\\?"),
        (["1 0 1", "1 0 2"], "has level 2 here, but level 1 on line 1. Is the level missing\\?"),
        (["q49 0 p1 ?"], "level '\\?' of document 'p1' is not .* The level is missing"),
        (["1 0 a 1", "1 0 b"], "The level is missing at the end of the line"),
    ],
)
def test_a_level_that_is_missing_or_a_decimal_number_is_named(lines, told):
    with pytest.raises(FaultyFile) as refused:
        read(*lines)
    message = refused.value.faults[0].message
    assert re.search(told, message)
    assert "intent" not in message


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


@pytest.mark.parametrize(
    "header", ["query-id\tcorpus-id\tscore", "Query_ID Corpus_ID Score", '"qid" "corpus-id" "score"']
)
def test_a_header_of_beir_is_skipped_in_any_spelling(header):
    found = read(header, "1 d1 1")
    assert found.judgments == {"1": {b"d1": 1}}
    assert [each.code for each in found.warnings] == ["header"]


def test_ids_that_are_words_are_no_header():
    assert read("topic 0 document 1", "query 0 doc 0").judgments == {"topic": {b"document": 1}, "query": {b"doc": 0}}


def test_a_file_of_probabilities_alone_is_recognised():
    with pytest.raises(FaultyFile) as refused:
        read("1 1 0.75", "1 2 0.25")
    (fault,) = refused.value.faults
    assert fault.code == "ambiguous-columns"
    assert fault.message.endswith(BY_INTENT)
