"""What holds for every kind of analysis: the shape of its result, and that nobody can tell how it was worked.

Kinds that change their collection would change that of all tests here, and have tests of their own.
"""

import gc
import json
import re
from itertools import combinations

import pytest

from gainboard.analyses.job_kinds import every_kind, find_kind
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import as_csv
from gainboard.exhibits.latex import as_latex
from gainboard.jobs.files import find_file, read_file
from gainboard.jobs.worker import Worker
from tests.world.campaigns import run_text
from tests.world.groves import copied

pytestmark = pytest.mark.usefixtures("few_topics")

SWEEP = {"metric": "Q", "parameter": "beta", "values": [0, 1, 10], "against": ["AP"]}
ASKED = {
    "rank-correlation": [
        {"metrics": ["AP", "Q"], "against": "P@5", "sweep": SWEEP, "accuracy": True, "resamples": 250},
        {"metrics": ["AP", {"metric": "AP", "qrels": 1}], "against": "AP (qrels 1)", "drop_identical": True},
        {"metrics": ["AP", "RR"], "coefficients": ["tau_ap", "rbo", "kendall_a"], "runs": {"top": 4, "by": "RR"}},
    ],
    "bootstrap-sensitivity": [
        {"metrics": ["AP", "Q", "RR"], "test": test, "correction": correction}
        for test, correction in (
            ("paired-bootstrap", "max-t"),
            ("unpaired-bootstrap", "none"),
            ("randomised-tukey-hsd", "none"),
            ("wilcoxon", "holm"),
        )
    ]
    + [{"metrics": ["AP", "Q"], "seeds": 3, "resamples": 300, "correction": "max-t"}],
    "stability": [{"metrics": ["AP", "Q"], "trials": 100, "per_pair": True}],
    "swap-rate": [
        {"metrics": ["AP", "Q"], "trials": 100},
        {"metrics": ["AP", "Q"], "trials": 90, "replacement": True, "seeds": 2},
    ],
    "test-agreement": [{"metrics": ["AP", "RR"], "trials": 100}],
    "concordance": [
        {"metrics": ["AP", "Q", "RR"]},
        {"metrics": ["AP", "RR"], "test": "paired-bootstrap", "resamples": 200, "correction": "max-t"},
    ],
    "gain-robustness": [{"metrics": ["Q"], "trials": 50}, {"metrics": ["Q"], "trials": 40, "seeds": 3}],
    "gain-vectors": [{"cutoff": 30}],
    "judgments": [{"against": 1}, {}],
    "difficulty": [
        {"metrics": ["AP", "Q"]},
        {"metrics": ["AP"], "runs": {"top": 2, "by": "AP"}},
        {"metrics": ["AP", "RR"], "standardise": "normal", "reference": ["oak", "yew", "maple"]},
    ],
    "corrected-means": [
        {"metrics": ["AP", "Q"], "trusted": "people", "sampled_at_random": True, "resamples": 150},
        {"metrics": ["RR"], "trusted": "people", "sampled_at_random": True, "tuning": "none", "runs": ["oak", "yew"]},
    ],
    "answer-agreement": [
        {"metrics": [f"nuggets:vital_strict{judge}" for judge in ("", "(judge=model)")], "resamples": 50}
    ],
    "judge-agreement": [
        {"metrics": ["AP", "Q"], "sets": [{"qrels": 1}], "flagged": ["oak"], "resamples": 150},
        {"metrics": ["RR"], "sets": [{"qrels": 1}], "pairs": "all", "threshold": 2, "k": 3, "resamples": 50},
    ],
    "noise": [{"metrics": ["AP", "Q"], "runs": "all", "resamples": 150}, {"metrics": ["AP"], "runs": ["larch"]}],
    "reproduction": [
        {"metrics": ["AP", "Q"], "pairs": [{"original": "yew", "baseline": "oak"}], "reproduced_under": {"qrels": 1}},
        {"metrics": ["RR"], "pairs": [{"original": "yew", "reproduced": "maple"}]},
    ],
    "judge-validity": [
        {"judges": ["official", {"qrels": 1}], "families": {"acme": ["yew", "oak"]}, "resamples": 50},
        {"judges": [{"qrels": 1}, "official", {"qrels": 1}], "metric": "AP", "resamples": 30},
    ],
    "rank-intervals": [{"metrics": ["AP", "Q"], "resamples": 100, "test_resamples": 300}],
    "leave-one-team-out": [
        {"metrics": ["AP", "Q"], "pool_depth": 5},
        {"metrics": ["AP(condensed=true)"], "pool_depth": 3, "contributors": ["maple", "birch", "oak"]},
    ],
    "pool": [
        {"depth": 4, "order": "rrf", "budget": 40, "budget_for": "all", "without": [{"qrels": 1}]},
        {"runs": ["oak", "maple", "oak"], "depth": 9, "order": "random", "seed": 3, "topics": ["104", "101"]},
    ],
    "topic-set-size": [
        {"metrics": ["AP", "Q"], "trials": 20, "difference": 0.1},
        {"metrics": ["AP", "DCG@10"], "trials": 10, "sizes": [2, 7, 5]},
    ],
}
RUNS = ["yew", "maple", "hazel", "oak", "cedar"]
"""Two of them rank alike, and one lacks topics."""


def test_every_kind_is_asked_here():
    assert set(ASKED) == {kind.name for kind in every_kind() if not kind.is_change}


@pytest.fixture(scope="module")
def elsewhere(laboratory, folder, tmp_path_factory):
    """The same campaign in another database, without the jobs."""
    copy = copied(folder, tmp_path_factory.mktemp("copy"))
    yield copy
    copy.workspace.database.close()


@pytest.fixture(scope="module")
def replicated(folder, tmp_path_factory):
    """Two equal campaigns in which the system `larch` has three replicates, of which one lacks topics."""
    both = [copied(folder, tmp_path_factory.mktemp("replicated")) for _ in range(2)]
    for laboratory in both:
        for number, topics in enumerate((range(101, 111), range(101, 111), range(103, 108))):
            found = {str(topic): [f"d{(number + place) % 9}" for place in range(6)] for topic in topics}
            told = {"system": "larch", "replicate": str(number)}
            laboratory.send(f"larch-{number}", "ridge", run_text(found, f"larch-{number}"), **told)
    yield both
    for laboratory in both:
        laboratory.workspace.database.close()


@pytest.mark.parametrize("kind", ASKED)
def test_parts_worked_backwards_and_one_by_one_give_the_same_bytes_of_the_promised_shape(
    laboratory, elsewhere, replicated, kind
):
    laboratory, elsewhere = replicated if kind == "noise" else (laboratory, elsewhere)
    for params in ASKED[kind]:
        asked = {"runs": RUNS} | params
        job = laboratory.launch(kind, **asked)
        laboratory.work()
        same = elsewhere.launch(kind, chunk_seconds=1e-9, **asked)
        elsewhere.work(backwards=True)
        assert job.id == same.id
        assert laboratory.result(job) == elsewhere.result(same), params
        found = json.loads(laboratory.result(job))
        check_what_is_made_of_the_result_alone(laboratory, job, found)


def number_of_matrices():
    return sum(type(each) is Matrices for each in gc.get_objects())


def test_the_matrices_of_a_job_go_with_the_next_one(elsewhere):
    """They may be large, and the collector, which is off here, may come much later."""
    worker = Worker(elsewhere.workspace)
    gc.collect()
    before, over_two_versions = number_of_matrices(), 2
    gc.disable()
    try:
        for kind in ASKED.keys() - {"noise"}:
            elsewhere.launch(kind, runs=RUNS[:-1], **ASKED[kind][0])
            while ready := list(elsewhere.claims()):
                for claim in ready:
                    worker.work(claim)
            assert number_of_matrices() - before <= over_two_versions, kind
    finally:
        gc.enable()


def check_what_is_made_of_the_result_alone(laboratory, job, found):
    """The worker made the tables of the result that it had: they are those of the JSON that readers get."""
    result = find_kind(job.kind).result_model.model_validate(found)
    check_numbers_of_the_verdict(result.verdict(), found)
    tables = result.tables()
    assert len({table.name for table in tables}) == len(tables)
    for table in tables:
        file = find_file(laboratory.workspace, job, f"tables/{table.name}.csv")
        assert b"".join(read_file(laboratory.workspace, file)).decode() == as_csv(table)
        rows = as_csv(table).splitlines()
        assert len(rows) == len(table.rows) + 1
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert as_latex(table)
    figures = result.figures()
    assert len({figure.name for figure in figures}) == len(figures)


def check_numbers_of_the_verdict(verdict, found):
    """Every number of the sentence is one of the result, as it rounds it, or the length of one of its lists."""
    texts, numbers = set(), {0.05}
    if count := COUNTED.get(found["kind"]):
        numbers |= {count(metric) for metric in found["metrics"]}
    leaves = [found]
    while leaves:
        leaf = leaves.pop()
        if isinstance(leaf, dict | list):
            numbers.add(len(leaf))
            leaves += leaf if isinstance(leaf, list) else [*leaf.values(), *leaf]
        elif isinstance(leaf, str):
            texts.add(leaf)
        elif leaf is not None:
            numbers.add(leaf)
    assert verdict.endswith(".")
    assert "None" not in verdict
    # Names of metrics, runs and topics may have numbers, too.
    for text in sorted(texts, key=len, reverse=True):
        verdict = re.sub(rf"(?<![\w.]){re.escape(text)}(?![\w.]\w)", "", verdict)
    for text, decimals, percent in re.findall(r"(-?\d[\d,]*(?:\.(\d+))?)( %)?", verdict):
        number = float(text.replace(",", "")) / (100 if percent else 1)
        half = 0.5001 * 10 ** -len(decimals) / (100 if percent else 1)
        assert min(abs(number - known) for known in numbers) <= (half if decimals else 1e-9), (text, verdict)


COUNTED = {
    "rank-intervals": lambda metric: sum(run["rank_set"][0] == 1 for run in metric["ranks"]),
    "corrected-means": lambda metric: len(list(combinations(metric["runs"], 2))),
}
"""Counts that only the sentence has, of what a result says of a metric."""


@pytest.mark.outer
@pytest.mark.parametrize(
    ("kind", "trials"),
    [("stability", 66), ("swap-rate", 66), ("test-agreement", 33), ("gain-robustness", 20), ("topic-set-size", 5)],
)
def test_parts_of_another_size_give_the_same_bytes(laboratory, elsewhere, monkeypatch, kind, trials):
    params = {"metrics": ["Q", "nDCG@5"], "trials": trials, "runs": ["yew", "maple", "alder", "oak"]}
    job = laboratory.launch(kind, **params)
    laboratory.work()
    monkeypatch.setattr("gainboard.analyses.common.PART_SECONDS", 1e-6)
    same = elsewhere.launch(kind, chunk_seconds=1e-9, **params)
    assert same.parts > job.parts
    elsewhere.work(backwards=True)
    assert laboratory.result(job) == elsewhere.result(same)
