"""Two generated campaigns with three levels of relevance: 50 topics and 45 runs of 15 teams, and a small one.

A third one has scores alone: of 12 models on 60 tasks, with some missing.

Teams have different profiles, so that beta, the log base and the gains change the ranking, as in the papers.

Everything is computed from a seed with PCG64's raw numbers, sums and products. These are equal on every machine and in
every version of NumPy, and so are the scores that the README shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation import collections
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.judgments import nuggets, qrels, versions
from gainboard.evaluation.runs import runs
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.runs.runs import RunDetails
from gainboard.evaluation.scoring.score_matrices import MatrixSettings, put_matrix
from gainboard.evaluation.workspace import Workspace
from gainboard.vocabulary import OFFICIAL

TEAMS = (
    "badger",
    "civet",
    "dingo",
    "egret",
    "finch",
    "gecko",
    "heron",
    "ibis",
    "jackal",
    "koala",
    "lemur",
    "marten",
    "newt",
    "otter",
    "puffin",
)
CANDIDATES, RETRIEVED = 1300, 1000
UNJUDGED_CODE = -1
LEVEL_NAMES = ("B", "A", "S")
SECOND = "second"
"""The name of the judgment set of a second assessor."""
SECOND_ASSESSOR = 1
MODEL, PEOPLE = "model", "people"
"""The names of the sets of a judge of all topics who favours a team, and of people on some of the topics."""
MODEL_JUDGE, SAMPLE_OF_TOPICS = 2, 3
FAVOURED, FAVOURED_RANKS = "koala-2", 20
"""The run that was built with the model, and how many of its first documents the model favours."""
FAVOUR = 0.6
"""The share of the favoured documents that the model puts one level higher than it would."""
TRUSTED_TOPICS = 20
HIGHER, LOWER, SKIPPED = 0.12, 0.06, 0.1
"""The shares of documents that the second assessor puts one level higher, one level lower, and does not judge."""
NUGGETS, ANSWERS, MODEL_OF_ANSWERS = 4, 5, 6
VITAL, PARTLY = 0.6, 0.15
"""The shares of nuggets that are vital, and that an answer has partly."""
LABELS = ("not_support", "partial_support", "support")
LOST = 10.0
"""A document that a run does not find loses this much, which is more than any score."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Profile:
    """A kind of system.

    `pull` is how strongly a good system prefers an unjudged, nonrelevant, B-, A- or S-relevant document. `findable` is
    the share of relevant documents that the system can find at all.
    """

    pull: tuple[float, float, float, float, float]
    findable: float


PROFILES = (
    Profile((0.0, 0.0, 0.45, 0.75, 1.0), 1.0),  # balanced
    Profile((0.0, 0.0, 0.3, 0.7, 1.3), 0.95),  # highly relevant documents first, few of the others
    Profile((0.0, 0.0, 0.6, 0.7, 0.75), 1.0),  # many partially relevant documents
    Profile((0.0, 0.12, 0.55, 0.8, 1.05), 1.0),  # everything, but late: nonrelevant documents come early, too
    Profile((0.0, 0.0, 0.55, 0.8, 1.0), 0.93),  # precision rather than recall
)
"""The profiles of the teams, which take turns."""


@dataclass(frozen=True)
class DemoTopic:
    """A topic's documents: their ids and levels, with UNJUDGED_CODE for unjudged documents."""

    name: str
    documents: list[str]
    levels: NDArray[np.int64]


@dataclass(frozen=True)
class Campaign:
    """A qrels file and run files by team and name. Runs are generated one by one, because they are large."""

    topics: list[DemoTopic]
    runs_per_team: int
    seed: int

    @property
    def run_count(self) -> int:
        return len(TEAMS) * self.runs_per_team

    def qrels(self) -> str:
        """Return the judgments in TREC's format."""
        return "".join(
            f"{topic.name} 0 {document} {level}\n"
            for topic in self.topics
            for document, level in zip(topic.documents, topic.levels.tolist(), strict=True)
            if level != UNJUDGED_CODE
        )

    def model_qrels(self) -> str:
        """Return the judgments of a model of all topics: lenient, and most of all with what the favoured run found.

        So the judge has a bias for all runs, and another one for the run that was built with it.
        """
        text = next(text for _, name, text in self.runs([FAVOURED]))
        first: dict[str, set[str]] = {topic.name: set() for topic in self.topics}
        for name, _, retrieved, rank, *_ in map(str.split, text.splitlines()):
            if int(rank) <= FAVOURED_RANKS:
                first[name].add(retrieved)
        bits, lines = np.random.PCG64([self.seed, MODEL_JUDGE]), []
        for topic in self.topics:
            judged = np.flatnonzero(topic.levels != UNJUDGED_CODE)
            luck, favour = _uniform(bits, 2 * len(judged)).reshape(2, -1)
            is_favoured = np.array([topic.documents[document] in first[topic.name] for document in judged.tolist()])
            levels = topic.levels[judged] + _shift(luck) + (is_favoured & (favour < FAVOUR))
            for document, level in zip(judged.tolist(), np.clip(levels, 0, len(LEVEL_NAMES)), strict=True):
                lines.append(f"{topic.name} 0 {topic.documents[document]} {level}\n")
        return "".join(lines)

    def people_qrels(self) -> str:
        """Return the official judgments of a random sample of the topics."""
        order = np.argsort(_uniform(np.random.PCG64([self.seed, SAMPLE_OF_TOPICS]), len(self.topics)), kind="stable")
        drawn = sorted(order[:TRUSTED_TOPICS].tolist())
        return Campaign([self.topics[topic] for topic in drawn], self.runs_per_team, self.seed).qrels()

    def second_qrels(self) -> str:
        """Return the judgments of a second, lenient assessor, who has not judged every document."""
        bits, lines = np.random.PCG64([self.seed, SECOND_ASSESSOR]), []
        for topic in self.topics:
            judged = np.flatnonzero(topic.levels != UNJUDGED_CODE)
            luck, skipped = _uniform(bits, 2 * len(judged)).reshape(2, -1)
            levels = np.clip(topic.levels[judged] + _shift(luck), 0, len(LEVEL_NAMES))
            for document, level in zip(judged[skipped >= SKIPPED].tolist(), levels[skipped >= SKIPPED], strict=True):
                lines.append(f"{topic.name} 0 {topic.documents[document]} {level}\n")
        return "".join(lines)

    def nuggets(self) -> str:
        """Return the nuggets of all topics, a line for each."""
        return "".join(json.dumps({"qid": topic, "nuggets": facts}) + "\n" for topic, facts in self._facts().items())

    def _facts(self) -> Mapping[str, list[dict[str, str]]]:
        """Return six to nine facts for each topic that a good answer has, some of them vital."""
        bits, nuggets = np.random.PCG64([self.seed, NUGGETS]), {}
        for topic in self.topics:
            luck = _uniform(bits, 10)
            nuggets[topic.name] = [
                {"text": f"Fact {number} about {topic.name}", "importance": "vital" if vital < VITAL else "okay"}
                for number, vital in enumerate(luck[: 6 + int(4 * luck[9])].tolist(), start=1)
            ]
        return nuggets

    def assignments(self, *, lenient: bool = False) -> str:
        """Return what a person says of the answers of all runs, or a lenient model: better runs have more facts."""
        bits, others = np.random.PCG64([self.seed, ANSWERS]), np.random.PCG64([self.seed, MODEL_OF_ANSWERS])
        facts_of_topics, lines = self._facts(), []
        for position, team in enumerate(TEAMS):
            for topic, facts in facts_of_topics.items():
                luck = _uniform(bits, len(facts) + 1)
                share = (0.25 + 0.5 * position / (len(TEAMS) - 1)) * (0.4 + 1.2 * luck[0])
                # The first facts are well known, and hardly any run has the last one.
                known_by = 1.6 * (1 - np.arange(len(facts)) / len(facts))
                levels = np.where(luck[1:] < share * known_by, 2, luck[1:] < (share + PARTLY) * known_by)
                levels = np.clip(levels + lenient * _shift(_uniform(others, len(facts))), 0, 2)
                labels = [LABELS[level] for level in levels.tolist()]
                assigned = [fact | {"assignment": label} for fact, label in zip(facts, labels, strict=True)]
                lines.append(json.dumps({"qid": topic, "run_id": f"{team}-1", "nuggets": assigned}) + "\n")
        return "".join(lines)

    def runs(self, names: Sequence[str] = ()) -> Iterator[tuple[str, str, str]]:
        """Yield team, run name and run file, of these runs or of all.

        Teams differ in profile and quality, and their runs a little.
        """
        for position, team in enumerate(TEAMS):
            profile = PROFILES[position % len(PROFILES)]
            for number in range(self.runs_per_team):
                name = f"{team}-{number + 1}"
                if names and name not in names:
                    continue
                bits = np.random.PCG64([self.seed, position, number])
                quality = 0.4 + 1.1 * position / (len(TEAMS) - 1) + 0.08 * number
                yield team, name, self._run(name, profile, quality, bits)

    def _run(self, tag: str, profile: Profile, quality: float, bits: np.random.PCG64) -> str:
        lines: list[str] = []
        pull = np.array(profile.pull)
        for topic in self.topics:
            ease = 0.3 + 1.4 * _uniform(bits, 1)[0]
            is_lost = (topic.levels > 0) & (_uniform(bits, CANDIDATES) >= profile.findable)
            # Three uniform numbers are nearly normal in sum. A normal number needs logarithms, whose last bits differ
            # between machines.
            first, second, third = _uniform(bits, 3 * CANDIDATES).reshape(3, CANDIDATES)
            noise = first + second + third - 1.5
            scores = quality * ease * pull[topic.levels + 1] + noise - LOST * is_lost
            # The weakest team finds no relevant document for some topics, and few for the others: topics with score 0
            # are usual in real campaigns.
            if tag == f"{TEAMS[0]}-1" and topic.name < "005":
                continue
            best = np.argsort(-scores, kind="stable")[: 100 if tag.startswith(TEAMS[0]) else RETRIEVED]
            # With fewer digits, some scores would be tied.
            ranked = zip(best.tolist(), scores[best].tolist(), strict=True)
            lines += [
                f"{topic.name} Q0 {topic.documents[document]} {rank} {score:.10f} {tag}\n"
                for rank, (document, score) in enumerate(ranked, start=1)
            ]
        return "".join(lines)


def _shift(luck: Floats) -> NDArray[np.int64]:
    """Return by how many levels another assessor differs."""
    return np.where(luck < HIGHER, 1, np.where(luck > 1 - LOWER, -1, 0))


def campaign(topics: int = 50, runs_per_team: int = 3, seed: int = 2004) -> Campaign:
    """Return the campaign of a seed."""
    bits = np.random.PCG64([seed])
    made_up = []
    for topic in range(1, topics + 1):
        many = _uniform(bits, 4)
        # Squares, so that most topics have few relevant documents, and some have many.
        partial, relevant = 2 + int(70 * many[1] * many[1]), 1 + int(45 * many[2] * many[2])
        counts = [120 + int(160 * many[0]), partial, relevant, 1 + int(9 * many[3])]
        levels = np.full(CANDIDATES, UNJUDGED_CODE)
        levels[: sum(counts)] = np.repeat(np.arange(4), counts)
        numbers = np.argsort(_uniform(bits, 100_000), kind="stable")[:CANDIDATES]
        made_up.append(DemoTopic(f"{topic:03d}", [f"doc-{number:06d}" for number in numbers.tolist()], levels))
    return Campaign(made_up, runs_per_team, seed)


def small_campaign() -> Campaign:
    """Return the campaign of 20 topics and 15 runs."""
    return campaign(topics=20, runs_per_team=1, seed=2005)


MODELS, SIZES = ("alder", "birch", "cedar", "maple"), ("small", "medium", "large")
TASKS, SAMPLES, LACKING = 60, 25, 0.02
"""The tasks, the questions of each, and the share of scores that are missing."""


def score_files() -> dict[str, str]:
    """Return scores of models on tasks as CSV, by metric: the share of right answers, and the seconds of an answer."""
    bits = np.random.PCG64([2006])
    ease, systems = _uniform(bits, TASKS), [f"{model}/{size}" for model in MODELS for size in SIZES]
    header = ",".join(("system", *(f"task-{task:02d}" for task in range(1, TASKS + 1)))) + "\n"
    files = {"accuracy": header, "seconds": header}
    for number, system in enumerate(systems):
        size, model = number % len(SIZES), number // len(SIZES)
        skill = 0.35 + 0.12 * size + 0.03 * model + 0.4 * (ease - 0.5)
        right = (_uniform(bits, TASKS * SAMPLES).reshape(TASKS, SAMPLES) < skill[:, np.newaxis]).sum(axis=1) / SAMPLES
        seconds = (1 + size) * (0.4 + 0.3 * _uniform(bits, TASKS))
        lacking = _uniform(bits, TASKS) < LACKING
        for name, scores, digits in (("accuracy", right, 2), ("seconds", seconds, 3)):
            cells = ["" if gap else f"{score:.{digits}f}" for score, gap in zip(scores.tolist(), lacking, strict=True)]
            files[name] += ",".join((system, *cells)) + "\n"
    return files


def _uniform(bits: np.random.PCG64, count: int) -> Floats:
    raw = np.asarray(bits.random_raw(count), np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def load(workspace: Workspace, organiser: Principal) -> Iterator[str]:
    """Load all campaigns, released and public. Yield a line of progress for each step."""
    large = campaign()
    # Before the runs, which then are joined with these sets when somebody asks: the start is quicker.
    others = {MODEL: large.model_qrels(), PEOPLE: large.people_qrels()}
    yield from _load(workspace, organiser, "demo", "A generated campaign", large, others)
    small = small_campaign()
    yield from _load(workspace, organiser, "demo-small", "A small generated campaign", small)
    _publish(workspace, organiser, "demo-small", SECOND, small.second_qrels())
    yield "demo-small: judgments of a second assessor"
    nuggets.put_nuggets(workspace, organiser, "demo-small", _body(small.nuggets()))
    for judge in (OFFICIAL, MODEL):
        text = small.assignments(lenient=judge == MODEL)
        nuggets.put_verdicts(workspace, organiser, "demo-small", judge, _body(text))
    yield "demo-small: nuggets, and what two judges say of the answers of the runs"
    about = {"title": "Generated models and tasks", "metrics": ["accuracy", "seconds"], "public": True}
    collections.create(workspace, organiser, {"name": "demo-scores", "kind": "scores", "phase": "released", **about})
    for name, text in score_files().items():
        settings = MatrixSettings("down") if name == "seconds" else MatrixSettings(low=0, high=1)
        stored, _ = put_matrix(workspace, organiser, "demo-scores", name, _body(text), settings)
        yield f"demo-scores: {name} of {len(stored.runs)} systems on {len(stored.topics)} topics"


def _publish(workspace: Workspace, organiser: Principal, collection: str, judgments: str, text: str) -> None:
    qrels.publish(workspace, organiser, collection, _body(text), judgments=judgments)
    versions.release(workspace, organiser, collection, judgments, is_released=True)


def _load(
    workspace: Workspace,
    organiser: Principal,
    collection: str,
    title: str,
    generated: Campaign,
    others: Mapping[str, str] = {},
) -> Iterator[str]:
    settings = {
        "name": collection,
        "title": title,
        "level_names": list(LEVEL_NAMES),
        "highest_level": len(LEVEL_NAMES),
        "gains": "3:2:1",
        "depth": RETRIEVED,
        "order_by": "score",
        "topics": [topic.name for topic in generated.topics],
        "metrics": ["Q", "nDCG@10", "AP"],
        "phase": "released",
        "public": True,
    }
    collections.create(workspace, organiser, settings)
    published = qrels.publish(workspace, organiser, collection, _body(generated.qrels())).qrels
    yield f"{collection}: {published.topics} topics, {published.judged} judged, {published.relevant} relevant"
    for name, text in others.items():
        _publish(workspace, organiser, collection, name, text)
        yield f"{collection}: judgments of {name}"
    for number, (team, name, text) in enumerate(generated.runs(), start=1):
        family = MODEL if others and FAVOURED.startswith(f"{team}-") else None
        runs.submit(workspace, organiser, collection, _body(text), RunDetails(team=team, name=name, family=family))
        yield f"{collection}: run {number} of {generated.run_count}: {name}"


def _body(text: str) -> Body:
    return Body(BytesIO(text.encode()))
