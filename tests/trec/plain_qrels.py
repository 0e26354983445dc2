"""What a qrels file means, written down line by line: the reader of the service must find the same.

It reads a file as a list of rows and looks at one row at a time. It is slow, and takes no account of limits.
"""

from gainboard.trec.findings import RESERVED_TOPIC, FileLimits, FileWarning
from gainboard.trec.layouts import LAYOUTS, layout_at_fault
from gainboard.trec.lines import Text
from tests.trec.readers import by_line

UNSAMPLED = (
    "Documents of the pool were not sampled (level -1). xinfAP, infNDCG and iP use them; for other metrics they are "
    "unjudged"
)


def read_plain(chunks, scale, columns):
    """Return the layout, the judgments and the warnings of a file, or its faults in line order."""
    text = Text(chunks, FileLimits())
    rows = [row for block in text.blocks() for row in text.rows(block)]
    found = [(fault.code, fault.line, None) for fault in by_line(text.faults.first())]
    if not rows and not found:
        return [("empty-file", None, None)]
    chosen = columns or decide([row for _, row in rows], scale)
    if chosen is None:
        return [("ambiguous-columns", None, None), *found]
    layout = LAYOUTS[chosen]
    judged = {}
    repeated, reserved = 0, False
    for number, row in rows:
        if layout.is_misshapen(row):
            found.append(("bad-columns", number, None))
            continue
        stratum = 0 if layout.stratum is None else row[layout.stratum]
        if layout.stratum is not None and not (stratum.isdigit() and len(stratum) < 3):
            found.append(("bad-stratum", number, None))
            continue
        if row[0] == RESERVED_TOPIC and not reserved:
            reserved = True
            found.append(("reserved-topic", number, None))
        level = 1 if layout.level is None else layout.read(scale, row[layout.level])
        if level is None:
            found.append(("bad-level", number, None))
            continue
        meaning = level, int(stratum)
        before, first = judged.setdefault((row[0], row[layout.document]), (meaning, number))
        if before != meaning:
            found.append(("conflicting-judgment", number, (first, number)))
        repeated += first != number
    if found:
        return sorted(found, key=lambda fault: (fault[1] or 0, fault[0]))
    warnings = [FileWarning("repeated-judgment", "Documents judged again at the same level", repeated)]
    flat = [(topic.decode(), document, level) for (topic, document), ((level, _), _) in judged.items()]
    told = [*text.warnings(layout.widths), *(warnings if repeated else [])]
    if layout.stratum is not None:
        sampled = [row for row in flat if row[2] >= 0]
        told += [FileWarning("unsampled-documents", UNSAMPLED, len(flat) - len(sampled))][: len(sampled) < len(flat)]
        flat = sampled
    if layout.level is None:
        message = "The file has no levels, as MS MARCO's qrels of two columns. Each document counts as level 1"
        told.append(FileWarning("no-levels", message, len(judged)))
    return chosen, sorted(flat), told


def decide(rows, scale):
    """Return the layout that most rows fit; None if two of them fit as many, or none fits rows of three columns."""
    fitting = {name: sum(layout.fits(scale, row) for row in rows) for name, layout in LAYOUTS.items()}
    most = max(fitting.values())
    if not most:
        of_three = [row for row in rows if len(row) == 3]
        return layout_at_fault(of_three[0]) if 2 * len(of_three) > len(rows) else "trec"
    best = [name for name, count in fitting.items() if count == most]
    return best[0] if len(best) == 1 else None
