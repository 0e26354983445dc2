"""Run and qrels files that are made line by line, so that what they hold is known without reading them.

`draw_run` and `draw_qrels` make valid files with every oddity that the format allows. `written` returns their bytes.
"""

import struct
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

Columns = list[bytes]
RUN, QRELS = "run", "qrels"
MARK = b"\xef\xbb\xbf"


@dataclass
class File:
    """A file before it is written: its lines in order, and the form of a request to read it.

    A line of data is a list of columns. A line that readers skip is bytes.
    """

    kind: str
    lines: list[Columns | bytes]
    form: dict[str, str | int | list[str] | None]
    layout: str = "trec"
    highest: int = 0
    names: dict[bytes, int] = field(default_factory=dict)
    """The level of each token of the collection, in NTCIR's layouts."""
    is_plain: bool = False
    """The file is written as most programs write it, which is what the compiled reader reads."""

    def data(self):
        return [(number, line) for number, line in enumerate(self.lines, start=1) if isinstance(line, list)]


DOCUMENTS = [*"abAB09~!", *("d1", "d10", "d9", "d1-0", "10", "é", "z\u00a0z", "a\u2028b", "\u3000", "\ufeffd")]
DOCUMENTS += ["#d", "all", "nan", "1e5", '"q"', "-", "x" * 40, "日本", "\U0001f600", "a\u0085b", "=cmd()"]
PLAIN_DOCUMENTS = [each for each in DOCUMENTS if each.isascii()]
TOPICS = ["1", "2", "10", "9", "001", "t-1", "T", "All", "ALL", "x#", "é", "a\u00a0b", "-1", "nan", "all1"]
SCORES = {
    "integers": lambda draw: str(draw.randint(-3, 9)),
    "ties": lambda draw: draw.choice(["1", "1.0", "+1", "1.", "01", "1e0", "10E-1", "0.1e+1", "100e-2"]),
    "zeros": lambda draw: draw.choice(["0", "-0", "0.0", "-0.0", ".0", "0e9", "-0e-9", "1e-400"]),
    "eighths": lambda draw: repr(draw.randint(-40, 40) / 8),
    "exponents": lambda draw: draw.choice(["1e1", "-2E-3", "3e+2", ".5e1", "5.E0", "1e38", "1e-38", "7e-320"]),
    "near ties": lambda draw: draw.choice(["0.1", "0.10000000001", "12345678.9", "12345678.8", "16777217", "16777216"]),
    "large": lambda draw: draw.choice(["1e39", "1e300", "-1e300", "1e308", "9" * 20, "100000000000000"]),
    "doubles": lambda draw: repr(draw.uniform(-20, 20)),
    "long": lambda draw: f"{draw.random():.25f}",
}
COMMENTED_RUN = b"#1 Q0 d 1 1 t"
SKIPPED = [b"", b"", b" ", b"\t", b" \t ", b"#", b"# a comment", COMMENTED_RUN, b"<SYSDESC>", b"#\xff\x00"]
LEVEL_NAMES = [["B", "A", "S"], ["rel"], ["0", "1", "2"], ["C", "B"], ["low", "high", "é", "top"]]


def draw_run(draw):
    """Return a valid run of few lines."""
    is_plain = draw.random() < 0.6
    order_by = draw.choice(["score", "score", "score32", "rank"])
    styles = draw.sample(sorted(SCORES), draw.choice([1, 1, 2]))
    tags = draw.sample(["tag", "t2", "=cmd()", "a/../b"], 1 if is_plain else draw.choice([1, 1, 2]))
    lines = []
    for topic in draw.sample([each for each in TOPICS if each.isascii() or not is_plain], draw.randint(1, 4)):
        documents = draw.sample(PLAIN_DOCUMENTS if is_plain else DOCUMENTS, draw.randint(1, 6))
        for document, rank in zip(documents, _ranks(draw, len(documents), order_by, is_plain), strict=True):
            score = SCORES[draw.choice(styles)](draw)
            row = [topic, draw.choice(["Q0", "0", "x"]), document, rank, score, draw.choice(tags)]
            lines.append([column.encode() for column in row])
    if draw.random() < 0.1 or not is_plain:
        _shuffle(draw, lines)
    form = {"order_by": order_by, "depth": draw.choice([1000, 1000, 3, 1])}
    return File(RUN, lines, form, is_plain=is_plain)


def _ranks(draw, count, order_by, is_plain):
    if order_by == "rank":
        ranks = draw.sample(range(-3, 20), count)
        return [draw.choice([str(rank), f"{rank:+}", f"{rank:03}"]) for rank in ranks]
    if not is_plain and draw.random() < 0.1:
        return [draw.choice(["x", "1.5", "1"]) for _ in range(count)]
    return [str(rank) for rank in (range(1, count + 1) if draw.random() < 0.7 else draw.choices(range(5), k=count))]


def draw_qrels(draw):
    """Return valid qrels of few lines, in any layout."""
    levels = draw.randint(1, 4) if draw.random() < 0.5 else draw.choice(LEVEL_NAMES)
    named = [] if isinstance(levels, int) else levels
    highest = levels if isinstance(levels, int) else len(levels)
    tokens = {b"L%d" % level: level for level in range(highest + 1)} | {b"C": 0, b"D": 0}
    tokens |= {name.encode(): level for level, name in enumerate(named, start=1)}
    layout = draw.choice(["trec", "trec", "topic-document-level", "topic-level-document"])
    form = {"levels": levels, "columns": draw.choice([None, layout])}
    file = File(QRELS, [], form, layout, highest, tokens, is_plain=draw.random() < 0.5)
    judged = [(topic, document) for topic in draw.sample(TOPICS, 3) for document in draw.sample(DOCUMENTS, 4)]
    # A level's token as a document id would fit two layouts. Without `columns`, four lines decide against one fault.
    free = [(topic, document) for topic, document in judged if document.encode() not in tokens]
    for topic, document in free[: draw.randint(4 if form["columns"] is None else 1, len(free))]:
        file.lines.append(judgment(draw, file, topic, document, _level(draw, file)))
        if draw.random() < 0.05:
            file.lines.append(list(file.data()[-1][1]))
    if draw.random() < 0.5:
        _shuffle(draw, file.lines)
    return file


def _level(draw, file):
    if file.layout != "trec":
        return draw.choice(sorted(file.names))
    level = draw.choice([draw.randint(0, file.highest), draw.randint(0, file.highest), draw.randint(-127, -1)])
    return draw.choice([f"{level}", f"{level}", f"{level:+}", f"{level:03}"]).encode()


def judgment(draw, file, topic, document, level):
    if file.layout == "trec":
        return [topic.encode(), draw.choice([b"0", b"1", b"Q0"]), document.encode(), level]
    if file.layout == "topic-document-level":
        return [topic.encode(), document.encode(), level]
    # In four columns, an integer in the second column is TREC's iteration.
    last = [] if level.isdigit() else draw.choice([[], [b"0"], [b"1"]])
    return [topic.encode(), level, document.encode(), *last]


def _shuffle(draw, lines):
    how = draw.random()
    if how < 0.3:
        draw.shuffle(lines)
    for _ in range(draw.choice([0, 0, 1, 3])):
        lines.insert(draw.randint(0, len(lines)), draw.choice(SKIPPED))


def written(draw, file):
    """Return the bytes of a file, and the warnings about their form with their counts."""
    common = file.is_plain and draw.random() < 0.9
    blanks = [draw.choice([b" ", b"\t"])] if common else [b" ", b"\t", b"  ", b" \t"]
    edges = [b""] if common else [b"", b"", b" ", b"\t"]
    ends = [b"\n"] if common else draw.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
    raw = []
    for line in file.lines:
        if isinstance(line, bytes):
            raw.append(line)
            continue
        first, *rest = line
        raw.append(draw.choice(edges) + first + b"".join(draw.choice(blanks) + each for each in rest))
        raw[-1] += draw.choice(edges)
    closed = [line + draw.choice(ends) for line in raw]
    warnings = {}
    if raw and raw[-1] and draw.random() < (0.02 if common else 0.3):
        closed[-1] = raw[-1]
        warnings["no-final-newline"] = None
    data = b"".join(closed)
    if draw.random() < (0.02 if common else 0.3):
        data = MARK + data
        warnings["byte-order-mark"] = None
    of_data = b"".join(line for line, what in zip(raw, file.lines, strict=True) if isinstance(what, list))
    if b" " in of_data and b"\t" in of_data:
        warnings["mixed-whitespace"] = None
    counted = {
        "crlf": sum(line.endswith(b"\r\n") for line in closed),
        "commented-data": file.lines.count(COMMENTED_RUN) if file.kind == "run" else 0,
        "blank-lines": sum(isinstance(line, bytes) and not line.strip() for line in file.lines),
    }
    return data, warnings | {code: count for code, count in counted.items() if count}


def single(score):
    """Return a score in single precision; one that is too large becomes infinite."""
    try:
        found = struct.unpack("f", struct.pack("f", score))[0]
    except OverflowError:
        return float("inf") if score > 0 else -float("inf")
    return found


def rankings_of(file):
    """Return the rankings that a run holds, by topic, and the warnings about what it holds."""
    topics = {}
    for _, row in file.data():
        topics.setdefault(row[0], []).append(row)
    order_by, depth = file.form["order_by"], file.form["depth"]
    assert isinstance(depth, int)
    rankings = []
    odd = Counter()
    ranked = reversed_ = 0
    for topic, rows in topics.items():
        key = single if order_by == "score32" else float
        by_score = sorted(rows, key=lambda row: (key(float(row[4])), row[2]), reverse=True)
        scores = [key(float(row[4])) for row in rows]
        if order_by != "rank":
            odd["tied-scores"] += 1 < len(set(scores)) < len(scores)
            odd["all-scores-equal"] += 1 == len(set(scores)) < len(scores)
        if all(map(_is_integer, rows)):
            placed = list(zip(scores, (int(row[3]) for row in rows), strict=True))
            pairs = [rank > other for a, rank in placed for b, other in placed if a > b]
            odd["rank-contradicts-score"] += any(pairs)
            ranked, reversed_ = ranked + bool(pairs), reversed_ + (bool(pairs) and all(pairs))
        order = sorted(rows, key=lambda row: int(row[3])) if order_by == "rank" else by_score
        rankings.append((topic.decode(), [(row[2], float(row[4])) for row in order][:depth]))
    if order_by != "rank" and 0 < ranked == reversed_:
        odd["rising-scores"] = reversed_
    tags = len({row[5] for _, row in file.data()})
    odd["mixed-tags"] = tags if tags > 1 else 0
    return rankings, {code: count for code, count in odd.items() if count}


def _is_integer(row):
    return row[3].lstrip(b"+-").isdigit()


def judgments_of(file):
    """Return the judgments that qrels hold, by topic, and the warnings about what they hold."""
    judged = {}
    for _, row in file.data():
        topic, document, level = judged_row(file, row)
        judged.setdefault(topic.decode(), {})[document] = level
    again = len(file.data()) - sum(map(len, judged.values()))
    return judged, {"repeated-judgment": again} if again else {}


def judged_row(file, row):
    """Return the topic, the document and the level of a line of qrels."""
    document, level = {"trec": (2, 3), "topic-document-level": (1, 2)}.get(file.layout, (2, 1))
    return row[0], row[document], int(row[level]) if file.layout == "trec" else file.names[row[level]]


def is_in_blocks(file):
    """Return whether each topic of a run has its lines together."""
    topics = [topic for topic, _ in groupby(row[0] for _, row in file.data())]
    return len(topics) == len(set(topics))
