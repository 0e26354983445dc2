"""Best, worst and expected scores of tied runs are those of all orders, for every metric of the catalogue."""

from itertools import chain, pairwise, permutations, product
from math import comb

import numpy as np
import pytest

from gainboard.errors import InvalidRequest
from gainboard.evaluation.scoring.ties import RunTies, expected_of, range_of
from gainboard.metrics import JudgedRuns, Scale, expected_form, is_without_order, resolve, score_all
from gainboard.trec import Ranking
from tests.metrics.judged import joined, judged, judgments, ordinary_metrics

SCALE = Scale(3)
NAMES = [metric.name for metric in ordinary_metrics()]
DRAWN = {"ERR", "nERR", "iRBU", "EBR", "P-measure", "Pplus", "bpref", "infAP", "NCUrbP", "NCUrbBR", "IPrec"}
DRAWN |= {"AP11pt", "binG", "G", "nDCGrel", "niRBU", "nEBR", "NCUrbIE", "INST", "INSQ", "CWL"}
"""The metrics whose expectation has no closed form."""


def expressions(name):
    (metric,) = (each for each in ordinary_metrics() if each.name == name)
    ends = [""]
    if metric.takes_cutoff:
        ends = ["@1", "@3", *(["@R"] if metric.takes_r else []), *([] if metric.needs_cutoff else [""])]
    own = [""]
    if metric.graded:
        own += ["gains=10:5:1", "gains=adjust(3:2:1)", "gains=3:0:0"]
    own += ["rel=2", *(["condensed=true"] if name != "RBPresidual" else [])]
    needs = ["b=2:3:4"] if name in ("WRR", "NWRR") else []
    inside = [",".join([*needs, *([each] if each else [])]) for each in own]
    return [f"{name}({each})" + end if each else name + end for each in inside for end in ends]


def examples(seed):
    """Some topics with ties: judgments, and the groups of a run, best first."""
    random = np.random.default_rng(seed)
    found = [
        ({"a": 1, "b": 2, "c": 3}, [["a", "b", "c"]]),
        ({"a": 1, "n": 0}, [["u"], ["v", "n", "a"]]),
        ({"a": 3, "b": 3, "x": 2}, [["a", "b"], ["u", "v"]]),
    ]
    for number in range(8):
        levels = dict(zip("abcdefg", random.choice([0, 0, 1, 1, 2, 3, -1], 7).tolist(), strict=True))
        levels["a"] = 3
        documents = random.permutation([*"abcdef", "u", "v"]).tolist()
        sizes = [[3, 1, 2, 1], [4, 2, 1], [1, 5], [2, 2, 2, 2]][number % 4]
        ends = np.cumsum([0, *sizes]).tolist()
        found.append((levels, [documents[begin:end] for begin, end in pairwise(ends)]))
    return found


def tied(levels, groups):
    """The run with its ties, as they are found in its scores."""
    scored = {document: float(-place) for place, group in enumerate(groups) for document in group}
    ranking = Ranking("t", [each.encode() for each in scored], np.array([*scored.values()]))
    return RunTies.of([ranking], "score", 1000).tied_run(joined({"t": levels}, {"t": scored}), ["t"])


def every_order(levels, groups):
    """A run for every order of the groups."""
    scores = {document: float(-place) for place, group in enumerate(groups) for document in group}
    orders = [[*chain(*order)] for order in product(*map(permutations, groups))]
    runs = [joined({"t": levels}, {"t": {document: scores[document] for document in order}}) for order in orders]
    return JudgedRuns.of(runs, judgments({"t": levels}))


def every_score(metrics, orders):
    return np.asarray(score_all(metrics, orders)[:, :, 0])


@pytest.mark.outer
def test_the_best_the_worst_and_the_expected_score_are_those_of_all_orders():
    metrics = [resolve(expression, SCALE) for name in NAMES for expression in expressions(name)]
    for levels, groups in examples(20):
        run, known, orders = tied(levels, groups), judgments({"t": levels}), every_order(levels, groups)
        every = every_score(metrics, orders)
        extremes = range_of(metrics, run, known, "tag").scores
        expectations = expected_of(metrics, run, known).scores
        for place, (metric, own) in enumerate(zip(metrics, every, strict=True)):
            said = f"{metric.label} {levels} {groups}"
            assert extremes["worst"][place, 0] == pytest.approx(own.min(), abs=1e-12, nan_ok=True), said
            assert extremes["best"][place, 0] == pytest.approx(own.max(), abs=1e-12, nan_ok=True), said
            expected, error = (each[place, 0] for each in expectations.values())
            mean = own.mean()
            if metric.metric.name in DRAWN and not np.isnan(mean):
                assert abs(expected - mean) <= 5 * error + 1e-12, said
            else:
                assert expected == pytest.approx(mean, abs=1e-12, nan_ok=True), said
                assert error == 0 or np.isnan(mean), said


def test_expectations_follow_from_formulas():
    for name in NAMES:
        for metric in (resolve(each, SCALE) for each in expressions(name)):
            has_form = expected_form(metric.formula) is not None or is_without_order(metric)
            assert (name in DRAWN) == (not has_form), metric.label
            assert is_without_order(metric) == (name == "ADM" or name.startswith("set")), metric.label


def test_a_group_of_seven_is_refused_where_sorting_is_not_best():
    levels = {"a": 1, "b": 3}
    for size, is_refused in ((6, False), (7, True)):
        run = tied(levels, [["a", "b", *"uvwxyz"[: size - 2]]])
        assert range_of([resolve("AP", SCALE)], run, judgments({"t": levels}), "tag").scores["best"][0, 0] == 1
        if is_refused:
            with pytest.raises(InvalidRequest, match="Pplus"):
                range_of([resolve("Pplus", SCALE)], run, judgments({"t": levels}), "tag")
        else:
            range_of([resolve("Pplus", SCALE)], run, judgments({"t": levels}), "tag")


def test_a_group_of_unjudged_documents_is_never_refused():
    levels = {"a": 1}
    run = tied(levels, [["a"], [*"uvwxyzstr"]])
    found = range_of([resolve("Pplus", SCALE)], run, judgments({"t": levels}), "tag")
    assert found.scores["best"].tolist() == found.scores["worst"].tolist()


def test_the_first_relevant_document_of_a_large_group_is_where_combinations_say():
    size, relevant, above = 900, 40, 3
    levels = {f"r{number}": 1 for number in range(relevant)}
    group = [*levels, *(f"u{number}" for number in range(size - relevant))]
    run = tied(levels, [*([f"x{number}"] for number in range(above)), group])
    chances = [comb(size - j, relevant - 1) / comb(size, relevant) for j in range(1, size + 1)]
    by_hand = sum(chance / (above + j) for j, chance in enumerate(chances, 1))
    found = expected_of([resolve("RR", SCALE)], run, judgments({"t": levels}))
    assert found.scores["expected"][0, 0] == pytest.approx(by_hand, rel=1e-12)


def test_a_run_without_ties_has_its_own_scores_and_missing_topics_have_0():
    qrels = {"1": {"a": 2, "b": 1}, "2": {"a": 1}, "3": {"a": 0}}
    run = {"1": {"u": 3.0, "b": 2.0, "a": 1.0}}
    ranking = Ranking("1", [b"u", b"b", b"a"], np.array([3.0, 2.0, 1.0]))
    metrics = [resolve(name, SCALE) for name in ("AP", "Q", "ERR", "nDCG@2", "RR", "AP(mean=geometric)")]
    ties = RunTies.of([ranking], "score", 1000)
    assert (ties.tied_share, ties.cut) == (0, 0)
    known, tied_run = judgments(qrels), ties.tied_run(joined(qrels, run), [*qrels])
    own = score_all(metrics, judged(qrels, run))[:, 0]
    for found in (range_of(metrics, tied_run, known, "tag"), expected_of(metrics, tied_run, known)):
        for which, scores in found.scores.items():
            if which != "standard_error":
                np.testing.assert_allclose(scores, own, atol=1e-12)
    assert own[:, 1].tolist() == [0] * len(metrics)


def test_shares_and_cuts_are_in_the_precision_of_the_order():
    near = [3.0, 2.0 + 1e-9, 2.0, 1.0, 1.0, 1.0]
    ranking = Ranking("1", [b"%d" % number for number in range(6)], np.array(near))
    exact, single, ranked = (RunTies.of([ranking], order, 5) for order in ("score", "score32", "rank"))
    assert (exact.tied_share, single.tied_share, ranked.tied_share) == (2 / 5, 4 / 5, None)
    assert (exact.cut, single.cut, ranked.cut) == (1, 1, 0)
    assert exact.groups["1"].tolist() == [[4, 2]]
    assert single.groups["1"].tolist() == [[2, 2], [4, 2]]
    assert not ranked.groups
