"""Draws docs/gallery: `python -m scripts.gallery` asks for every kind of job and report on the demo's campaign.

With names of kinds, it draws these alone. The service is one of this command alone. `made.json` says what was asked,
for the page and for a test. The public score matrices are drawn where GAINBOARD_REAL_DATA has them; the name
`score-matrices` draws these alone.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Container, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from gainboard import demo
from gainboard.analyses.job_kinds import Kind, every_kind
from gainboard.analyses.report_kinds import ReportKind, every_report_kind
from gainboard.cli.loading import ScoreFiles
from gainboard.client import Gainboard, Job, LocalGainboard, Report

PICTURES = Path(__file__).parents[1] / "docs" / "gallery"
MADE = PICTURES / "made.json"
REPRODUCED = {
    "original": "badger-1-1",
    "baseline": "lemur-1-1",
    "reproduced": "badger-1-2",
    "reproduced_baseline": "lemur-1-2",
}
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
    "noise": {"metrics": ["AP", "nDCG@10"]},
    "reproduction": {"metrics": ["AP"], "pairs": [REPRODUCED]},
    "judge-validity": {"judges": ["official", "second"], "families": {"acme": ["koala-1", "lemur-1"]}},
}
"""What is asked for in place of a kind's own example, to show more."""
SMALL, LARGE, DIVERSE, TWICE, SEEDS = "demo-small", "demo", "diverse", "judged-twice", "replicated"
COLLECTIONS = {
    "noise": SEEDS,
    "reproduction": SEEDS,
    "corrected-means": LARGE,
    "judge-agreement": TWICE,
    "judge-validity": TWICE,
    "judgments": TWICE,
}
"""The collections of kinds that need more than `demo-small` has."""
MATRICES = {"adhoc8": ("adhoc8_ap", "adhoc8_p10"), "web2012": ("web2012_ndcg20", "web2012_err20")}
"""The files of the public score matrices, by track."""
ROWS, COLUMNS, LONGEST = 4, 5, 40
AnyWork = Job | Report
AnyKind = Kind | ReportKind[Any]


def load(gainboard: LocalGainboard, folder: Path, wanted: Container[str]) -> None:
    """Load the collections that are wanted."""
    made = demo.small_campaign()
    runs = folder / "runs"
    runs.mkdir()
    for _, name, text in made.runs():
        (runs / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "intents.txt").write_text(_by_intent(made.qrels()), encoding="utf-8")
    if SMALL in wanted:
        gainboard.load(SMALL, made.qrels().encode(), str(runs), gains="3:2:1")
        gainboard.put_nuggets(SMALL, made.nuggets().encode())
        for judge in ("official", demo.MODEL):
            gainboard.put_verdicts(SMALL, judge, made.assignments(lenient=judge == demo.MODEL).encode())
    if TWICE in wanted:
        gainboard.load(TWICE, made.qrels().encode(), str(runs), gains="3:2:1")
        gainboard.put_qrels(TWICE, _judged_again(made.qrels(), 40).encode())
        gainboard.put_qrels(TWICE, _judged_again(made.qrels(), 7).encode(), judgments="second")
    if SEEDS in wanted:
        _load_replicates(gainboard, made)
    if LARGE in wanted:
        _load_large(gainboard, folder / "large")
    if DIVERSE in wanted:
        gainboard.load(DIVERSE, str(folder / "intents.txt"), str(runs), intents=True)


def _load_replicates(gainboard: LocalGainboard, made: demo.Campaign) -> None:
    """Load the small campaign, of whose runs each is three, without another tenth of its documents."""
    gainboard.load(SEEDS, made.qrels().encode(), gains="3:2:1")
    for team, name, text in made.runs():
        for seed in "123":
            lines = [line for line in text.splitlines(keepends=True) if crc32(f"{seed}{line}".encode()) % 10]
            gainboard.submit(
                SEEDS, "".join(lines).encode(), team=team, name=f"{name}-{seed}", system=name, replicate=seed
            )


def _load_large(gainboard: LocalGainboard, folder: Path) -> None:
    """Load the demo's large campaign, whose judges are a model of all topics and people on some."""
    made = demo.campaign()
    folder.mkdir()
    for _, name, text in made.runs():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8")
    gainboard.load(LARGE, made.qrels().encode(), str(folder), gains="3:2:1")
    gainboard.put_qrels(LARGE, made.model_qrels().encode(), judgments=demo.MODEL)
    gainboard.put_qrels(LARGE, made.people_qrels().encode(), judgments=demo.PEOPLE)


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


def request_of(kind: AnyKind) -> dict[str, Any]:
    """Return the body that asks for a kind."""
    if isinstance(kind, ReportKind):
        return {"name": kind.name, "collections": [collection_of(kind)]}
    return {"kind": kind.name, "params": dict(PARAMS.get(kind.name, kind.example()["params"]))}


def collection_of(kind: AnyKind) -> str:
    """Return the collection that a kind is asked for on."""
    if isinstance(kind, ReportKind):
        return DIVERSE if kind.example_collection == DIVERSE else SMALL
    return COLLECTIONS.get(kind.name, SMALL)


def version_of(kind: AnyKind) -> str:
    """Return the version of what computes a kind, by which a test sees that it computes anew."""
    return kind.name if isinstance(kind, ReportKind) else str(kind.engine_version)


def section(gainboard: LocalGainboard, kind: AnyKind) -> dict[str, Any]:
    """Draw the figure of a kind, and return what the page says of it."""
    body = request_of(kind)
    if isinstance(kind, ReportKind):
        summary, page, path = f"{kind.title}: {kind.reference}.", "reports.md", "/v1/reports"
        shown = _shown(gainboard.report(kind.name, body["collections"]), kind.name)
    else:
        collection = collection_of(kind)
        summary, page, path = kind.summary, "jobs.md", f"/v1/collections/{collection}/jobs"
        if kind.is_change:
            summary, shown = f"{summary} It changes the collection, so there is nothing to draw.", {}
        else:
            shown = _shown(gainboard.job(collection, kind.name, **body["params"]), kind.name)
    return {"version": version_of(kind), "summary": summary, "page": page, "path": path, "body": body, **shown}


def _shown(work: AnyWork, name: str) -> dict[str, Any]:
    """Write the first figure and return its caption, or else a part of the first table."""
    work.wait()
    answer = work.refresh()
    figure = next(iter(answer.figures or ()), None)
    if figure is not None:
        (PICTURES / f"{name}.svg").write_text(str(work.figure(figure.name)), encoding="utf-8")
        return {"caption": " ".join(figure.caption.split()).replace("[", "(").replace("]", ")")}
    header, *rows = csv.reader(work.table().csv.splitlines())
    lines = [header[:COLUMNS], ["---"] * len(header[:COLUMNS]), *(row[:COLUMNS] for row in rows[:ROWS])]
    return {"table": [[cell[:LONGEST].replace("|", "/") for cell in line] for line in lines]}


def draw_matrices(matrices: Path) -> None:
    """Draw which metric of the public score matrices tells more systems apart, as `gainboard job run --scores` does."""
    for track, metrics in MATRICES.items():
        files = ScoreFiles(scores=[str(matrices / f"{metric}.csv") for metric in metrics])
        with files.loaded(track) as gainboard:
            job = gainboard.job(track, "bootstrap-sensitivity", metrics=list(metrics))
            print(track, _shown(job, f"scores-{track}")["caption"], job.table().csv, sep="\n", flush=True)


def main(names: list[str]) -> None:
    """Write the pictures of these kinds, or of all without any, and what was asked for them."""
    matrices = Path(os.environ.get("GAINBOARD_REAL_DATA", "")) / "score-matrices"
    if (not names or "score-matrices" in names) and matrices.is_dir():
        draw_matrices(matrices)
    if names == ["score-matrices"]:
        return
    every: tuple[AnyKind, ...] = (*every_kind(), *every_report_kind())
    wanted = [kind for kind in every if kind.name in names or not names]
    if unknown := {*names} - {kind.name for kind in wanted}:
        raise SystemExit(f"There is no kind {min(unknown)}.")
    before: dict[str, Any] = json.loads(MADE.read_text(encoding="utf-8")) if names else {}
    for picture in PICTURES.glob("*.svg") if not names else ():
        if not picture.name.startswith("scores-"):
            picture.unlink()
    made = {}
    with TemporaryDirectory() as folder, Gainboard.local() as gainboard:
        load(gainboard, Path(folder), {collection_of(kind) for kind in wanted})
        for kind in wanted:
            made[kind.name] = section(gainboard, kind)
            print(kind.name, flush=True)
    shown = {kind.name: {**before, **made}[kind.name] for kind in every if kind.name in {*before, *made}}
    MADE.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
