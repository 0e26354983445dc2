"""What holds for every kind of analysis: the shape of its result, and that nobody can tell how it was worked.

Kinds that change their collection would change that of all tests here, and have tests of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from gainboard.exhibits import Table, as_csv, as_latex
from gainboard.work.job_kinds import every_kind, find_kind
from gainboard.work.worker import Worker
from tests.analyses.laboratory import Laboratory, copied

SWEEP = {"metric": "Q", "parameter": "beta", "values": [0, 1, 10], "against": ["AP"]}
ASKED: dict[str, list[dict[str, Any]]] = {
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
    "judge-agreement": [
        {"metrics": ["AP", "Q"], "sets": [{"qrels": 1}], "flagged": ["oak"], "resamples": 150},
        {"metrics": ["RR"], "sets": [{"qrels": 1}], "pairs": "all", "threshold": 2, "k": 3, "resamples": 50},
    ],
    "rank-intervals": [{"metrics": ["AP", "Q"], "resamples": 100, "test_resamples": 300}],
    "leave-one-team-out": [
        {"metrics": ["AP", "Q"], "pool_depth": 5},
        {"metrics": ["AP(condensed=true)"], "pool_depth": 3, "contributors": ["maple", "birch", "oak"]},
    ],
    "topic-set-size": [
        {"metrics": ["AP", "Q"], "trials": 20, "difference": 0.1},
        {"metrics": ["AP", "DCG@10"], "trials": 10, "sizes": [2, 7, 5]},
    ],
}
RUNS = ["yew", "maple", "hazel", "oak", "cedar"]
"""Two of them rank alike, and one lacks topics."""
SPREAD = dict.fromkeys(("mean", "low", "high", "undefined"), 0)
SHAPES: dict[str, Any] = {
    "rank-correlation": {
        "metrics": [],
        "coefficients": {"kendall": [[]], "spearman": [[]]},
        "p_values": {},
        "ties": {},
        "means": {},
        "swops": {},
        "sweep": {"values": [], "against": {}},
        "topics": 0,
        "seed": 0,
        "resamples": 0,
    },
    "bootstrap-sensitivity": {
        "test": "",
        "metrics": [
            {
                "metric": "",
                "levels": [
                    dict.fromkeys(("alpha", "significant_pairs", "pairs", "sensitivity", "estimated_difference"), 0)
                ],
                "pairs": [{"runs": [], "difference": 0, "asl": 0}],
                "asl_curve": [],
            }
        ],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "resamples": 0,
    },
    "stability": {
        "subset_size": 0,
        "metrics": [
            {
                "metric": "",
                "curve": [{"fuzziness": 0, "minority_rate": 0, "proportion_of_ties": 0}],
                "ties_at_5_percent": 0,
            }
        ],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "trials": 0,
    },
    "swap-rate": {
        "subset_size": 0,
        "metrics": [
            {
                "metric": "",
                "bins": [dict.fromkeys(("from", "to", "comparisons", "swaps", "swap_rate"), 0)],
                "absolute_difference_required": 0,
                "maximum_performance": 0,
                "relative_difference_required": 0,
                "discrimination_power": 0,
            }
        ],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "trials": 0,
    },
    "test-agreement": {
        "metrics": [{"metric": "", "kendall": dict.fromkeys(("sign-minority", "sign-swap", "minority-swap"), 0)}],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "trials": 0,
    },
    "concordance": {
        "test": "",
        "alpha": 0,
        "pairs": 0,
        "metrics": [{"metric": "", "significant_pairs": 0}],
        "comparisons": [
            {
                "metrics": [],
                "counts": dict.fromkeys(("AA", "MA", "PA", "AD", "MD", "PD", "tie"), 0),
                "shares": dict.fromkeys(("AA", "MA", "PA", "AD", "MD", "PD", "tie"), 0),
                "consistency": 0,
            }
        ],
        "consistency": [[]],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "resamples": 0,
    },
    "gain-robustness": {"topics": 0, "topics_left_out": [], "seed": 0, "trials": 0, "settings": []},
    "gain-vectors": {
        "ranks": [],
        "runs": [{"name": "", "CG": [], "DCG": [], "nCG": [], "nDCG": [], "precision_recall": []}],
        "topics": 0,
        "topics_left_out": [],
    },
    "difficulty": {
        "metrics": [
            {
                "metric": "",
                "by_topic": [dict.fromkeys(("topic", "relevant", "mean", "standard_deviation", "discrimination"), 0)],
                "components": dict.fromkeys(("runs", "topics", "residual"), 0),
                "shares": dict.fromkeys(("runs", "topics", "residual"), 0),
                "negative_components": [],
                "generalisability": 0,
                "generalisability_interval": [],
                "dependability": 0,
            }
        ],
        "topics": 0,
        "topics_left_out": [],
    },
    "rank-intervals": {
        "metrics": [
            {
                "metric": "",
                "ranks": [
                    dict.fromkeys(("run", "rank", "mean", "expected_rank", "share_first"), 0)
                    | {"rank_set": [], "percentiles": []}
                ],
            }
        ],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "resamples": 0,
        "test": "",
        "test_resamples": 0,
        "correction": "",
        "alpha": 0,
    },
    "leave-one-team-out": {
        "topics": 0,
        "pool_depth": 0,
        "estimated": False,
        "contributors": [],
        "judged": 0,
        "in_no_pool": 0,
        "in_no_pool_share": 0,
        "teams": [{"team": "", "runs": [], "pooled": 0, "unique": 0, "unique_relevant": 0}],
        "metrics": [
            {
                "metric": "",
                "topics_left_out": [],
                "teams": [
                    {
                        "team": "",
                        "topics_undefined": [],
                        "tau": 0,
                        "runs": [dict.fromkeys(("run", "mean", "mean_without", "change", "rank", "rank_without"), 0)],
                    }
                ],
                "mean_change": 0,
                "largest_change": 0,
                "largest_rank_change": 0,
            }
        ],
    },
    "judge-agreement": {
        "threshold": 0,
        "pairs": "",
        "levels": [],
        "krippendorff": {"units": 0, "units_judged_once": 0, "topics": 0}
        | {key: {"value": 0, "interval": [], "reason": None} for key in ("nominal", "ordinal", "interval")},
        "sets": [
            {
                "judgments": "",
                "qrels_version": 0,
                "topics": 0,
                "common_pairs": 0,
                "only_reference": 0,
                "only_set": 0,
                "confusion": [[]],
                "labels": {
                    key: {"value": 0, "interval": [], "reason": None}
                    for key in (
                        "agreement",
                        "kappa",
                        "kappa_linear",
                        "kappa_quadratic",
                        "relevant_reference",
                        "relevant",
                    )
                },
                "macro": {key: {"value": 0} for key in ("precision", "recall", "f1", "jaccard")},
                "micro": dict.fromkeys(("precision", "recall", "f1", "jaccard"), 0),
                "by_topic": [dict.fromkeys(("topic", "pairs", "precision", "recall", "f1", "jaccard"), 0)],
                "leniency": {"bias": {}, "limits_of_agreement": [], "by_level": [{"level": 0, "name": "", "bias": {}}]},
                "metrics": [
                    {
                        "metric": "",
                        "topics": 0,
                        "reason": "",
                        "correlations": {key: {"value": 0, "reason": None} for key in ("tau", "tau_ap", "rbo")},
                        "top": {"k": 0, "tau": 0, "overlap": 0, "tau_union": 0, "union": []},
                        "largest_rise": None,
                        "largest_drop": None,
                        "flagged": {"runs": [], "mean_rise": 0, "mean_rise_of_others": 0},
                        "significance": {"uncorrected": {"counts": {}, "consistency": 0}, "holm": {}},
                        "differences": {"mean": 0, "limits_of_agreement": []},
                        "runs": [{"run": "", "mean": 0, "mean_reference": 0, "rank": 0, "rise": 0, "flagged": True}],
                    }
                ],
            }
        ],
        "seed": 0,
        "resamples": 0,
    },
    "topic-set-size": {
        "sizes": [],
        "alpha": 0,
        "power": 0,
        "difference": 0,
        "metrics": [
            {
                "metric": "",
                "curve": [{"topics": 0, "tau": SPREAD, "sensitivity": SPREAD}],
                "variance": 0,
                "residual_variance": 0,
                "designs": dict.fromkeys(("t-test", "anova", "interval"), 0),
                "paired_designs": dict.fromkeys(("t-test", "interval"), 0),
            }
        ],
        "topics": 0,
        "topics_left_out": [],
        "seed": 0,
        "trials": 0,
    },
    "judgments": {
        "topics": 0,
        "judged": 0,
        "relevant": {"documents": 0, "mean": 0, "minimum": {}, "maximum": {}},
        "levels": [{"level": 0, "name": "", "documents": 0, "mean": 0}],
        "by_topic": [{"topic": "", "judged": 0, "relevant": 0, "per_level": []}],
        "against": {"qrels_version": 0, "levels": [], "crossed": [[]], "judged_only_there": [], "judged_only_here": []},
    },
}


def missing(shape: Any, found: Any, place: str = "") -> Iterator[str]:
    """The places of keys that are in the shape and not in what was found."""
    if isinstance(shape, Mapping):
        yield from (f"{place}.{key}" for key in shape if key not in found)
        for key in shape.keys() & found.keys():
            yield from missing(shape[key], found[key], f"{place}.{key}")
    elif isinstance(shape, list):
        yield from (place for _ in [0] if not isinstance(found, list))
        for inner in shape:
            yield from (fault for each in found for fault in missing(inner, each, f"{place}[]"))


def test_every_kind_is_asked_here() -> None:
    assert set(ASKED) == set(SHAPES) == {kind.name for kind in every_kind() if not kind.is_change}


@pytest.fixture(scope="module")
def elsewhere(laboratory: Laboratory, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """The same campaign in another database, without the jobs."""
    copy = copied(folder, tmp_path_factory.mktemp("copy"))
    yield copy
    copy.workspace.database.close()


@pytest.mark.parametrize("kind", ASKED)
def test_parts_worked_backwards_and_one_by_one_give_the_same_bytes_of_the_promised_shape(
    laboratory: Laboratory, elsewhere: Laboratory, kind: str
) -> None:
    for number, params in enumerate(ASKED[kind]):
        asked = {"runs": RUNS} | params
        job = laboratory.launch(kind, **asked)
        laboratory.work()
        same = elsewhere.launch(kind, chunk_seconds=1e-9, **asked)
        elsewhere.work(backwards=True)
        assert job.id == same.id
        assert laboratory.result(job) == elsewhere.result(same), params
        found = json.loads(laboratory.result(job))
        check_what_is_made_of_the_result_alone(kind, found)
        if not number:
            check_shape(kind, found)


def check_shape(kind: str, found: dict[str, Any]) -> None:
    head = {"kind": kind, "collection": "grove", "qrels_version": 2, "runs": [], "engine_version": 1}
    assert list(missing(head, found)) == []
    assert found["engine_version"] == find_kind(kind).engine_version
    assert [found[name] for name in ("kind", "collection", "qrels_version")] == [kind, "grove", 2]
    assert list(missing(SHAPES[kind], found)) == []


def check_what_is_made_of_the_result_alone(kind: str, found: dict[str, Any]) -> None:
    """Tables and figures."""
    tables = find_kind(kind).tables(found)
    assert len({table.name for table in tables}) == len(tables)
    for table in tables:
        assert isinstance(table, Table)
        rows = as_csv(table).splitlines()
        assert len(rows) == len(table.rows) + 1
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert as_latex(table)
    figures = find_kind(kind).figures(found)
    assert len({figure.name for figure in figures}) == len(figures)


@pytest.mark.outer
@pytest.mark.parametrize(
    ("kind", "trials"),
    [("stability", 66), ("swap-rate", 66), ("test-agreement", 33), ("gain-robustness", 20), ("topic-set-size", 5)],
)
def test_parts_of_another_size_give_the_same_bytes(
    laboratory: Laboratory, elsewhere: Laboratory, monkeypatch: pytest.MonkeyPatch, kind: str, trials: int
) -> None:
    params: dict[str, Any] = {"metrics": ["Q", "nDCG@5"], "trials": trials, "runs": ["yew", "maple", "alder", "oak"]}
    job = laboratory.launch(kind, **params)
    laboratory.work()
    monkeypatch.setattr("gainboard.evaluation.analyses.common.PART_SECONDS", 1e-6)
    same = elsewhere.launch(kind, chunk_seconds=1e-9, **params)
    assert same.parts > job.parts
    elsewhere.work(backwards=True)
    assert laboratory.result(job) == elsewhere.result(same)


def test_small_chunks_are_worked_by_themselves(elsewhere: Laboratory) -> None:
    elsewhere.launch("stability", chunk_seconds=1e-9, metrics=["AP", "Q", "RR", "P@10"], trials=77)
    ready = list(elsewhere.claims())
    assert [claim.parts for claim in ready] == [1] * 4
    for claim in ready:
        Worker(elsewhere.workspace).work(claim)
    (last,) = elsewhere.claims()
    assert last.is_last
    Worker(elsewhere.workspace).work(last)
