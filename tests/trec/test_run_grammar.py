"""The run format against a second reading of it: a plain loop over all lines, written here from the definition."""

import ctypes
import re
from itertools import groupby

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gainboard.errors import FaultyFile, TooLarge
from gainboard.trec import FileLimits, TopicsInterleaved
from gainboard.trec.bodies import other_format_of
from tests.thorough import examples
from tests.trec.readers import EitherReader as RunReader
from tests.trec.readers import by_line

SCORE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
RANK = re.compile(r"[+-]?\d{1,18}", re.ASCII)
LIMITS = FileLimits(lines=12, line_bytes=120)


def columns_of(line):
    if any((byte < 32 and byte != 9) or byte == 127 for byte in line):
        return None
    try:
        return [column for column in line.decode().replace("\t", " ").split(" ") if column]
    except UnicodeDecodeError:
        return None


def is_score(token):
    return bool(SCORE.fullmatch(token)) and abs(float(token)) < float("inf")


def lines_of(data, odd):
    odd["byte-order-mark"] = data.startswith(b"\xef\xbb\xbf")
    lines = data[3 * odd["byte-order-mark"] :].split(b"\n")
    odd["no-final-newline"] = lines[-1] != b""
    return lines if lines[-1] else lines[:-1]


def rows_of(lines, odd, faults):
    """(line number, columns) of every line that can be read."""
    rows = []
    separators = set()
    for number, line in enumerate(lines, start=1):
        odd["crlf"] = odd.get("crlf", 0) + line.endswith(b"\r")
        line = line.removesuffix(b"\r")
        if line.startswith((b"#", b"<SYSDESC>")):
            continue
        columns = columns_of(line)
        if columns is None:
            faults.append((number, "bad-encoding", None, None))
        elif not columns:
            odd["blank-lines"] = odd.get("blank-lines", 0) + 1
        else:
            separators |= set(line) & {9, 32}
            if len(columns) == 6:
                rows.append((number, columns))
            else:
                faults.append((number, "bad-columns", None, None))
    odd["mixed-whitespace"] = len(separators) == 2
    return rows


def repeated(values):
    """(number of the first, number of the repetition) of each (number, value) whose value came before."""
    return [
        (next(first for first, other in values if other == value), number)
        for place, (number, value) in enumerate(values)
        if value in [other for _, other in values[:place]]
    ]


def topic_faults(topic, rows, by_rank):
    faults = [(rows[0][0], "reserved-topic", topic, None)] * (topic == "all")
    for number, (_, _, _, rank, score, _) in rows:
        if by_rank and not RANK.fullmatch(rank):
            faults.append((number, "bad-rank", topic, None))
        elif not is_score(score):
            faults.append((number, "bad-number", topic, None))
    doubles = repeated([(number, row[2]) for number, row in rows])
    faults += [(number, "duplicate-document", topic, (first, number)) for first, number in doubles]
    ranks = [(number, int(row[3])) for number, row in rows if RANK.fullmatch(row[3])]
    doubles = repeated(ranks) if by_rank else []
    return faults + [(number, "bad-rank", topic, (first, number)) for first, number in doubles]


def agreement_of(rows, order_by):
    """Whether some scores are equal and some are not, all are equal, and a rank contradicts a score."""
    single = order_by == "score32"
    scores = [ctypes.c_float(float(row[4])).value if single else float(row[4]) for _, row in rows]
    distinct = len(set(scores))
    scored = order_by != "rank"
    contradicts = any(order_of(rows, order_by))
    return scored and 1 < distinct < len(scores), scored and 1 == distinct < len(scores), contradicts


def order_of(rows, order_by):
    """For each pair of documents with different scores, whether the ranks contradict the scores; none without ranks."""
    if not all(RANK.fullmatch(row[3]) for _, row in rows):
        return []
    single = order_by == "score32"
    placed = [(ctypes.c_float(float(row[4])).value if single else float(row[4]), int(row[3])) for _, row in rows]
    return [rank > other for score, rank in placed for its_score, other in placed if score > its_score]


def ranking_of(rows, order_by):
    single = order_by == "score32"

    def key(text):
        return ctypes.c_float(float(text)).value if single else float(text)

    by_score = sorted((row for _, row in rows), key=lambda row: (key(row[4]), row[2].encode()), reverse=True)
    order = sorted(by_score, key=lambda row: int(row[3])) if order_by == "rank" else by_score
    return [(row[2].encode(), float(row[4])) for row in order]


def expected(data, order_by, depth):
    if other_format_of(data.removeprefix(b"\xef\xbb\xbf")):  # test_other_formats.py says of which files this is right
        return ("faults", [(1, "other-format", None, None)])
    odd = {}
    faults = []
    lines = lines_of(data, odd)
    if len(lines) > LIMITS.lines or any(len(line) > LIMITS.line_bytes for line in lines):
        return ("too-large",)
    rows = rows_of(lines, odd, faults)
    topics = {}
    for number, row in rows:
        topics.setdefault(row[0], []).append((number, row))
    for topic, its_rows in topics.items():
        faults += topic_faults(topic, its_rows, order_by == "rank")
    if not rows and not faults:
        faults.append((None, "empty-file", None, None))
    if faults:
        return ("faults", sorted(faults, key=lambda fault: (fault[0] or 0, fault[1])))
    rankings = {topic: ranking_of(its_rows, order_by) for topic, its_rows in topics.items()}
    pairs = [found for its_rows in topics.values() if (found := order_of(its_rows, order_by))]
    odd["rising-scores"] = len(pairs) if order_by != "rank" and all(all(each) for each in pairs) else 0
    for code, topics_with in zip(
        ("tied-scores", "all-scores-equal", "rank-contradicts-score"),
        zip(*(agreement_of(its_rows, order_by) for its_rows in topics.values()), strict=True),
        strict=True,
    ):
        odd[code] = sum(topics_with)
    tags = [row[5] for _, row in rows]
    odd["mixed-tags"] = len(set(tags)) * (len(set(tags)) > 1)
    warnings = {code: None if count is True else count for code, count in odd.items() if count}
    kept = [(topic, ranking[:depth]) for topic, ranking in rankings.items()]
    return ("run", kept, warnings, tags[0], len(set(tags)), len(topics), len(rows))


def outcome(reader):
    try:
        rankings = [(found.topic, list(zip(found.documents, found.scores.tolist(), strict=True))) for found in reader]
    except FaultyFile as error:
        return ("faults", [(fault.line, fault.code, fault.topic, fault.lines) for fault in by_line(error.faults)])
    except TooLarge:
        return ("too-large",)
    warnings = {warning.code: warning.count for warning in reader.warnings}
    return ("run", rankings, warnings, reader.tag, reader.tags, reader.topics, reader.retrieved)


TOPICS = st.sampled_from(["1", "1", "2", "3", "all", "é"])
DOCUMENTS = st.sampled_from([*"abcdefgh", "d_1", "\u2028", "\u00a0x", "#d"])
RANKS = st.sampled_from([*"0123456789", "01", "-1", "+2", "1.0", "1_0", "x", "9" * 19])
ODD_SCORES = st.sampled_from(
    ["1.", ".5", "-0", "0", "+3", "1e-400", "nan", "inf", "1e999", "1_0", "\uff11", "1e", "0x1", ".", "-", "Infinity"]
)
GOOD_SCORES = st.sampled_from(["9", "8.5", "8.5", "7", "-1", "1e1", "0.1", "0.10000000001", "1e39", "1e40"])
TAGS = st.sampled_from(["t", "t", "t", "u"])
SEPARATORS = st.sampled_from([" ", " ", " ", "\t", "  ", " \t "])
ENDINGS = st.sampled_from(["\n", "\n", "\n", "\n", "\r\n"])
ODD_LINES = st.sampled_from(
    ["", " ", "\t", "# 2 3 4 5 6", "#", "<SYSDESC>a b c d e", " # b c d e f", "1 Q0 a 1 1", "1 Q0 a 1 1 t u"]
)
NASTY = st.sampled_from([b"\x00", b"\r", b"\n", b"\x0b", b"\x7f", b"\xc3", b"\xa9", b"#", b" ", b"\t", b"\x1c"])


@st.composite
def faultless_files(draw):
    """Topics in any order, their documents distinct and their ranks too."""
    pairs = draw(st.lists(st.tuples(st.sampled_from("123"), DOCUMENTS), min_size=1, max_size=9, unique=True))
    if draw(st.booleans()):
        pairs.sort()
    ranks = draw(st.permutations(range(len(pairs)))) if draw(st.booleans()) else range(len(pairs))
    between = draw(SEPARATORS)
    lines = [
        between.join([topic, "Q0", document, str(rank), draw(GOOD_SCORES), draw(TAGS)])
        for (topic, document), rank in zip(pairs, ranks, strict=True)
    ]
    return "".join(line + draw(ENDINGS) for line in lines).encode()


@st.composite
def faulty_files(draw):
    row = st.tuples(TOPICS, st.just("Q0"), DOCUMENTS, RANKS, ODD_SCORES | GOOD_SCORES, TAGS)
    lines = draw(st.lists(st.builds(lambda between, row: between.join(row), SEPARATORS, row), max_size=9))
    return "".join(line + draw(ENDINGS) for line in lines).encode()


@st.composite
def mutated_files(draw):
    """A file with odd lines put in, bytes changed or lost, a mark before it or its end missing."""
    data = draw(faultless_files() | faulty_files())
    for odd in draw(st.lists(ODD_LINES, max_size=2)):
        lines = data.splitlines(keepends=True)
        lines.insert(draw(st.integers(0, len(lines))), odd.encode() + b"\n")
        data = b"".join(lines)
    for nasty in draw(st.lists(NASTY, max_size=2)):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + nasty + data[at + draw(st.integers(0, 2)) :]
    data = data.removesuffix(b"\n") if draw(st.booleans()) else data
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb", b"x" * 121])) + data


FILES = faultless_files() | mutated_files()
ORDERS = st.sampled_from(["score", "score32", "rank"])


@settings(max_examples=examples(400))
@given(FILES, ORDERS, st.sampled_from([1, 3, 1000]), st.integers(1, 80))
def test_every_way_of_reading_agrees_with_the_plain_loop(data, order_by, depth, size):
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    options = {"order_by": order_by, "depth": depth, "limits": LIMITS, "gather": True}
    right = expected(data, order_by, depth)
    assert outcome(RunReader([data], **options)) == right
    assert outcome(RunReader(chunks, **options)) == right
    assert outcome(RunReader(chunks, **options, plain=True)) == right


@settings(max_examples=examples(200))
@given(FILES, st.integers(1, 80))
def test_reading_topic_by_topic_gives_what_gathering_gives_unless_topics_interleave(data, size):
    assume(other_format_of(data) is None)  # such a file is refused before any topic is read
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    right = outcome(RunReader([data], gather=True))
    topics = [row[0] for _, row in rows_of(lines_of(data, {}), {}, [])]
    stretches = [topic for topic, _ in groupby(topics)]
    for plain in (False, True):
        try:
            assert outcome(RunReader(chunks, plain=plain)) == right
            assert len(stretches) == len(set(stretches))
        except TopicsInterleaved:
            assert len(stretches) > len(set(stretches))
