"""What is asked of a job: runs, versions and defaults; and that equal requests are one job."""

import pytest

from gainboard.analyses.job_kinds import every_kind, find_kind
from tests.world.groves import few_trusted

KIND = "bootstrap-sensitivity"
TEST = {"test": "t-test", "metrics": ["AP"]}


def by_mean(laboratory, metric):
    means = laboratory.means(metric)
    return sorted(means, key=lambda run: (-round(means[run], 12), run))


def selected(answer, runs):
    found = answer(KIND, **TEST, runs=runs)
    pairs = [tuple(pair["runs"]) for pair in found["metrics"][0]["pairs"]]
    names = found["runs"]
    assert pairs == [(x, y) for place, x in enumerate(names) for y in names[place + 1 :]]
    return names


def test_all_runs_are_in_order_of_name_and_named_ones_in_the_order_of_their_naming(answer, laboratory):
    assert selected(answer, ["yew", "birch", "yew", "maple"]) == ["yew", "birch", "maple"]
    names = ["alder", "birch", "cedar", "hazel", "maple", "oak", "yew", "zelkova"]
    assert selected(answer, "all") == names
    assert all(by_mean(laboratory, metric) != names for metric in ("AP", "Q", "P@10"))


@pytest.mark.parametrize("by", ["Q", "P@10"])
def test_the_best_runs_with_ties_at_the_last_place_broken_by_name(answer, laboratory, by):
    order = by_mean(laboratory, by)
    for top in (2, 4, 8, 20):
        assert selected(answer, {"top": top, "by": by}) == order[:top]
    place = order.index("hazel")
    assert order[place + 1] == "yew"
    assert "yew" not in selected(answer, {"top": place + 1, "by": by})


def test_the_best_run_of_each_team(answer, laboratory):
    means = laboratory.means("AP")
    best = {"maple", "zelkova", "hazel", max("cedar", "oak", key=lambda run: means[run])}
    assert selected(answer, {"best_per_team": "AP"}) == [run for run in by_mean(laboratory, "AP") if run in best]


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_qrels_version_answers_as_it_did(answer, laboratory, version):
    found = answer("rank-correlation", metrics=["AP", "Q"], qrels=version)
    assert (found["qrels_version"], found["topics"]) == (version, 10 + version)
    for metric in ("AP", "Q"):
        means = laboratory.means(metric, version=version)
        ours = dict(zip(found["runs"], found["means"][laboratory.label(metric)], strict=True))
        assert ours == pytest.approx(means, abs=1e-12)
    assert laboratory.means("AP", version=1) != laboratory.means("AP", version=2)


def test_defaults_apply_where_an_expression_says_nothing(answer, laboratory):
    metrics = ["Q", "Q(beta=3)", "nDCG(gains=exp)@10", "nDCG@10", "AP", "AP(rel=1)", "Q-measure"]
    found = answer("rank-correlation", metrics=metrics, gains="10:5:1", beta=10, base=4, rel=2)
    assert found["metrics"] == [
        "Q(beta=10,gains=10:5:1,rel=2)",
        "Q(beta=3,gains=10:5:1,rel=2)",
        "nDCG(base=4,gains=exp,rel=2)@10",
        "nDCG(base=4,gains=10:5:1,rel=2)@10",
        "AP(rel=2)",
        "AP",
    ]
    for label, means in found["means"].items():
        theirs = laboratory.means(label)
        assert means == pytest.approx([theirs[run] for run in found["runs"]], abs=1e-12)


def test_defaults_apply_to_selections_baselines_and_sweeps(answer, laboratory):
    found = answer(KIND, metrics=["Q"], baseline="AP", rel=3, runs={"top": 3, "by": "AP"}, test="sign")
    assert (found["baseline"], found["runs"]) == ("AP(rel=3)", by_mean(laboratory, "AP(rel=3)")[:3])
    sweep = {"metric": "Q", "parameter": "beta", "values": [2], "against": ["AP"]}
    found = answer("rank-correlation", metrics=["P@5"], rel=3, beta=7, sweep=sweep)["sweep"]
    assert (found["metric"], found["labels"]) == ("Q(gains=3:2:1,rel=3)", ["Q(beta=2,gains=3:2:1,rel=3)"])
    assert list(found["against"]) == ["AP(rel=3)"]


SWEEP = {"metric": "Q", "parameter": "beta", "values": [1, 2.5], "against": ["AP"]}
TUKEY = {"metrics": ["AP"], "test": "randomised-tukey-hsd"}
OTHERWISE = [
    (KIND, {"metrics": ["Q", "AP"]}, {"metrics": ["Q-measure(beta=1.0)", "map", "q"], "baseline": "AP", "runs": "all"}),
    (KIND, {"metrics": ["Q"]}, {"metrics": ["Q"], "resamples": 1000, "seed": 0, "alphas": [0.05, 0.01, 0.05]}),
    (KIND, {"metrics": ["Q(beta=2)"]}, {"metrics": ["Q"], "beta": 2, "gains": "3:2:1", "qrels": 2, "base": 3}),
    ("rank-correlation", {"metrics": ["AP"], "against": "Q"}, {"metrics": ["AP", "Q"], "against": "Q(beta=1)"}),
    (
        "rank-correlation",
        {"metrics": ["AP"], "sweep": SWEEP},
        {"metrics": ["AP"], "sweep": {**SWEEP, "metric": "Q(beta=5)", "values": [1.0, "2.50"], "against": ["map"]}},
    ),
    (
        "rank-correlation",
        {"metrics": ["AP", "Q"]},
        {"metrics": ["AP", "Q"], "seed": 7, "resamples": 10, "p": 0.5, "tau_ap_ties": "b"},
    ),
    (KIND, {"metrics": ["AP"], "test": "sign"}, {"metrics": ["AP"], "test": "sign", "seeds": 2, "seed": 7}),
    (KIND, {"metrics": ["AP"], "test": "randomised-tukey-hsd"}, TUKEY | {"resamples": 5000}),
    (
        "judge-agreement",
        {"metrics": ["AP"], "sets": ["people"]},
        {"metrics": ["AP"], "sets": [{"judgments": "people", "qrels": 1}, "people", {"judgments": "people"}]},
    ),
    (
        "judge-validity",
        {"judges": ["official", "people"], "families": {"acme": ["oak", "yew"]}},
        {
            "judges": [{"qrels": 2}, {"judgments": "people"}],
            "families": {"acme": ["yew", "oak", "yew"]},
            "metric": "nDCG@10",
        },
    ),
    ("stability", {"metrics": ["Q"], "fuzziness": [0.05, 0.1]}, {"metrics": ["Q"], "fuzziness": [0.1, 0.05, 0.1]}),
    (
        "swap-rate",
        {"metrics": ["AP"], "runs": {"top": 3, "by": "AP"}},
        {"metrics": ["AP"], "runs": {"top": 3, "by": "AP(rel=1)"}, "trials": 1000, "strict": True},
    ),
    (
        "gain-robustness",
        {"metrics": ["Q"]},
        {"metrics": ["Q-measure(gains=exp)"], "settings": ["3:2:1", "1:1:1.0", "10:5:1", "adjust(3:2:1)"]},
    ),
    (
        "leave-one-team-out",
        {"metrics": ["Q"], "pool_depth": 3, "contributors": ["oak", "yew"]},
        {"metrics": ["Q"], "pool_depth": 3, "contributors": ["yew", "oak", "yew"], "runs": ["oak"], "type": "manual"},
    ),
    ("topic-set-size", {"metrics": ["Q"], "sizes": [2, 5]}, {"metrics": ["Q"], "sizes": [5, 2, 5], "trials": 100}),
    (
        "difficulty",
        {"metrics": ["Q"], "standardise": "linear", "reference": ["oak", "yew"]},
        {"metrics": ["Q"], "standardise": "linear", "reference": ["yew", "oak", "yew"]},
    ),
    ("concordance", {"metrics": ["Q", "AP"]}, {"metrics": ["Q", "map"], "seed": 4, "alpha": 0.05, "test": "t-test"}),
    ("gain-vectors", {"cutoff": 100}, {"gains": "3.0:2:1", "base": "2", "rel": 1}),
]


@pytest.mark.parametrize(("kind", "params", "otherwise"), OTHERWISE)
def test_the_same_request_in_other_words_is_the_same_job(shelf, kind, params, otherwise):
    job = shelf.launch(kind, **params)
    assert shelf.launch(kind, **otherwise).id == job.id
    again = shelf.launch(kind, **job.params)  # what a job shows settles to itself
    assert (again.id, again.params) == (job.id, job.params)


def test_other_requests_are_other_jobs(shelf):
    ways = [{}, {"seed": 1}, {"qrels": 1}, {"gains": "exp"}, {"beta": 2}, {"rel": 2}, {"runs": ["yew", "oak", "birch"]}]
    ways += [{"runs": ["oak", "yew", "birch"]}, {"runs": {"top": 3, "by": "AP"}}, {"runs": {"top": 3, "by": "Q"}}]
    ways += [{"runs": {"best_per_team": "AP"}}, {"metrics": ["nDCG@10", "Q"]}, {"subset_size": 4}, {"trials": 50}]
    ways += [{"drop_identical": True}]
    kinds = ("stability", "swap-rate", "test-agreement")
    every = [shelf.launch(kind, **({"metrics": ["Q", "nDCG@10"]} | way)).id for way in ways for kind in kinds]
    assert len(set(every)) == len(every)


# Noise is about replicates, which no run here has.
EVERY = [kind.name for kind in every_kind() if not kind.is_change and kind.name != "noise"]


@pytest.mark.parametrize("name", EVERY)
def test_what_a_job_shows_is_what_may_be_asked_of_its_kind(shelf, name, monkeypatch):
    kind = find_kind(name)
    asked = {"metrics": ["Q", "nDCG@10"]} if "metrics" in kind.params_model.model_fields else {}
    if name == "leave-one-team-out":
        asked["pool_depth"] = 5  # the first documents of some runs are not judged
    if name == "answer-agreement":
        asked["metrics"] = ["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"]
    if name == "judge-agreement":
        asked["sets"] = [{"qrels": 1}]
    if name == "reproduction":
        asked["pairs"] = [{"original": "yew", "reproduced": "maple"}]
    if name == "judge-validity":
        asked["judges"] = ["official", {"qrels": 1}]
    if name == "corrected-means":
        asked |= {"trusted": "people", "sampled_at_random": True}
        few_trusted(monkeypatch)
    settled = shelf.launch(name, **asked).params
    assert set(settled) <= set(kind.params_model.model_fields)
    assert not {"qrels", "beta"} & set(settled)
