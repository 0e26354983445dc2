"""A number of any tool leads back to the tool: its metric, its order of ties and its topics."""

from functools import partial

import pytest

import gainboard
from gainboard.errors import BadExpression, BadInput
from gainboard.evaluation.runs.run_files import NO_LIMITS, read_run
from gainboard.evaluation.scoring.file_scores import FileJudgments
from gainboard.evaluation.scoring.identification import Numbers, identify, in_words, judge_in_orders
from gainboard.metrics.tools import TOOLS, names_of
from gainboard.trec import decompress_body
from gainboard.vocabulary import RunOrder
from scripts import other_tools
from tests import real

from .test_other_tools import (
    CASES,
    by_ir_measures,
    by_ranx,
    by_trec_eval_9,
    by_trec_eval_10,
    by_trectools,
    files,
)

# Where tools differ: the ties of topic 1 are in an order of the file of their own, and two of its scores are equal in
# single precision alone; 2 has no relevant document; the run lacks 3 and 5.
QRELS = {
    "1": {"a": 0, "b": 2, "c": 1, "d": 0, "e": 3},
    "2": {"a": 0, "b": 0},
    "3": {"a": 1, "b": 0},
    "4": {"a": 1, "b": 3, "c": 0},
    "5": {"a": 2},
}
RUN = {
    "1": {"c": 7.0, "e": 7.0, "d": 7.0, "a": 3.00000002, "b": 3.00000001},
    "2": {"a": 2.0, "b": 1.0},
    "4": {"c": 3.0, "b": 2.0, "a": 1.0},
}


def read(path, index):
    def chunks():
        with open(path, "rb") as file:
            yield from decompress_body(file, None, NO_LIMITS)

    consume = partial(judge_in_orders, index=index, depth=1000, order=RunOrder())
    return read_run(chunks, RunOrder(), 1000, NO_LIMITS, consume)[1]


def explained(qrels, runs, *asked, gains="linear"):
    judged = FileJudgments.of(qrels)
    ordered = [read(path, judged.index) for path in runs]
    return identify(asked, ordered, judged.index.topics.judgments, judged.scale, gains)


def one(folder, *numbers, metric="", **case):
    qrels, run = files(case.get("qrels", QRELS), case.get("run", RUN), folder)
    return explained(qrels, [run], *(Numbers([number], metric) for number in numbers))


def tools_of(variants):
    return {(found.tool, found.name) for found in variants if found.is_given and not found.departures}


TOLD = [("trec_eval 9", "map", by_trec_eval_9), ("trec_eval 9", "ndcg_cut_3", by_trec_eval_9)]
TOLD += [("ir_measures", "AP", by_ir_measures), ("ir_measures", "nDCG@3", by_ir_measures)]


@pytest.mark.filterwarnings("ignore:.* will be removed in Python 3\\.14:DeprecationWarning")
@pytest.mark.parametrize(("tool", "name", "compute"), TOLD, ids=lambda each: str(each)[:12])
def test_the_number_of_a_tool_leads_to_it(tool, name, compute, tmp_path):
    number = compute(name, QRELS, RUN)
    assert (tool, name) in tools_of(one(tmp_path, f"{number:.4f}"))
    assert (tool, name) in tools_of(one(tmp_path, repr(number)))


def test_the_numbers_of_trec_eval_10_and_of_ours_lead_to_them(tmp_path):
    number = by_trec_eval_10("map", QRELS, RUN, tmp_path)
    assert ("trec_eval 10", "map") in tools_of(one(tmp_path, f"{number:.4f}"))
    number = gainboard.score(QRELS, {"run": RUN}, ["Q"]).to_dict()["run"]["Q(beta=1,gains=linear)"]
    assert ("Gainboard", "Q") in tools_of(one(tmp_path, f"{number:.4f}"))


@pytest.mark.proof  # they take seconds to import
@pytest.mark.filterwarnings("ignore")
def test_the_numbers_of_ranx_and_trectools_lead_to_them(tmp_path, monkeypatch):
    monkeypatch.setattr(pytest.importorskip("numba").config, "DISABLE_JIT", 1)
    assert ("ranx", "map@10") in tools_of(one(tmp_path, f"{by_ranx('map@10', QRELS, RUN):.4f}"))
    for tool, call in (("trectools", "get_map()"), ("trectools, as read", "get_ndcg(depth=3, trec_eval=False)")):
        number = by_trectools(call, QRELS, RUN, tmp_path)
        assert (tool, call) in tools_of(one(tmp_path, f"{number:.4f}"))


def test_the_case_tells_the_tools_apart(tmp_path):
    """Else the tests above would take one tool for another."""
    ours = gainboard.score(QRELS, {"run": RUN}, ["AP"]).to_dict()["run"]["AP"]
    theirs = (by_trec_eval_9("map", QRELS, RUN), by_trec_eval_10("map", QRELS, RUN, tmp_path))
    assert len({f"{mean:.4f}" for mean in (ours, *theirs, by_ir_measures("AP", QRELS, RUN))}) == 4


def test_each_metric_of_ours_is_found_by_its_rounded_mean(tmp_path):
    qrels, run = CASES[0]
    score = partial(gainboard.score, qrels, {"run": run})
    names = [name for name, _ in names_of(TOOLS[0], ["10"]) if not is_refused(score, name)]
    means = score(names).scores
    labels = [means.label_by_expression[name] for name in names]
    asked = [f"{means.means[means.labels.index(label), 0]:.4f}" for label in labels]
    found = explained(*with_runs(qrels, run, tmp_path), *map(Numbers, ([text] for text in asked), names))
    for text, label in zip(asked, labels, strict=True):
        first = [variant for variant in found if variant.number == text and not variant.departures]
        assert (label, "Gainboard") in {(variant.expression, variant.tool) for variant in first}, label
    assert len(names) > 80


def is_refused(score, name):
    """Whether a name needs a cut-off, or judgments by intent."""
    try:
        score([name])
    except BadExpression:
        return True
    return False


def with_runs(qrels, run, folder):
    judged, ranked = files(qrels, run, folder)
    return judged, [ranked]


def test_departures_are_counted_and_named(tmp_path):
    ascending = {"1": {"b": 1.0, "a": 1.0}, "4": {"c": 2.0, "b": 1.0}}
    case = {"qrels": {"1": {"a": 1}, "4": {"b": 1}}, "run": ascending}
    (first, *_) = one(tmp_path, "0.75", metric="RR", **case)
    assert (first.order, first.departures) == ("ascending ids", ["ascending ids"])
    (first, *_) = one(tmp_path, "75 %", metric="RR", **case)
    assert first.is_given
    (first, *_) = one(tmp_path, "0.37", metric="RR", **case)
    assert not first.is_given


def test_a_number_that_nothing_gives_has_the_nearest(tmp_path):
    found = one(tmp_path, "7.123")
    assert not any(variant.is_given for variant in found)
    differences = [variant.difference for variant in found]
    assert differences == sorted(differences)
    assert in_words(found)[0].startswith("Nothing gives 7.123. ")


def test_a_number_may_be_cut_off(tmp_path):
    case = {"qrels": {"1": {"a": 1, "b": 1, "c": 1}}, "run": {"1": {"a": 3.0, "b": 2.0, "x": 1.0}}}
    (first, *_) = one(tmp_path, "0.66", metric="Recall@10", **case)  # 2/3
    assert (first.rounding, first.departures) == ("cut off", ["decimals cut off"])
    (first, *_) = one(tmp_path, "0.67", metric="Recall@10", **case)
    assert (first.rounding, first.departures) == ("rounded", [])


def test_what_explains_all_numbers_comes_first(tmp_path):
    """P_5 does not depend on ties, so that both versions of trec_eval give it; but only 9 gives this map."""
    numbers = [f"{by_trec_eval_9(name, QRELS, RUN):.4f}" for name in ("map", "P_5")]
    assert {("trec_eval 9", "P_5"), ("trec_eval 10", "P_5")} <= tools_of(one(tmp_path, numbers[1]))
    found = [variant for variant in one(tmp_path, *numbers) if variant.number == numbers[1]]
    assert {variant.tool for variant in found if variant.jointly and not variant.departures} == {"trec_eval 9"}
    assert found[0].jointly


def test_a_column_of_a_table_is_explained_for_all_its_runs(tmp_path):
    (tmp_path / "other").mkdir()
    judged, first = files(QRELS, RUN, tmp_path)
    other = {**RUN, "4": {"a": 3.0, "b": 2.0, "c": 1.0}}
    _, second = files(QRELS, other, tmp_path / "other")
    numbers = [f"{by_trec_eval_9('map', QRELS, run):.4f}" for run in (RUN, other)]
    found = explained(judged, [first, second], Numbers(numbers), Numbers(["", numbers[1]], "MAP"))
    assert ("trec_eval 9", "map") in tools_of(variant for variant in found if variant.number == "a column of 2 runs")
    assert ("trec_eval 9", "map") in tools_of(variant for variant in found if variant.number == numbers[1])


def test_a_metric_is_known_by_the_names_of_papers_and_with_its_parameters(tmp_path):
    number = f"{by_trec_eval_9('map', QRELS, RUN):.4f}"
    assert ("trec_eval 9", "map") in tools_of(one(tmp_path, number, metric="MAP"))
    (first, *_) = one(tmp_path, f"{by_trec_eval_9('P_5', QRELS, RUN):.4f}", metric="P@0005")
    assert first.expression == "P@5"
    (mean,) = gainboard.score(QRELS, {"run": RUN}, ["Q(beta=7)"]).to_dict()["run"].values()
    assert one(tmp_path, f"{mean:.6f}", metric="Q(beta=7)")[0].expression == "Q(beta=7,gains=linear)"
    with pytest.raises(BadExpression, match="there is no metric 'nothing'"):
        one(tmp_path, number, metric="nothing")


def test_a_heading_that_is_no_metric_may_be_any(tmp_path):
    qrels, run = files(QRELS, RUN, tmp_path)
    number = f"{by_trec_eval_9('map', QRELS, RUN):.4f}"
    found = explained(qrels, [run], Numbers([number], "map of all", is_heading=True))
    assert ("trec_eval 9", "map") in tools_of(found)


@pytest.mark.parametrize("text", ["", "abc", "0.3.4", "1e400", "nan", "."])
def test_a_text_that_is_no_number_is_refused(text, tmp_path):
    with pytest.raises(BadInput, match=r"is not a number\. Write it as printed"):
        one(tmp_path, text)


def test_a_run_whose_topics_are_not_judged_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No topic of the run is judged"):
        one(tmp_path, "0.5", run={"9": {"a": 1.0}})


def test_published_figures_of_real_runs_are_those_of_trec_eval():
    """The organisers' file has four decimals; `_l2` are figures with level 2 and above."""
    folder, (row, other, *_) = real.folder(), real.published()
    columns = {name: [row[name], other[name]] for name in row if name != "run"}
    runs = [folder / "runs" / f"input.{each['run']}.gz" for each in (row, other)]
    asked = [Numbers(texts) for texts in columns.values()]
    found = explained(folder / "qrels.dl19-passage.txt", runs, *asked)
    assert any(variant.departures == ["rel=2"] and variant.name == "map" for variant in found)
    assert {(variant.tool, variant.name) for variant in found} >= {
        ("trec_eval 9", name) for name in columns if not name.endswith("_l2")
    }


def test_the_tables_of_other_tools_are_those_of_the_code():
    text = other_tools.PAGE.read_text(encoding="utf-8")
    assert other_tools.with_tables(text) == text, "write them anew with: python -m scripts.other_tools"
