"""The compiled pass: what it reads is to the bit what the plain reader and the plain join make of the file."""

from dataclasses import fields
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gainboard.acceleration import is_installed
from gainboard.errors import FaultyFile, TooLarge
from gainboard.evaluation.runs.join import JudgedTopics, QrelsIndex, assemble_joined, judge
from gainboard.evaluation.runs.run_files import NO_LIMITS, read_top_documents
from gainboard.metrics import RetrievalScores
from gainboard.trec import FileLimits, PackedJudgments, RunReader, compiled_pass, read_joined, topics
from gainboard.vocabulary import RunOrder
from tests.thorough import examples
from tests.trec.readers import read_gathering, told

pytestmark = pytest.mark.skipif(not is_installed(), reason="the fast extra is not installed")

HIGHEST = 3
TOPICS = ["9", "10", "1", "t-1", "T"]
DOCUMENTS = [*"abcdefgh", "d1", "d10", "d1-0", *TOPICS, "~", "!", "\u00e9"]
SCORES = st.sampled_from(
    ["9", "8.5", "8.50", "7", "-1.25", "0", "-0.0", "-0", ".5", "5.", "+3", "007", "100000000000000"]
)
ODD_SCORES = SCORES | st.floats(-1e300, 1e300).map(repr) | st.sampled_from(["1e1", "-2E-3", "0.1234567890123456789"])
SINGLE_TIES = st.sampled_from(["0.1", "0.10000000001", "1e39", "1e300", "12345678.9", "12345678.8"])
RANKS = st.integers(-3, 12).map(str) | st.sampled_from(["+1", "007", "9" * 18])


def index(levels):
    packed = PackedJudgments.of(levels)
    return QrelsIndex(packed, JudgedTopics.of(packed, HIGHEST))


@st.composite
def judgments(draw):
    documents = st.sampled_from(DOCUMENTS).map(str.encode)
    topics = st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)
    return {topic: draw(st.dictionaries(documents, st.integers(-127, HIGHEST))) for topic in draw(topics)}


@st.composite
def runs(draw, ranked):
    """A file of topics in blocks, of the common kind but for its numbers and blanks."""
    blank = draw(st.sampled_from([" ", "\t"]))
    gap, end = (blank * draw(st.sampled_from([1, 1, 3])), draw(st.sampled_from(["", "", blank])))
    scores = draw(st.sampled_from([SCORES, ODD_SCORES, SINGLE_TIES]))
    lines = []
    for topic in draw(st.lists(st.sampled_from(TOPICS), min_size=1, unique=True)):
        documents = draw(st.lists(st.sampled_from(DOCUMENTS[:-1]), min_size=1, unique=True))
        ranks = draw(st.permutations(range(len(documents)))) if ranked else draw(st.lists(RANKS, min_size=12))
        rows = zip(documents, map(str, ranks), strict=False)
        lines += [gap.join([topic, "Q0", document, rank, draw(scores), "tag"]) for document, rank in rows]
    return "".join(line + end + "\n" for line in lines).encode()


def orders():
    return st.builds(RunOrder, st.sampled_from(["score", "score32", "rank"]), st.booleans())


def compiled(chunks, qrels, **form):
    assert qrels.documents is not None
    return read_joined(chunks, qrels.documents, qrels.rows, **form)


def assert_same(found, right):
    """To the bit, and with the same types."""
    assert (found.unjudged, found.topics_unknown) == (right.unjudged, right.topics_unknown)
    mine, its = found.run.retrieval_scores, right.run.retrieval_scores
    for name in ("starts", "rank", "level", "retrieved"):
        assert bits(getattr(found.run, name)) == bits(getattr(right.run, name)), name
    for field in fields(RetrievalScores):
        assert bits(getattr(mine, field.name)) == bits(getattr(its, field.name)), field.name


def bits(values):
    return values.dtype, values.tobytes()


@settings(max_examples=examples(500))
@given(st.data(), judgments(), orders(), st.sampled_from([1, 3, 1000]))
def test_a_file_of_the_common_kind_is_read_and_joined_to_the_bit_as_plainly(data, levels, order, depth):
    file = data.draw(runs(ranked=order.order_by == "rank"))
    size, buffer = data.draw(st.integers(1, 120)), data.draw(st.sampled_from([1, 40, 200, 1 << 20]))
    chunks = [file[at : at + size] for at in range(0, len(file), size)]
    qrels = index(levels)
    form = {**order._asdict(), "depth": depth}
    reader = RunReader([file], **form)
    rankings = list(reader)
    right = judge(rankings, qrels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_pass, "BUFFER", buffer)
        found = compiled(chunks, qrels, **form, with_documents=True)
    assert (found.tag, found.warnings) == (reader.tag, reader.warnings)
    assert_same(assemble_joined(found, len(qrels.rows)), right)
    assert found.retrieved.tolist() == [len(ranking.documents) for ranking in rankings]
    assert found.documents == [document for ranking in rankings for document in ranking.documents]


ORDINARY = b"1 Q0 b 1 3 t\n1 Q0 a 2 2.5 t\n2 Q0 a 1 1e3 t\n"
QRELS = index({"1": {b"a": 1, b"b": 0}, "2": {}})


@pytest.mark.parametrize(
    "change",
    [
        (b"2 2.5", b"2.0 2.5"),
        (b" t\n2", b" u\n2"),
        (b" t\n2", b" t\r\n2"),
        (b" t\n2", b" t\n\n2"),
        (b" t\n2", b" t\n#\n2"),
        (b" t\n2", b" t\n 2"),
        (b" t\n2", b"\tt\n2"),
        (b"\n2 ", b"\n<SYSDESC> "),
        (b" a 2", b" \xc3\xa9 2"),
        (b"e3 t\n", b"e3 t"),
        (b"1 Q0 b", b"\xef\xbb\xbf1 Q0 b"),
    ],
)
def test_what_is_out_of_the_common_is_left_to_the_plain_reader(change):
    assert compiled([ORDINARY], QRELS) is not None
    assert ORDINARY.count(change[0]) == 1
    assert compiled([ORDINARY.replace(*change)], QRELS) is None


@pytest.mark.parametrize(
    "change",
    [
        (b" a 2", b" b 2"),
        (b"2.5", b"x"),
        (b"2.5", b"1e999"),
        (b" t\n2", b"\n2"),
        (b" t\n2", b" t t\n2"),
        (b"1 Q0 a", b"Q0 a"),
        (b"\n2 ", b"\nall "),
        (b" a 2", b" a\x7f 2"),
        (b" a 2", b" a\x01 2"),
        (b"e3 t\n", b"e3"),
    ],
)
@pytest.mark.parametrize("piece", [1, 1 << 15])
@pytest.mark.parametrize("buffer", [1, 1 << 18])
def test_a_fault_is_found_by_reading_the_lines_around_it_plainly(monkeypatch, change, piece, buffer):
    monkeypatch.setattr(compiled_pass, "PIECE", piece)
    monkeypatch.setattr(compiled_pass, "BUFFER", buffer)
    file = ORDINARY.replace(*change)
    assert file != ORDINARY
    chunks = [file[at : at + 5] for at in range(0, len(file), 5)]
    assert told(refused_by(lambda: read_gathering(chunks, QRELS.documents, {}))) == told(
        refused_by(lambda: RunReader([file], gather=True))
    )


def refused_by(read):
    with pytest.raises(FaultyFile) as refused:
        list(read())
    return refused.value


def test_a_fault_far_into_a_file_is_found_on_its_line_and_little_is_read_twice(monkeypatch):
    lines = [b"%d Q0 doc-%d 1 %d t\n" % (n // 1000, n, -n) for n in range(100_000)]
    lines[77_777] = lines[77_777].replace(b" t", b"x t")
    by_topic = [line for place in range(1000) for line in lines[place::1000]]
    plainly = 0

    class Counted(RunReader):
        def __init__(self, chunks, **form):
            nonlocal plainly
            plainly += b"".join(chunks).count(b"\n")
            super().__init__(chunks, **form)

    monkeypatch.setattr(compiled_pass, "RunReader", Counted)
    for file in (lines, by_topic):
        (fault,) = refused_by(partial(read_gathering, [b"".join(file)], QRELS.documents, {})).faults
        assert (fault.code, fault.line) == ("bad-number", file.index(lines[77_777]) + 1)
    assert plainly < 5000


@settings(max_examples=examples(200))
@given(st.data(), judgments(), st.sampled_from(["score", "score32", "rank"]), st.sampled_from([1, 40, 1 << 22]))
def test_interleaved_topics_are_read_and_joined_to_the_bit_as_plainly(data, levels, order_by, segment):
    lines = data.draw(runs(ranked=order_by == "rank")).splitlines(keepends=True)
    file = b"".join(data.draw(st.permutations(lines)))
    qrels = index(levels)
    reader = RunReader([file], order_by=order_by, gather=True)
    right = judge(reader, qrels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topics, "SEGMENT", segment)
        found = compiled([file[at : at + 9] for at in range(0, len(file), 9)], qrels, order_by=order_by, gather=True)
    assert (found.tag, found.warnings) == (reader.tag, reader.warnings)
    assert_same(assemble_joined(found, len(qrels.rows)), right)


def test_the_documents_of_interleaved_topics_are_those_of_the_plain_reader(monkeypatch):
    lines = [b"%d Q0 d%d 1 %d.5 t\n" % (topic, at, -(at * 7 % 37)) for at in range(37) for topic in (2, 10, 1)]
    order = RunOrder("score", ignore_identical_ids=False)
    found = read_top_documents(lambda: [b"".join(lines)], order, 5, NO_LIMITS)
    monkeypatch.setattr("gainboard.evaluation.runs.run_files.judged_documents", lambda judgments: None)
    assert read_top_documents(lambda: [b"".join(lines)], order, 5, NO_LIMITS) == found
    assert (found.topics, found.counts) == (["2", "10", "1"], [5, 5, 5])


def test_what_is_beyond_a_limit_is_left_to_the_plain_reader():
    for limit, size in {"lines": 3, "topic_lines": 2, "topics": 2, "line_bytes": 14}.items():
        assert compiled([ORDINARY], QRELS, limits=FileLimits(**{limit: size})) is not None
        assert compiled([ORDINARY], QRELS, limits=FileLimits(**{limit: size - 1})) is None
    file = ORDINARY + b"1 Q0 c 3 1 t\n"
    for limit, size in {"lines": 4, "topic_lines": 3, "topics": 2, "line_bytes": 14}.items():
        assert compiled([file], QRELS, gather=True, limits=FileLimits(**{limit: size})) is not None
        assert compiled([file], QRELS, gather=True, limits=FileLimits(**{limit: size - 1})) is None


@pytest.mark.parametrize("odd", [b"# comment\n", b"x" * 5000, b"short\n"])
def test_an_error_of_the_body_stands_if_the_plain_reader_need_not_read_the_lines_before_it(odd):
    def broken(lines):
        yield lines
        raise FileLimits().exceeded("decompressed_bytes", "The file has more bytes than")

    with pytest.raises(TooLarge, match="The file has more bytes"):
        compiled(broken(ORDINARY + b"2 Q0"), QRELS)
    assert compiled(broken(ORDINARY + odd), QRELS) is None
    assert compiled(broken(ORDINARY), QRELS, gather=True) is None


def test_ids_whose_hashes_are_alike_are_told_apart_by_their_bytes():
    documents = [b"%d" % number for number in range(50_000)]
    qrels = index({"1": {document: number % 4 for number, document in enumerate(documents)}})
    file = b"".join(b"1 Q0 %s 1 %d t\n" % (document, -number) for number, document in enumerate(documents))
    found = compiled([file], qrels, depth=100_000)
    assert found.level.tolist() == [number % 4 for number in range(50_000)]
