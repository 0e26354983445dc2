"""Makes docs/gallery.md: `python -m scripts.gallery`. It asks for every kind of job and report on the demo's campaign.

The service is one of this command alone.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from gainboard import demo
from gainboard.analyses.job_kinds import JobKind, every_kind
from gainboard.analyses.report_kinds import ReportKind, every_report_kind
from gainboard.client import Gainboard, Job, LocalGainboard, Report

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURES = DOCS / "gallery.md", DOCS / "gallery"
PREFACE = """# Gallery

Every kind of [job](jobs.md) and [report](reports.md), with a figure or a table of its result and the request for it.
All are of the demo's campaign of 20 topics and 15 runs (`demo-small`, which `gainboard demo` serves), so ask for
each yourself. `corrected-means` is of its large campaign, `demo`. Two others have the same runs as `demo-small`:
`judged-twice` has a second version and a second set of judgments, and `diverse` has judgments by intent.
`python -m scripts.gallery` makes this page.
"""
PARAMS: Mapping[str, Mapping[str, Any]] = {
    "bootstrap-sensitivity": {"metrics": ["AP", "Q", "nDCG@10", "P@10"]},
    "concordance": {"metrics": ["AP", "Q", "nDCG@10", "RR"]},
    "difficulty": {"metrics": ["nDCG@10"]},
    "rank-intervals": {"metrics": ["Q"]},
    "rank-correlation": {"metrics": ["AP", "Q", "nDCG@10", "P@10", "RR"]},
    "stability": {"metrics": ["AP", "Q", "nDCG@10", "P@10"]},
    "swap-rate": {"metrics": ["AP", "Q", "nDCG@10", "P@10"]},
    "leave-one-team-out": {"metrics": ["AP", "Q", "nDCG@10"], "pool_depth": 10},
    "judgments": {"against": 1},
    "judge-agreement": {"metrics": ["AP", "Q"], "sets": ["second"]},
}
"""What is asked for in place of a kind's own example, to show more."""
DIVERSE, TWICE = "diverse", "judged-twice"
COLLECTIONS = {"corrected-means": "demo", "judge-agreement": TWICE, "judgments": TWICE}
"""The collections of kinds that need more than `demo-small` has."""
ROWS, COLUMNS, LONGEST = 4, 5, 40
ACROSS = 3
AnyWork = Job | Report
Kind = JobKind[Any, Any] | ReportKind[Any]


def load(gainboard: LocalGainboard, folder: Path) -> None:
    """Load the two collections."""
    made = demo.small_campaign()
    runs = folder / "runs"
    runs.mkdir()
    for _, name, text in made.runs():
        (runs / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "intents.txt").write_text(_by_intent(made.qrels()), encoding="utf-8")
    gainboard.load("demo-small", made.qrels().encode(), str(runs), gains="3:2:1")
    gainboard.load(TWICE, made.qrels().encode(), str(runs), gains="3:2:1")
    gainboard.put_qrels(TWICE, _judged_again(made.qrels(), 40).encode())
    gainboard.put_qrels(TWICE, _judged_again(made.qrels(), 7).encode(), judgments="second")
    _load_large(gainboard, folder / "large")
    gainboard.load(DIVERSE, str(folder / "intents.txt"), str(runs), intents=True)


def _load_large(gainboard: LocalGainboard, folder: Path) -> None:
    """Load the demo's large campaign, whose judges are a model of all topics and people on some."""
    made = demo.campaign()
    folder.mkdir()
    for _, name, text in made.runs():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    gainboard.load("demo", made.qrels().encode(), str(folder), gains="3:2:1")
    gainboard.put_qrels("demo", made.model_qrels().encode(), judgments=demo.MODEL)
    gainboard.put_qrels("demo", made.people_qrels().encode(), judgments=demo.PEOPLE)


def _judged_again(qrels: str, one_of: int) -> str:
    """Return judgments of which one of so many differs by a level, as those of a second person."""

    def again(line: str) -> str:
        topic, zero, document, level = line.split()
        if crc32(f"{topic} {document}".encode()) % one_of == 0:
            level = str(int(level) - 1 if int(level) > 1 else int(level) + 1)
        return f"{topic} {zero} {document} {level}\n"

    return "".join(map(again, qrels.splitlines()))


def _by_intent(qrels: str) -> str:
    """Return judgments that give each document to one of three intents."""
    fields = (line.split() for line in qrels.splitlines())
    return "".join(
        f"{topic} {crc32(document.encode()) % 3 + 1} {document} {level}\n" for topic, _, document, level in fields
    )


def request_of(kind: Kind) -> dict[str, Any]:
    """Return the body that asks for a kind."""
    if isinstance(kind, JobKind):
        return {"kind": kind.name, "params": dict(PARAMS.get(kind.name, kind.example()["params"]))}
    collection = DIVERSE if kind.example_collection == DIVERSE else "demo-small"
    return {"name": kind.name, "collections": [collection]}


def mark_of(kind: Kind) -> str:
    """Return the line by which a test sees that a kind computes anew: its version is part of it."""
    version = kind.engine_version if isinstance(kind, JobKind) else kind.name
    return f"<!-- {kind.name}: {version} -->"


def section(gainboard: LocalGainboard, kind: Kind) -> Iterator[str]:
    """Yield the lines of a kind: a sentence, its figure or a part of its table, and the request."""
    yield f"### {kind.name}\n"
    yield f"{mark_of(kind)}\n"
    body = request_of(kind)
    if isinstance(kind, JobKind):
        yield f"{kind.summary} [All about it](jobs.md#{kind.name})\n"
        collection = COLLECTIONS.get(kind.name, "demo-small")
        path = f"/v1/collections/{collection}/jobs"
        if kind.is_change:
            yield "It changes the collection, so there is nothing to draw.\n"
        else:
            yield from _shown(gainboard.job(collection, kind.name, **body["params"]), kind.name)
    else:
        yield f"{kind.title}: {kind.reference}. [All about it](reports.md#{kind.name})\n"
        path = "/v1/reports"
        yield from _shown(gainboard.report(kind.name, body["collections"]), kind.name)
    yield f"```http\nPOST {path}\n{json.dumps(body)}\n```\n"


def _shown(work: AnyWork, name: str) -> Iterator[str]:
    """Write the first figure and yield the lines that show it, or else a part of the first table."""
    work.wait()
    answer = work.refresh()
    figure = next(iter(answer.figures or ()), None)
    if figure is not None:
        picture = str(work.figure(figure.name))
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")
        caption = " ".join(figure.caption.split()).replace("[", "(").replace("]", ")")
        yield f"![{caption}](gallery/{name}.svg)\n"
        yield f"{caption}\n"
        return
    header, *rows = csv.reader(work.table().csv.splitlines())
    lines = [header[:COLUMNS], ["---"] * len(header[:COLUMNS]), *(row[:COLUMNS] for row in rows[:ROWS])]
    yield "".join(f"| {' | '.join(cell[:LONGEST].replace('|', '/') for cell in line)} |\n" for line in lines)


def overview(kinds: Sequence[Kind]) -> Iterator[str]:
    """Yield a table of thumbnails, each of which leads to its part of the page."""
    drawn = [kind for kind in kinds if (PICTURES / f"{kind.name}.svg").exists()]
    yield f"| {' | '.join([' '] * ACROSS)} |\n| {' | '.join(['---'] * ACROSS)} |\n"
    for start in range(0, len(drawn), ACROSS):
        row = drawn[start : start + ACROSS]
        cells = [f"[![{kind.name}](gallery/{kind.name}.svg)](#{kind.name}) {kind.name}" for kind in row]
        yield f"| {' | '.join(cells + [' '] * (ACROSS - len(row)))} |\n"
    yield "\n"


def main() -> None:
    """Write the page and its pictures."""
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir()
    jobs, reports = every_kind(), every_report_kind()
    parts: dict[str, str] = {}
    with TemporaryDirectory() as name, Gainboard.local() as gainboard:
        load(gainboard, Path(name))
        every: tuple[Kind, ...] = (*jobs, *reports)
        for kind in every:
            parts[kind.name] = "\n".join(section(gainboard, kind))
            print(kind.name, flush=True)
    of_jobs = "\n".join(parts[kind.name] for kind in jobs)
    of_reports = "\n".join(parts[kind.name] for kind in reports)
    thumbnails = "".join(overview((*jobs, *reports)))
    PAGE.write_text(f"{PREFACE}\n{thumbnails}## Jobs\n\n{of_jobs}\n## Reports\n\n{of_reports}", encoding="utf-8")


if __name__ == "__main__":
    main()
