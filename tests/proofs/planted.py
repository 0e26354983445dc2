"""Faults that are planted in generated files: one fault in one line, and what a reader must report."""

from typing import NamedTuple

from tests.proofs.generated import RUN, SCORES, SKIPPED, judged_row, judgment

BAD_NUMBERS = ["nan", "NaN", "inf", "-Infinity", "1e999", "-1e309", "1_000", "\uff11", "\u0661", "0x1p3", "--1", "1,5"]
BAD_NUMBERS += [".", "+", "e5", "1e", "1e+", "1.5f", "½", "1.2.3", "1e1.5", "x", "1-", "−1", "1e5_0", "null", "true"]
BAD_RANKS = ["x", "1.0", "1_0", "1e1", "9" * 19, "\u0661", "-", "+", "--1", "0x1"]
UNREADABLE = [b"\x00", b"\x01", b"\x0b", b"\x0c", b"\r", b"\x1b", b"\x1c", b"\x1f", b"\x7f", b"\xff", b"\xc0\xaf"]
UNREADABLE += [b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80", b"\xc3"]


class Planted(NamedTuple):
    """A fault: its code, its line (None for the whole file), its topic, and both lines of a repetition."""

    code: str
    line: int | None = None
    topic: str | None = None
    lines: tuple[int, int] | None = None


def plant(draw, file):
    plants = RUN_FAULTS if file.kind == RUN else QRELS_FAULTS
    return draw.choice(plants)(draw, file)


def _some(draw, file):
    return draw.choice(file.data())


def _columns(draw, file):
    number, row = _some(draw, file)
    if file.kind == RUN:
        how = draw.choice(["one less", "one more", "alone"])
    else:
        how = draw.choice(["one more", "two more", "alone"])
    if how == "one less":
        del row[draw.randrange(1, len(row))]
    elif how == "alone":
        del row[1:]
    else:
        wide = len(row) + (2 if how == "two more" else 1)
        if file.layout == "topic-level-document":
            wide = max(wide, 5)
        if file.layout == "topic-document-level" and wide == 4 and file.form["columns"] is None:
            wide = 5
        row += [b"more"] * (wide - len(row))
    return Planted("bad-columns", number)


def _last_column(draw, file):
    if file.layout != "topic-level-document":
        return _columns(draw, file)
    number, row = _some(draw, file)
    row[3:] = [draw.choice([b"2", b"-1", b"x", b"00"])]
    return Planted("bad-columns", number)


def _number(draw, file):
    number, row = _some(draw, file)
    row[4] = draw.choice(BAD_NUMBERS).encode()
    return Planted("bad-number", number, row[0].decode())


def _rank(draw, file):
    if file.form["order_by"] != "rank":
        return _number(draw, file)
    number, row = _some(draw, file)
    if draw.random() < 0.5:
        row[3] = draw.choice(BAD_RANKS).encode()
        return Planted("bad-rank", number, row[0].decode())
    same = f"{int(row[3]):{draw.choice(['', '+', '04'])}}".encode()
    return _repeat(draw, file, number, [*row[:2], b"another", same, *row[4:]], "bad-rank")


def _document(draw, file):
    number, row = _some(draw, file)
    score = SCORES[draw.choice(sorted(SCORES))](draw).encode()
    return _repeat(draw, file, number, [*row[:3], b"77", score, row[5]], "duplicate-document")


def _repeat(draw, file, number, row, code):
    """Insert a line somewhere, which repeats something of line `number`. The later of the two is at fault."""
    place = draw.randint(0, len(file.lines))
    file.lines.insert(place, row)
    lines = (place + 1, number + 1) if place < number else (number, place + 1)
    return Planted(code, lines[1], row[0].decode(), lines)


def _encoding(draw, file):
    number, row = _some(draw, file)
    column = draw.randrange(len(row))
    row[column] = row[column] + draw.choice(UNREADABLE) + b"x"
    return Planted("bad-encoding", number)


def _reserved(draw, file):
    number, row = _some(draw, file)
    row[0] = b"all"
    return Planted("reserved-topic", number, "all")


def _empty(draw, file):
    file.lines = [draw.choice(SKIPPED) for _ in range(draw.randint(0, 4))]
    return Planted("empty-file")


def _bad_level(draw, file):
    number, row = _some(draw, file)
    if file.layout == "trec":
        wrong = [f"{file.highest + 1}", "-128", "1.0", "1_0", "\u0661", "L1", "X", "9" * 19, "1e0", "-"]
        row[3] = draw.choice(wrong).encode()
    else:
        wrong = [f"L{file.highest + 1}", "l0", "L-1", "L01", "X", "-129", "L\uff11", "c"]
        row[2 if file.layout == "topic-document-level" else 1] = draw.choice(wrong).encode()
        if file.layout == "topic-level-document":
            del row[3:]
    return Planted("bad-level", number, row[0].decode())


def _conflict(draw, file):
    _, row = _some(draw, file)
    topic, document, level = judged_row(file, row)
    for again in [number for number, other in file.data() if judged_row(file, other)[:2] == (topic, document)][:0:-1]:
        del file.lines[again - 1]
    (number,) = (number for number, other in file.data() if judged_row(file, other)[:2] == (topic, document))
    others = [draw.choice([each for each in range(-127, file.highest + 1) if each != level])]
    tokens = [b"%d" % others[0]] if file.layout == "trec" else sorted(t for t, n in file.names.items() if n != level)
    line = judgment(draw, file, topic.decode(), document.decode(), draw.choice(tokens))
    return _repeat(draw, file, number, line, "conflicting-judgment")


def _ambiguous(draw, file):
    is_level = draw.random() < 0.5
    tokens = sorted(file.names) if is_level else [b"x", b"y", b"L99"]
    lines = [[b"%d" % number, draw.choice(tokens), draw.choice(tokens)] for number in range(draw.randint(1, 5))]
    file.lines, file.form = [*lines], file.form | {"columns": None}
    return Planted("ambiguous-columns")


RUN_FAULTS = (_columns, _number, _number, _rank, _rank, _document, _document, _encoding, _encoding, _reserved, _empty)
QRELS_FAULTS = (
    _columns,
    _last_column,
    _bad_level,
    _bad_level,
    _conflict,
    _conflict,
    _encoding,
    _reserved,
    _empty,
    _ambiguous,
)
