"""judge-validity: what it says of judges, against the definitions and other tools."""

import numpy as np
import pytest
from scipy import stats

from tests.world.groves import NAME, planted

KIND = "judge-validity"
FAVOURED = ("birch", "zelkova")
"""The runs of the family of the judge."""


def text(levels):
    return "".join(f"{topic} 0 {document} {level}\n" for (topic, document), level in levels.items())


def first_documents(laboratory, run, most):
    """The first documents of a run by topic."""
    from gainboard.evaluation.runs import runs

    found = runs.find_run(laboratory.workspace, laboratory.principal, NAME, run).run
    rows = [line.split() for line in b"".join(runs.read_file(laboratory.workspace, found)).decode().splitlines()]
    rows.sort(key=lambda row: (row[0], -float(row[4]), row[2]))
    seen = {}
    for topic, _, document, *_ in rows:
        seen.setdefault(topic, []).append(document)
    return {(topic, document) for topic, documents in seen.items() for document in documents[:most]}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A campaign with the set `model`, which favours what the runs of a family found."""
    laboratory = planted(tmp_path_factory.mktemp("judged"))
    official, random = laboratory.levels(2), np.random.default_rng(5)
    favoured = first_documents(laboratory, "birch", 10)
    levels = {
        pair: int(np.clip(level + (pair in favoured) + random.choice([-1, 0, 0, 0, 1]), 0, 3))
        for pair, level in official.items()
    }
    laboratory.judge(text(levels), "model")
    return laboratory


@pytest.fixture(scope="module")
def found(judged):
    families = {"acme": list(FAVOURED)}
    return judged.answer(KIND, judges=["official", "model"], families=families, resamples=200)


def test_it_works(found, judged):
    import json

    print(json.dumps(found, indent=1)[:6000])
    job = judged.read(KIND, judges=["official", "model"], families={"acme": list(FAVOURED)}, resamples=200)
    print(job.verdict())
    for f in job.figures():
        print(f.name, f.caption)
    for t in job.tables():
        print(t.name, t.caption, len(t.rows), [c.title for c in t.columns], t.rows[:1])
