"""A small campaign in a database of its own, jobs worked in this process, and the scores to check them by."""

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass

from gainboard.analyses.job_kinds import find_kind
from gainboard.evaluation import collections
from gainboard.evaluation.access.principals import Principal, Sender, authenticate
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.judgments import nuggets, qrels
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.scoring.requests import Question, score
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.results import content
from gainboard.jobs.submission import CHUNK_SECONDS, launch
from gainboard.jobs.worker import Worker
from gainboard.main import open_workspace
from gainboard.store import claims, jobs
from gainboard.store.records import VersionName
from gainboard.vocabulary import OFFICIAL
from tests.world.campaigns import body, run_text
from tests.world.servers import ADMIN, new_settings

NAME = "grove"
NO_RELEVANT, ONLY_LOW = "112", "111"
MISSING = ("102", "107")
"""Topics that the run `cedar` lacks."""
SYSTEMS = {
    "maple": ("coast", 0.8),
    "alder": ("coast", 0.6),
    "zelkova": ("hill", 1.0),
    "birch": ("hill", 0.3),
    "yew": ("wood", 0.9),
    "hazel": ("wood", 0.9),
    "cedar": ("marsh", 0.8),
    "oak": ("marsh", 0.5),
}
"""Team and quality of each run. `yew` and `hazel` rank alike."""
PEOPLE = "people"
LABELS = ("not_support", "partial_support", "support")
LATE = "oak"
"""The run that came after the second qrels version."""


@dataclass(frozen=True)
class Laboratory:
    workspace: Workspace
    principal: Principal
    name: str = NAME

    def judge(self, text, judgments=OFFICIAL, **how):
        return qrels.publish(self.workspace, self.principal, self.name, body(text), judgments=judgments, **how)

    def judge_answers(self, topics, names):
        """Two judges of what each run says of two nuggets of each topic: they differ on every other topic."""
        facts = [{"text": "river", "importance": "vital"}, {"text": "bridge", "importance": "okay"}]
        text = "".join(json.dumps({"qid": topic, "nuggets": facts}) + "\n" for topic in topics)
        nuggets.put_nuggets(self.workspace, self.principal, self.name, body(text))
        for judge in range(2):
            said = [
                {
                    "qid": topic,
                    "run_id": name,
                    "nuggets": [fact | {"assignment": LABELS[n % 3 - judge * n % 2]} for fact in facts],
                }
                for name in names
                for n, topic in enumerate(topics, start=len(name))
            ]
            text = "".join(f"{json.dumps(line)}\n" for line in said)
            nuggets.put_verdicts(self.workspace, self.principal, self.name, ("official", "model")[judge], body(text))

    def send(self, name, team, text, **details):
        runs.submit(self.workspace, self.principal, self.name, body(text), RunDetails(team, name, **details))

    def levels(self, version=None, judgments=OFFICIAL):
        """The level of each topic and document under a version, negative ones as 0, line by line of its file."""
        named = VersionName(judgments, version)
        found = qrels.find_version(self.workspace, self.principal, self.name, named).qrels
        rows = [line.split() for line in b"".join(qrels.read_file(self.workspace, found)).decode().splitlines()]
        return {(topic, document): max(int(level), 0) for topic, _, document, level in rows}

    def launch(self, kind, *, chunk_seconds=CHUNK_SECONDS, **params):
        known = find_kind(kind)
        asked = known.params_model.model_validate_json(json.dumps(params))
        return launch(self.workspace, self.principal, self.name, known, asked, chunk_seconds)

    def answer(self, kind, **params):
        """Asks for a job, works it, and reads its result, which holds no NaN and no infinity."""
        job = self.launch(kind, **params)
        self.work()
        return json.loads(self.result(job), parse_constant=_refuse)

    def read(self, kind, **params):
        """Asks for a job, works it, and returns the result through the model of its kind."""
        return find_kind(kind).result_model.model_validate(self.answer(kind, **params))

    def work(self, *, backwards=False):
        """Works all chunks that there are; backwards in turn, and each by a worker of its own."""
        worker = Worker(self.workspace)
        while ready := list(self.claims()):
            for claim in reversed(ready) if backwards else ready:
                (Worker(self.workspace) if backwards else worker).work(claim)

    def claims(self):
        while True:
            with self.workspace.database.writing() as tx:
                claim = claims.claim(tx, "the tests", self.workspace.now())
            if claim is None:
                return
            yield claim

    def result(self, job):
        """What a job has come to: exactly what its kind's model describes."""
        with self.workspace.database.reading() as tx:
            finished = jobs.find(tx, job.id)
        assert finished is not None
        found = b"".join(content(self.workspace, finished))
        check_form(find_kind(job.kind).result_model, found)
        return found

    def scores(self, *metrics, version=None, defaults=None):
        """By label, run and topic: None where a metric is undefined."""
        question = Question(
            metrics=metrics,
            qrels=version if isinstance(version, VersionName) else VersionName(version=version),
            defaults=defaults or {},
        )
        found = score(self.workspace, Sender.of(ADMIN), self.name, question)
        table = found.by_topic
        return {
            label: {
                run.name: {
                    topic: None if value != value else float(value)
                    for topic, value in zip(found.topics, table[row, column], strict=True)
                }
                for column, run in enumerate(found.runs)
            }
            for row, label in enumerate(found.labels)
        }

    def collection(self):
        with self.workspace.database.reading() as tx:
            return open_collection(tx, self.principal, self.name).collection

    def label(self, metric):
        return next(iter(self.scores(metric)))

    def common(self, *metrics, runs=None, version=None):
        """Scores on the topics for which every one of the metrics is defined, of the runs in this order."""
        scores = self.scores(*metrics, version=version)
        rows = [row for by_run in scores.values() for row in by_run.values()]
        topics = [topic for topic in rows[0] if all(row[topic] is not None for row in rows)]
        return {
            label: {run: [value for topic in topics if (value := by_run[run][topic]) is not None] for run in names}
            for label, by_run in scores.items()
            for names in [runs or list(by_run)]
        }

    def means(self, metric, **question):
        """Each run's mean over the topics for which the metric is defined."""
        (by_run,) = self.scores(metric, **question).values()
        defined = {run: [value for value in row.values() if value is not None] for run, row in by_run.items()}
        return {run: sum(values) / len(values) for run, values in defined.items()}


def check_form(model, body):
    """Asserts that a model describes a result: it knows every field, and gives the same bytes again."""
    assert model.model_validate_json(body).model_dump_json(exclude_unset=True).encode() == body


def tables_of(found):
    """The tables of a result, which is read through the model of its kind."""
    kind = find_kind(found["kind"])
    return kind.result_model.model_validate(found).tables()


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def opened(folder):
    workspace, _ = open_workspace(new_settings(folder))
    return Laboratory(workspace, authenticate(workspace, Sender.of(ADMIN)))


def copied(source, target):
    with (
        closing(sqlite3.connect(source / "gainboard.db")) as old,
        closing(sqlite3.connect(target / "gainboard.db")) as new,
    ):
        old.backup(new)
        new.executescript("DELETE FROM job_qrels; DELETE FROM job_chunks; DELETE FROM jobs;")
    return opened(target)


def planted(folder, topics=12, systems=tuple(SYSTEMS)):
    """The campaign, made anew: two qrels versions, the first of which lacks a topic and judges another otherwise.

    The set `people` judges the first half of the topics, each other document as the second version does.
    """
    laboratory = opened(folder)
    workspace, principal = laboratory.workspace, laboratory.principal
    collections.create(workspace, principal, SETTINGS)
    levels = {str(101 + number): _levels(str(101 + number)) for number in range(topics)}
    first = {topic: row for topic, row in levels.items() if topic != "105"}
    first["103"] = {document: 3 - level for document, level in levels["103"].items()}
    for judged in (first, levels):
        qrels.publish(workspace, principal, NAME, body(_qrels(judged)))
        early = [name for name in systems if name != LATE]
        for name in early if judged is first else set(systems) - set(early):
            team, quality = SYSTEMS[name]
            runs.submit(workspace, principal, NAME, body(_run(name, quality, levels)), RunDetails(team, name))
    qrels.publish(workspace, principal, NAME, body(_qrels(halved(levels))), judgments=PEOPLE)
    laboratory.judge_answers(list(levels), systems)
    return laboratory


def made_of(folder, judged, ranked, **settings):
    """A campaign of these judgments, sent one after the other, and rankings by run: its team, and its documents."""
    laboratory = opened(folder)
    collections.create(laboratory.workspace, laboratory.principal, SETTINGS | settings)
    for text in judged:
        laboratory.judge(text)
    for name, (team, rankings) in ranked.items():
        laboratory.send(name, team, run_text(rankings, name))
    return laboratory


def halved(levels):
    """What people say of the first half of the topics: less of every other document."""
    return {
        topic: {document: max(0, level - place % 2) for place, (document, level) in enumerate(row.items())}
        for topic, row in list(levels.items())[: len(levels) // 2]
    }


def few_trusted(monkeypatch):
    """Let jobs of this process correct means by fewer trusted topics than intervals need."""
    for name, least in (("LEAST_TRUSTED", 3), ("LEAST_OTHERS", 2)):
        monkeypatch.setattr(f"gainboard.evaluation.boards.adjusted_boards.{name}", least)


def beside(laboratory, name, *, highest_level=3, team=None, systems=tuple(SYSTEMS)):
    """Another collection there: judged on another number of levels, with all runs of one team, or with some only."""
    workspace, principal = laboratory.workspace, laboratory.principal
    own = {"name": name, "title": name, "highest_level": highest_level, "gains": "linear", "metrics": None}
    collections.create(workspace, principal, SETTINGS | own)
    levels = {str(101 + number): _levels(str(101 + number)) for number in range(12)}
    cut = {topic: {doc: min(level, highest_level) for doc, level in row.items()} for topic, row in levels.items()}
    qrels.publish(workspace, principal, name, body(_qrels(cut)))
    for run in systems:
        own_team, quality = SYSTEMS[run]
        runs.submit(workspace, principal, name, body(_run(run, quality, levels)), RunDetails(team or own_team, run))
    return Laboratory(workspace, principal, name)


SETTINGS = {
    "name": NAME,
    "title": NAME,
    "level_names": None,
    "highest_level": 3,
    "gains": "3:2:1",
    "depth": 100,
    "order_by": "score",
    "topics": None,
    "metrics": ["AP"],
    "phase": "released",
    "public": False,
}


def _levels(topic):
    drawn = random.Random(f"levels {topic}")
    low, middle, high = (drawn.randint(3, 9), drawn.randint(1, 5), drawn.randint(1, 3))
    if topic in (NO_RELEVANT, ONLY_LOW):
        low, middle, high = (0 if topic == NO_RELEVANT else 6), 0, 0
    values = [1] * low + [2] * middle + [3] * high
    return {f"{topic}-{number:02d}": level for number, level in enumerate(values + [0] * (30 - len(values)))}


def _qrels(levels):
    lines = [f"{topic} 0 {document} {level}\n" for topic, row in levels.items() for document, level in row.items()]
    return "".join(lines)


def _run(name, quality, levels):
    """Twenty-five documents a topic, of thirty judged and fifteen unjudged ones."""
    drawn = random.Random("yew" if name == "hazel" else name)
    lines = []
    for topic, row in levels.items():
        documents = {**row, **{f"{topic}-new-{number:02d}": 0 for number in range(15)}}
        scores = {document: quality * level + 3 * drawn.random() for document, level in documents.items()}
        best = sorted(documents, key=lambda document: -scores[document])[:25]
        if name == "cedar" and topic in MISSING:
            continue
        lines += [
            f"{topic} Q0 {document} {rank} {scores[document]:.6f} {name}\n"
            for rank, document in enumerate(best, start=1)
        ]
    return "".join(lines)
