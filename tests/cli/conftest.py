"""A folder as those who type commands have it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.world.local_services import served_here

TOPICS = [str(number) for number in range(1, 13)]
DOCUMENTS = [f"d{number:02}" for number in range(40)]
NOISE = {"run.txt": 1.5, "runs/civet.txt": 0.5, "runs/egret.txt": 2.0, "runs/otter.txt": 4.0}


@pytest.fixture(scope="package", autouse=True)
def _no_processes():
    with served_here():
        yield


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """qrels.txt of three levels, run.txt, and three runs in runs/, generated; each has its name as its tag.

    runs.csv names two of them, and teams.csv has the teams of all. intents.txt and iprob.txt are judgments by intent.
    accuracy.csv has scores of three systems on eight tasks, and paper.csv means of runs.
    """
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "runs").mkdir()
    random = np.random.default_rng(20061116)
    levels = {topic: random.choice([0, 0, 0, 1, 1, 2, 3], len(DOCUMENTS)) for topic in TOPICS}
    (folder / "qrels.txt").write_text("".join(map(_judged, TOPICS, levels.values())))
    for name, noise in NOISE.items():
        scores = [levels[topic] + noise * random.random(len(DOCUMENTS)) for topic in TOPICS]
        (folder / name).write_text(
            "".join(_ranked(Path(name).stem, *each) for each in zip(TOPICS, scores, strict=True))
        )
    nuggets = "".join(f"{topic},0.5,{place / 20}\n" for place, topic in enumerate(TOPICS))
    (folder / "nuggets.csv").write_text(f"topic,tag,other\n{nuggets}")
    facts = [{"text": fact, "importance": weight} for fact, weight in (("river", "vital"), ("bridge", "okay"))]
    lines = [json.dumps({"qid": topic, "nuggets": facts}) for topic in TOPICS]
    (folder / "nuggets.jsonl").write_text("\n".join(lines))
    for file, labels in (("assignments", ("support", "partial_support")), ("people", ("partial_support", "support"))):
        lines = [
            json.dumps(
                {
                    "qid": topic,
                    "run_id": run,
                    "nuggets": [{**fact, "assignment": labels[place % 2]} for fact in facts],
                }
            )
            for run in ("tag", "other")
            for place, topic in enumerate(TOPICS[:3] if file == "people" else TOPICS)
        ]
        (folder / f"{file}.jsonl").write_text("\n".join(lines))
    by_intent = "".join(
        f"{topic} {place % 2 + 1} {document} {level}\n"
        for topic, its in levels.items()
        for place, (document, level) in enumerate(zip(DOCUMENTS, its, strict=True))
    )
    (folder / "intents.txt").write_text(by_intent)
    (folder / "iprob.txt").write_text("".join(f"{topic} 1 0.75\n{topic} 2 0.25\n" for topic in TOPICS))
    teams = "".join(f"{path.stem},lemur\n" for path in sorted((folder / "runs").iterdir()))
    (folder / "teams.csv").write_text(f"run,team\n{teams}")
    (folder / "runs.csv").write_text("file,team,name\nruns/civet.txt,lemur,first\nruns/otter.txt,newt,\n")
    rows = {"bm25": "0,1,0,1,1,0,0,1", "splade": "1,1,0,1,1,1,0,1", "e5": "1,1,1,1,0,1,1,1"}
    tasks = ",".join(f"task-{number}" for number in range(8))
    table = "".join(f"{system},{scores}\n" for system, scores in rows.items())
    (folder / "accuracy.csv").write_text(f"model,{tasks}\n{table}")
    (folder / "paper.csv").write_text("run,MAP,NDCG@10\ncivet,0.8,.90\notter,,0.91\n")
    return folder


@pytest.fixture
def folder(prepared, monkeypatch):
    monkeypatch.chdir(prepared)
    return prepared


@pytest.fixture
def own_folder(prepared, tmp_path, monkeypatch):
    """A copy of the prepared folder, as the working one, which a test may change."""
    copy = Path(shutil.copytree(prepared, tmp_path / "copy"))
    monkeypatch.chdir(copy)
    return copy


def _judged(topic, levels):
    return "".join(f"{topic} 0 {document} {level}\n" for document, level in zip(DOCUMENTS, levels, strict=True))


def _ranked(tag, topic, scores):
    order = enumerate(np.argsort(-scores).tolist(), start=1)
    return "".join(f"{topic} Q0 {DOCUMENTS[place]} {rank} {scores[place]:.6f} {tag}\n" for rank, place in order)
