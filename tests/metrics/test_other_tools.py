"""docs/other-tools.md: each line is tried with the tool that it names.

`numbers_of_tools.txt` has further lines: names that the page has elsewhere, or that need no explanation.
"""

import io
import math
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path

import ir_measures
import pytest
import pytrec_eval

import gainboard
from gainboard.cli import main
from tests.world.pages import rows

from .test_peers import random_case
from .test_vocabularies import scores_here, scores_of_ndeval, scores_of_ntcireval

pytestmark = [
    pytest.mark.outer,  # gdeval is a program in Perl
    pytest.mark.proof,  # seven tools, some of which take seconds to import
    pytest.mark.filterwarnings("ignore"),  # of the tools
]

PAGE = "other-tools.md"
FURTHER = Path(__file__).with_name("numbers_of_tools.txt").read_text(encoding="utf-8").splitlines()
SAME = [*rows(PAGE, "same"), *(line.split(" | ") for line in FURTHER)]


def mean(scores):
    return math.fsum(scores.values()) / len(scores)


def by_trec_eval_9(name, qrels, run):
    stem, _, number = name.rpartition("_")
    asked = f"{stem}.{number}" if number.replace(".", "").isdigit() else name
    found = pytrec_eval.RelevanceEvaluator(qrels, {asked}).evaluate(run)
    return float(pytrec_eval.compute_aggregated_measure(name, [its[name] for its in found.values()]))


def by_trec_eval_10(name, qrels, run, folder):
    stem, _, number = name.rpartition("_")
    asked = f"{stem}.{number}" if number.replace(".", "").isdigit() else name
    known, ranked = files(qrels, run, folder)
    printed = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(printed, write_through=True)) as wrapped:
        main(["trec_eval", "-m", asked, str(known), str(ranked)])
        found = float(printed.getvalue().split()[-1])
        wrapped.detach()
    return found


def by_ir_measures(name, qrels, run):
    known = [ir_measures.Qrel(topic, doc, level) for topic, its in qrels.items() for doc, level in its.items()]
    ranked = [ir_measures.ScoredDoc(topic, doc, score) for topic, its in run.items() for doc, score in its.items()]
    (found,) = ir_measures.calc_aggregate([ir_measures.parse_measure(name)], known, ranked).values()
    return float(found)


def by_ranx(name, qrels, run):
    import ranx  # noqa: PLC0415 (as trectools, it takes seconds, also of those who deselect this file)

    known = ranx.Qrels({topic: dict(its) for topic, its in qrels.items()})
    ranked = ranx.Run({topic: dict(its) for topic, its in run.items()})
    return float(ranx.evaluate(known, ranked, name, make_comparable=qrels.keys() != run.keys()))


def by_trectools(name, qrels, run, folder):
    import trectools  # noqa: PLC0415

    known, ranked = files(qrels, run, folder)
    tool = trectools.TrecEval(trectools.TrecRun(str(ranked)), trectools.TrecQrel(str(known)))
    found = eval(f"tool.{name}", {"tool": tool})
    return float(found[0] if isinstance(found, tuple) else found)


def files(qrels, run, folder):
    known, ranked = folder / "qrels.txt", folder / "run.txt"
    known.write_text(
        "".join(f"{topic} 0 {doc} {level}\n" for topic, its in qrels.items() for doc, level in its.items())
    )
    lines = (
        f"{topic} Q0 {doc} {rank} {score!r} tag\n"
        for topic, its in run.items()
        for rank, (doc, score) in enumerate(its.items(), start=1)
    )
    ranked.write_text("".join(lines))
    return known, ranked


def by_ours(expression, qrels, run):
    found = gainboard.score(qrels, {"run": run}, [expression], gains="linear").to_dict()["run"]
    (score,) = found.values()
    return float(score)


@pytest.fixture
def tools(tmp_path, monkeypatch):
    numba = pytest.importorskip("numba", reason="ranx needs numba, which is not for each system")
    # Else ranx compiles its functions for a minute, to score a few documents.
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    return {
        "trec_eval 9": by_trec_eval_9,
        "trec_eval 10": lambda name, qrels, run: by_trec_eval_10(name, qrels, run, tmp_path),
        "NTCIREVAL": lambda name, qrels, run: mean(scores_of_ntcireval(name, qrels, run)),
        "ir_measures": by_ir_measures,
        "ranx": by_ranx,
        "pyndeval": lambda name, qrels, run: mean(scores_of_ndeval(name, qrels, run)),
        **dict.fromkeys(
            ("trectools", "trectools, as read"), lambda name, qrels, run: by_trectools(name, qrels, run, tmp_path)
        ),
    }


def plain_case(seed):
    """Judgments and a run without what tools treat differently: no ties, and each topic has relevant documents."""
    qrels, run = random_case(seed, lowest_level=0)
    kept = [topic for topic in qrels if topic in run and any(level == 3 for level in qrels[topic].values())]
    # Descending ids among equal scores, as most tools have it, and scores that say so.
    ranked = {
        topic[1:]: {doc: float(1000 - place) for place, (_, doc) in enumerate(order)}
        for topic in kept
        for order in [sorted(((score, doc) for doc, score in run[topic].items()), reverse=True)]
    }
    return {topic[1:]: dict(qrels[topic]) for topic in kept}, ranked


CASES = [plain_case(seed) for seed in range(3)]
PRINTED = {"trec_eval 10": 6e-5}
"""How many decimals are printed of a mean, of which no more is known."""
BY_GDEVAL = ("ERR@", "nDCG(dcg=")


def numbers(row, tools):
    tool, name, expression = row[:3]
    for qrels, run in CASES:
        ours = mean(scores_here(expression, qrels, run)) if tool == "pyndeval" else by_ours(expression, qrels, run)
        yield tools[tool](name, qrels, run), ours


def within(row):
    return 1e-5 if row[1].startswith(BY_GDEVAL) else PRINTED.get(row[0], 1e-9)


@pytest.mark.parametrize("row", SAME, ids=lambda row: f"{row[0]} {row[1]}")
def test_a_number_is_the_same(row, tools):
    for theirs, ours in numbers(row, tools):
        assert theirs == pytest.approx(ours, abs=within(row))


@pytest.mark.parametrize("row", rows(PAGE, "differ"), ids=lambda row: f"{row[0]} {row[1]}")
def test_a_number_differs(row, tools):
    assert any(abs(theirs - ours) > 10 * within(row) for theirs, ours in numbers(row, tools))


AP = {
    "ours": "AP",
    "trec_eval 9": "map",
    "trec_eval 10": "map",
    "ir_measures": "AP",
    "ranx": "map",
    "trectools": "get_map()",
}
RELEVANT = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}
FOUND = {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}


def situations(ap):
    """What a tool does where tools differ, as AP tells it."""
    nothing = {**RELEVANT, "2": {"a": 0}}
    tied = {"b": 1.0, "a": 1.0}
    near = {"a": 1.00000002, "b": 1.00000001}
    by_id = {0.5: "descending ids", 1.0: "ascending ids"}
    one = {"1": {"a": 1, "b": 0}}
    order = {ap(one, {"1": dict(pairs)}) for pairs in (tied.items(), reversed(tied.items()))}
    return {
        "a topic without relevant documents": {1.0: "left out", 0.5: "0"}[ap(nothing, FOUND)],
        "a topic that the run lacks": {1.0: "left out", 0.5: "0"}[ap(RELEVANT, {"1": FOUND["1"]})],
        "equal scores": by_id[order.pop()] if len(order) == 1 else "order of the file",
        "scores that differ in the ninth digit": {1.0: "told apart", 0.5: "tied"}[ap(one, {"1": near})],
    }


def test_every_situation_is_as_the_page_says(tools):
    columns = list(AP)
    told = {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows(PAGE, "situations")}
    found = {
        tool: situations(lambda qrels, run, tool=tool, name=name: {"ours": by_ours, **tools}[tool](name, qrels, run))
        for tool, name in AP.items()
    }
    assert {situation: {tool: its[situation] for tool, its in found.items()} for situation in told} == told


def test_the_page_names_the_versions_that_are_compared():
    packages = ("pytrec_eval-terrier", "pyNTCIREVAL", "ir_measures", "ranx", "pyndeval", "trectools")
    told = {row[1]: row[2] for row in rows(PAGE, "versions")}
    assert {name: told[name] for name in packages} == {name: version(name) for name in packages}
