"""Metrics of group fairness: beside NTCIREVAL in C, worked by hand, and by plain loops over the definitions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import gainboard
from gainboard.errors import BadExpression
from gainboard.metrics import every_metric
from gainboard.metrics.fairness import match_distance, order_aware_divergence
from tests import real

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "ntcireval-230128.json").read_text())["group_fairness"]
TWO_GROUPS = "@attributes half nominal 0.5 0.5\n1 d1 1 0\n1 d2 1 0\n1 d3 0 1\n"
QRELS = "1 0 d1 1\n1 0 d3 1\n"


def run_of(*documents):
    return "".join(f"1 Q0 {document} {rank} {-rank} r\n" for rank, document in enumerate(documents, 1)).encode()


def scores(expressions, qrels, run):
    return gainboard.score(qrels.encode(), {"r": run}, expressions).by_topic[0]


def test_the_180_figures_of_ntcireval_are_ours():
    toy, sets = real.folder().parent / "gfr-toy", {row["attribute_set"] for row in GOLDEN["rows"]}
    qrels = (toy / "toy.4topics.qrels").read_text()
    for name in sorted(sets):
        shares = (toy / f"{name}.golddistr").read_text().split()
        qrels += f"@attributes {name} nominal {' '.join(shares)}\n" + (toy / f"toy.{name}.gmemb").read_text()
    compared = 0
    for row in GOLDEN["rows"]:
        wanted = {}
        for theirs, value in row["values"].items():
            name, _, cutoff = theirs.replace("-", "_").partition("@")
            of_set = f"(set={row['attribute_set']})" if name.startswith("GF") else ""
            wanted[f"{name}{of_set}" + (f"@{int(cutoff)}" if cutoff else "")] = value
        gains = ":".join(reversed(row["gains"].split(":")))
        found = gainboard.score(qrels.encode(), toy / row["run"], [*wanted], gains=gains, order_by="rank")
        ours = found.by_topic[0][:, list(found.topics).index(row["topic"])]
        # The C program hands out thirds with six decimals.
        assert ours == pytest.approx([*wanted.values()], abs=4e-7 if row["groups"] == 3 else 1e-9), row
        compared += len(wanted)
    assert compared == 180


def test_awrf_is_that_of_trec_fair():
    fair, times = scores(["AWRF", "AWRF(times=nDCG)"], QRELS + TWO_GROUPS, run_of("d1", "d2", "d3"))[:, 0]
    # The groups get 1 + 1 and 1/log2(3) of the attention: .760188 and .239812.
    shares = (2 / (2 + 1 / math.log2(3)), (1 / math.log2(3)) / (2 + 1 / math.log2(3)))
    divergence = sum(p * math.log(p / ((p + 0.5) / 2)) + 0.5 * math.log(0.5 / ((p + 0.5) / 2)) for p in shares) / 2
    assert (fair, times) == (pytest.approx(1 - divergence, abs=1e-12), pytest.approx(0.785374, abs=5e-7))
    # A document without memberships is left out with its attention.
    other = scores(["AWRF@3"], QRELS + TWO_GROUPS, run_of("u", "d1", "d3"))[0, 0]
    assert other == pytest.approx(scores(["AWRF"], QRELS + TWO_GROUPS, run_of("x", "d1", "d3"))[0, 0])
    assert scores(["AWRF"], QRELS + TWO_GROUPS, run_of("u"))[0, 0] == 0


def test_gfr_averages_relevance_with_each_attribute_set_of_the_topic():
    qrels = QRELS + "2 0 e 1\n" + TWO_GROUPS + TWO_GROUPS.replace("half nominal", "age ordinal")
    expressions = ["GFR@3", "GFR(component=iRBU,ordinal=RNOD)@3", "ERR@3", "iRBU@3", "GF_JSD(set=half)@3"]
    expressions += ["GF_NMD(set=age)@3", "GF_RNOD(set=age)@3", "GF_JSD@3"]
    one, other = scores(expressions, qrels, run_of("d1", "d2", "d3") + b"2 Q0 e 1 1 r\n").T
    assert one[0] == pytest.approx((one[2] + one[4] + one[5]) / 3, rel=1e-12)
    assert one[1] == pytest.approx((one[3] + one[4] + one[6]) / 3, rel=1e-12)
    # The second topic has no attribute set, so it has relevance alone, and no fairness.
    assert (other[0], other[1]) == (other[2], other[3])
    assert np.isnan(other[4:]).all()


def test_topics_without_attribute_sets_are_left_out_with_the_reason():
    found = gainboard.score((QRELS + "2 0 e 1\n" + TWO_GROUPS).encode(), {"r": run_of("d1")}, ["AWRF"])
    (note,) = [note for note in found.notes if "left out of" in note]
    assert note.endswith("because they have no relevant document or no attribute set: 2.")


def test_divergences_of_ordered_groups_are_those_of_their_definitions():
    achieved, target = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.5, 0.25, 0.25, 0.0])
    cumulative = [abs(sum(achieved[: i + 1]) - sum(target[: i + 1])) for i in range(4)]
    assert match_distance(achieved, target) == pytest.approx(sum(cumulative) / 3)
    weighed = [sum(abs(i - j) * (achieved[j] - target[j]) ** 2 for j in range(4)) for i in range(3)]
    assert order_aware_divergence(achieved, target) == pytest.approx(math.sqrt(sum(weighed) / 3 / 3))


def test_a_set_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(BadExpression, match=r"set=age: .* Available: half"):
        scores(["GF_JSD(set=age)"], QRELS + TWO_GROUPS, run_of("d1"))
    with pytest.raises(BadExpression, match="needs memberships of documents"):
        scores(["GFR@3"], QRELS, run_of("d1"))


def test_every_metric_of_annotations_has_numbers_of_somebody_else():
    named = {"GF_JSD", "GF_NMD", "GF_RNOD", "GFR", "AWRF", "xinfAP", "infNDCG", "iP"}
    assert {metric.name for metric in every_metric() if metric.needs_annotations} == named
