"""A SHA-256 for the result of every kind of job and of every report: run it before and after a change, and compare.

`python -m tests.analyses.fingerprints` prints a line for each request of `test_every_kind` and for each report, on the
campaign of the laboratory. They are not kept in a file: the last digits depend on the processor and on NumPy.
"""

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from gainboard.analyses.job_kinds import find_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.exhibits import Table, as_csv
from gainboard.exhibits.latex import as_latex
from gainboard.exhibits.values import figure_as_json, table_as_json
from gainboard.jobs.report_assembly import compose
from gainboard.jobs.results import exhibits_of
from tests.analyses.test_every_kind import ASKED, RUNS
from tests.metrics.test_diversity import case
from tests.reports.laboratory import laid
from tests.reports.test_web_track_diversity import diverse
from tests.world.groves import planted

DIVERSITY = "web-track-diversity"
CHANGES = {"judge": {"qrels": 1}, "rejudge": {"order_by": "score32"}}
"""They come last, because they change the collection."""


def results(laboratory):
    """The result, tables and figures of each request."""
    for kind, each in ASKED.items():
        for place, params in enumerate(each):
            yield f"{kind} {place}", _everything(laboratory, kind, {"runs": RUNS} | params)
    for name in (kind.name for kind in every_report_kind() if kind.name != DIVERSITY):
        yield name, _report(laboratory, name)
    for kind, params in CHANGES.items():
        yield kind, _everything(laboratory, kind, params)


def _everything(laboratory, kind, params):
    job = laboratory.launch(kind, **params)
    laboratory.work()
    body = laboratory.result(job)
    known = find_kind(kind)
    made = exhibits_of(known, known.result.model_validate_json(body))
    texts = [as_csv(table) + as_latex(table) for table in made.tables if isinstance(table, Table)]
    return body + json.dumps([texts, *map(figure_as_json, made.figures)]).encode()


def _report(laboratory, name):
    answer = compose({laboratory.name: laid(laboratory, name)})
    shown = {
        "tables": [[each.number, table_as_json(each.exhibit)] for each in answer.tables],
        "figures": [[each.number, figure_as_json(each.exhibit)] for each in answer.figures],
        "left_out": [each.what for _, each in answer.left_out],
        "remarks": [each.text for _, each in answer.remarks],
    }
    return json.dumps(shown).encode()


def main():
    """Print a line for each."""
    with TemporaryDirectory() as grove, TemporaryDirectory() as web:
        for name, body in results(planted(Path(grove))):
            print(hashlib.sha256(body).hexdigest(), name)
        runs = {f"run-{seed}": case(seed)[1] for seed in (1, 2, 5, 8)}
        diversity = _report(diverse(Path(web), case(11)[0], runs), DIVERSITY)
        print(hashlib.sha256(diversity).hexdigest(), DIVERSITY)


if __name__ == "__main__":
    main()
