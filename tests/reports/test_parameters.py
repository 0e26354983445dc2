"""What a researcher may change in a report: metrics, gains, bases, cut-offs, runs, and how topics are drawn."""

import pytest

from gainboard.analyses.report_kinds import Needed, every_report_kind, find_report_kind
from gainboard.jobs.report_planning import params_of
from tests.reports.laboratory import about, figures, laid, tables

RELIABILITY, LATE = "reliability-of-graded-metrics", "controlling-late-arrival-penalty"
Q_MEASURE, KEKALAINEN = "q-measure-appendix", "binary-and-graded-relevance"
FAST = {"trials": 20, "seeds": 1}


def planned(laboratory, name, **params):
    """The parameters of each job that the report needs, as they are sent."""
    kind = find_report_kind(name)
    asked, facts = kind.params.model_validate(params), about(laboratory)
    return {
        each.key: params_of(each, facts.collection, asked).model_dump(exclude_unset=True)
        for each in kind.plan(facts, asked)
        if isinstance(each, Needed)
    }


def test_the_graded_metrics_of_the_reliability_report_can_be_others(laboratory):
    params = {"metrics": ["Q(beta=10)", "nDCG@5", "ERR@5", "Q(beta=10,gains=1:1:1)"], "gains": "10:5:1"} | FAST
    found = tables(laid(laboratory, RELIABILITY, **params))
    names = {"Q(beta=10)", "nDCG(base=2)@5", "ERR@5"}
    assert {row[0] for row in found["Tables 2-3 (b)"].rows} == names
    assert {row[0] for row in found["Table 8"].rows} == names
    assert "Q(beta=10): Q(beta=10,gains=10:5:1)" in " ".join(found["Tables 6-7"].notes)
    assert [row[0] for row in found["Tables 6-7"].rows] == ["(A) Q(beta=10)", "(B) nDCG(base=2)@5"]


def test_the_base_and_the_cut_offs_of_the_reliability_report_can_be_others(laboratory):
    sent = planned(laboratory, RELIABILITY, base=3, cutoffs=[5])["swap"]["metrics"]
    assert [each for each in sent if "@" in each] == [
        "P@5",
        "P(rel=2)@5",
        "nCG(gains=3:2:1)@5",
        "AnCG(gains=3:2:1)@5",
        "nDCG(base=3,gains=3:2:1)@5",
        "AnDCG(base=3,gains=3:2:1)@5",
    ]


def test_gain_settings_that_equal_another_are_asked_for_once(laboratory):
    settings = planned(laboratory, RELIABILITY, gains="10.0:5:1")["gains"]["settings"]
    assert settings == ["10:5:1", "1:1:1", "adjust(10:5:1)"]
    found = tables(laid(laboratory, RELIABILITY, gains="10.0:5:1", **FAST))
    assert [column.title for column in found["Table 8"].columns][1:] == ["default", "flat", "adjust"]
    assert [column.title for column in found["Table 9"].columns][1:] == ["flat", "adjust"]


@pytest.mark.parametrize("top", [3, {"beech": 3, "other": 9}])
def test_a_value_may_be_one_for_all_collections_or_one_for_each(laboratory, top):
    name = about(laboratory).collection
    params = {name if key == "beech" else key: each for key, each in top.items()} if isinstance(top, dict) else top
    assert planned(laboratory, RELIABILITY, top=params)["swap"]["runs"]["top"] == 3
    assert planned(laboratory, RELIABILITY, top={"other": 9})["swap"]["runs"]["top"] == 30


def test_topics_may_be_drawn_otherwise(laboratory):
    params = {"replacement": True, "subset_size": {about(laboratory).collection: 4}}
    sent = planned(laboratory, RELIABILITY, **params)
    assert (sent["swap"]["replacement"], sent["swap"]["subset_size"], sent["stability"]["subset_size"]) == (True, 4, 4)


def test_betas_and_bases_of_the_late_arrival_report_can_be_others(laboratory):
    params = {"betas": [0, 5], "bases": [3], "gains": ["exp"], "cutoff": 7, "resamples": 50, "seeds": 1}
    found = tables(laid(laboratory, LATE, metrics=["AWP(gains=linear)", "AP(rel=1)"], **params))
    assert {row[1] for row in found["Tables 2-3"].rows} == {
        "AP", "Q(beta=0)", "Q(beta=1)", "Q(beta=5)", "nDCG(base=2)", "nDCG(base=3)", "genAP", "AWP(gains=linear)",
    }  # fmt: skip
    sent = planned(laboratory, LATE, **params)["correlation"]["metrics"]
    assert "nDCG(base=3,gains=exp)@7" in sent
    assert all("exp" in each for each in sent if each != "AP")
    assert "Figures 3-4" not in figures(laid(laboratory, LATE, **params))


def test_gains_of_the_q_measure_report_can_be_others(laboratory):
    params = {"gains": "linear", "other_gains": ["exp", "linear", "1:1:1"]}
    sent = planned(laboratory, Q_MEASURE, **params)["correlation"]["metrics"]
    assert [each for each in sent if each.startswith("Q(")] == [
        f"Q(beta=1,gains={each})" for each in ("linear", "exp", "1:1:1")
    ]
    assert tables(laid(laboratory, Q_MEASURE, **params))


def test_schemes_cut_offs_and_base_of_kekalainens_report_can_be_others(laboratory):
    params = {"gains": ["1:1:1", "5:2:1"], "cutoffs": [5, 3], "base": 4}
    found = laid(laboratory, KEKALAINEN, **params)
    headings = [(column.group, column.title) for column in tables(found)["Table 4"].columns][1:]
    assert headings == [("dcv 3", "1:1:1"), ("dcv 3", "5:2:1"), ("dcv 5", "1:1:1"), ("dcv 5", "5:2:1")]
    assert "dcv 5" in tables(found)["Table 5"].caption
    assert "under 5:2:1" in figures(found)["Figures 1-2 (e)"].caption
    sent = planned(laboratory, KEKALAINEN, **params)
    assert (sent["w100"]["gains"], sent["w100"]["base"]) == ("5:2:1", 4)
    assert "DCG(base=4,gains=5:2:1)@5" in sent["measures"]["metrics"]


@pytest.mark.parametrize("kind", every_report_kind(), ids=lambda kind: kind.name)
def test_every_report_can_leave_out_unjudged_documents_and_runs_of_other_types(laboratory, kind):
    for key, sent in planned(laboratory, kind.name, condensed=True, type="manual").items():
        if key != "judgments":
            assert (sent["condensed"], sent["type"]) == (True, "manual"), key


def test_a_condensed_report_is_about_condensed_metrics(laboratory):
    found = tables(laid(laboratory, Q_MEASURE, condensed=True))
    legend = " ".join(found["Tables 3-6 (a)"].notes)
    assert "AP(condensed=true)" in legend
    assert "Q(beta=1,condensed=true,gains=3:2:1)" in legend
    plain = tables(laid(laboratory, Q_MEASURE))
    assert found["Tables 3-6 (a)"].rows != plain["Tables 3-6 (a)"].rows
