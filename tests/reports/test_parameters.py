"""What a researcher may change in a report: metrics, gains, bases, cut-offs, runs, and how topics are drawn."""

import pytest

from gainboard.analyses.report_kinds import Needed, every_report_kind, find_report_kind
from gainboard.jobs.report_planning import params_of
from tests.reports.laboratory import about, laid, tables

RELIABILITY, LATE = "reliability-of-graded-metrics", "controlling-late-arrival-penalty"
Q_MEASURE, KEKALAINEN = "q-measure-appendix", "binary-and-graded-relevance"
FAST = {"trials": 20, "seeds": 1}


def planned(laboratory, name, **params):
    kind = find_report_kind(name)
    asked, facts = kind.params_model.model_validate(params), about(laboratory)
    return {
        each.key: params_of(each, facts.collection, asked).model_dump(exclude_unset=True)
        for each in kind.plan(facts, asked)
        if isinstance(each, Needed)
    }


SWAP = "swap metrics"
OTHERWISE = [
    (RELIABILITY, {"base": 3, "cutoffs": [5]}, SWAP, "P@5 P(rel=2)@5 nCG(gains=3:2:1)@5 nDCG(base=3,gains=3:2:1)@5"),
    (RELIABILITY, {"gains": "10.0:5:1"}, "gains settings", ["10:5:1", "1:1:1", "adjust(10:5:1)"]),
    (RELIABILITY, {"top": 3}, "swap runs top", 3),
    (RELIABILITY, {"top": {"grove": 3, "other": 9}}, "swap runs top", 3),
    (RELIABILITY, {"top": {"other": 9}}, "swap runs top", 30),
    (RELIABILITY, {"replacement": True}, "swap replacement", True),
    (RELIABILITY, {"subset_size": {"grove": 4}}, "swap subset_size", 4),
    (RELIABILITY, {"subset_size": {"grove": 4}}, "stability subset_size", 4),
    (LATE, {"bases": [3], "gains": ["exp"], "cutoff": 7}, "correlation metrics", "nDCG(base=3,gains=exp)@7 AP"),
    (Q_MEASURE, {"gains": "linear", "other_gains": ["exp"]}, "correlation metrics", "Q(beta=1,gains=exp)"),
    (KEKALAINEN, {"gains": ["1:1:1", "5:2:1"], "base": 4}, "w100 gains", "5:2:1"),
    (KEKALAINEN, {"gains": ["5:2:1"], "cutoffs": [5], "base": 4}, "measures metrics", "DCG(base=4,gains=5:2:1)@5"),
]


@pytest.mark.parametrize(("name", "params", "place", "expected"), OTHERWISE)
def test_jobs_are_asked_with_what_a_researcher_changes(laboratory, name, params, place, expected):
    found = planned(laboratory, name, **params)
    for each in place.split():
        found = found[each]
    if place.endswith("metrics"):
        assert set(expected.split()) <= set(found)
    else:
        assert found == expected


def test_the_graded_metrics_of_the_reliability_report_can_be_others(laboratory):
    params = {"metrics": ["Q(beta=10)", "nDCG@5", "ERR@5", "Q(beta=10,gains=1:1:1)"], "gains": "10:5:1"} | FAST
    found = tables(laid(laboratory, RELIABILITY, **params))
    names = {"Q(beta=10)", "nDCG(base=2)@5", "ERR@5"}
    assert {row[0] for row in found["Tables 2-3 (b)"].rows} == {row[0] for row in found["Table 8"].rows} == names
    assert "Q(beta=10): Q(beta=10,gains=10:5:1)" in " ".join(found["Tables 6-7"].notes)
    assert [row[0] for row in found["Tables 6-7"].rows] == ["(A) Q(beta=10)", "(B) nDCG(base=2)@5"]
    assert [column.title for column in found["Table 8"].columns][1:] == ["default", "flat", "adjust"]
    assert [column.title for column in found["Table 9"].columns][1:] == ["flat", "adjust"]


@pytest.mark.parametrize("kind", every_report_kind(), ids=lambda kind: kind.name)
def test_every_report_can_leave_out_unjudged_documents_and_runs_of_other_types(laboratory, kind):
    for key, sent in planned(laboratory, kind.name, condensed=True, type="manual").items():
        if key != "judgments":
            assert (sent["condensed"], sent["type"]) == (True, "manual"), key
