"""Metrics of diversified rankings: by hand, by plain loops over the definitions, and beside ndeval."""

import math
from random import Random

import numpy as np
import pyndeval
import pytest

from gainboard.metrics import Scale, every_metric, resolve
from gainboard.metrics.vocabularies import NDEVAL
from tests.metrics.by_intent import all_scores, scores

H = 3
QRELS = {"t": {"1": {"a": 1, "b": 3}, "2": {"b": 1, "c": 2}, "0": {"n": 0}, "3": {"n": 0}}}
RUN = {"t": ["n", "b", "u", "c"]}
IPROB = {"t": {"1": 0.5, "2": 0.25, "3": 0.25}}
LOG3, LOG5 = math.log2(3), math.log2(5)
# Global gains with IPROB: a 0.5, b 1.5 + 0.25, c 0.5. b is at rank 2 and c at rank 4; the ideal ranking is b, c, a.
BY_HAND = [
    ("Irec@4", 1.0),
    ("Irec(intents=all)@4", 2 / 3),
    ("DnDCG@4", (1.75 / LOG3 + 0.5 / LOG5) / (1.75 + 0.5 / LOG3 + 0.5 / 2)),
    ("DnDCG(rel=2)@2", (1.5 / LOG3) / (1.5 + 0.5 / LOG3)),
    ("DQ@4", ((1.75 + 1) / (2.25 + 2) + (2.25 + 2) / (2.75 + 4)) / 3),
    ("DsharpnDCG(gamma=0.25)@4", 0.25 + 0.75 * (1.75 / LOG3 + 0.5 / LOG5) / (1.75 + 0.5 / LOG3 + 0.5 / 2)),
    ("DsharpQ@4", 0.5 + 0.5 * ((1.75 + 1) / (2.25 + 2) + (2.25 + 2) / (2.75 + 4)) / 3),
    # Novelty gains: b meets both intents, c the second one again.
    ("alphanDCG@4", (2 / LOG3 + 0.5 / LOG5) / (2 + 0.5 / LOG3 + 0.5 / 2)),
    ("alphanDCG(condensed=true)@3", (2 / LOG3 + 0.5 / 2) / (2 + 0.5 / LOG3 + 0.5 / 2)),
    ("alphaDCG@4", (2 / LOG3 + 0.5 / LOG5) / (2 * (1 + 0.5 / LOG3 + 0.25 / 2 + 0.125 / LOG5))),
    ("NRBP(p=0.25)", (2 * 0.25 + 0.5 * 0.25**3) * (1 - 0.5 * 0.25) / 2),
    ("nNRBP", (2 * 0.5 + 0.5 * 0.5**3) / (2 + 0.5 * 0.5 + 0.5 * 0.5**2)),
    ("ERRIA@4", (2 / 2 + 0.5 / 4) / (2 * (1 + 0.5 / 2 + 0.25 / 3 + 0.125 / 4))),
    ("nERRIA@4", (2 / 2 + 0.5 / 4) / (2 + 0.5 / 2 + 0.5 / 3)),
    # Intent 1: b with gain 3 stops 3/4 at rank 2. Intent 2: b stops 1/4, then c 2/4 at rank 4.
    ("ERRIA(form=chapelle)@4", 0.5 * (3 / 4) / 2 + 0.25 * ((1 / 4) / 2 + (3 / 4) * (2 / 4) / 4)),
    ("ERR(ia=true)@4", 0.5 * (3 / 4) / 2 + 0.25 * ((1 / 4) / 2 + (3 / 4) * (2 / 4) / 4)),
    ("P(ia=true)@4", 0.5 * 1 / 4 + 0.25 * 2 / 4),
    # Intents 1 and 2 have a relevant document.
    ("P(ia=equal)@4", (1 / 4 + 2 / 4) / 2),
    # Judged is defined for intent 3, too, which has no relevant document and does not count.
    ("Judged(ia=equal)@4", 3 / 4),
    # Others take the highest level: a 1, b 3, c 2.
    ("nDCG@4", (3 + 2 / 2) / (3 + 2 + 1 / LOG3)),
]
"""Expressions with linear gains and the probabilities IPROB, each with its score of RUN."""


def test_scores_worked_by_hand():
    found = all_scores([expression for expression, _ in BY_HAND], QRELS, RUN, IPROB)[:, 0]
    for (expression, expected), score in zip(BY_HAND, found, strict=True):
        assert score == pytest.approx(expected, rel=1e-12), expression


def test_every_metric_by_intent_is_worked_by_hand():
    worked = {expression.partition("(")[0].partition("@")[0] for expression, _ in BY_HAND}
    assert {metric.name for metric in every_metric() if metric.needs_intents} <= worked


def test_of_equal_gains_the_ideal_ranking_takes_the_larger_id():
    # a and z meet two intents each; the second pick differs: after z, a is worth 1.5, after a, only z is left with it.
    qrels = {"t": {"1": {"a": 1, "z": 1}, "2": {"a": 1}, "3": {"z": 1, "m": 1}, "4": {"m": 1}}}
    (found,) = scores("alphanDCG@3", qrels, {"t": ["m", "a", "z"]})
    # z first (the largest id of z, m, a); then a and m are worth 1.5 each, and m is the larger id; then a.
    ideal = 2 + 1.5 / LOG3 + 1.5 / 2
    assert found == pytest.approx((2 + 2 / LOG3 + 1 / 2) / ideal, rel=1e-12)


def case(seed):
    """Topics of few documents, so that ties and empty intents are common; negative levels; runs that lack a topic.

    Intent 0 is none in two of three topics, and in the others one like any other.
    """
    rng = Random(seed)
    qrels = {}
    run = {}
    probabilities = {}
    for topic in "abc":
        documents = [f"d{number}" for number in range(rng.randint(1, 25))]
        highest_of_0 = rng.choice([0, 0, H])
        qrels[topic] = {
            str(intent): {
                each: min(level, highest_of_0) if intent == 0 else level
                for each in documents
                if rng.random() < 0.6
                for level in [rng.choice([0, 0, 1, 2, H, -1])]
            }
            for intent in range(rng.randint(1, 6))
        }
        qrels[topic]["1"] = qrels[topic].get("1", {}) | {"d0": rng.choice([0, 1])}
        weights = {intent: rng.random() + 0.01 for intent in intents_of(qrels[topic])}
        probabilities[topic] = {intent: weight / sum(weights.values()) for intent, weight in weights.items()}
        pool = [*documents, *(f"u{number}" for number in range(8))]
        rng.shuffle(pool)
        if rng.random() < 0.9:
            run[topic] = pool[: rng.randint(1, len(pool))]
    return qrels, run, rng.choice([None, probabilities])


def intents_of(judged):
    """The intents of a topic that count. Intent 0 does if a document is relevant to it."""
    return [intent for intent, its in judged.items() if its and (intent != "0" or max(its.values()) > 0)]


def plain(expression, topic, qrels, run, given):
    """The score of a topic by plain loops; None of the product's code but for parsing the expression."""
    bound = resolve(expression, Scale(H, intents=True))
    parameters, cutoff = bound.parameters, int(bound.cutoff or 1000)
    rel, worth = parameters["rel"], [0.0, *(parameters["gains"].values if "gains" in parameters else (1.0,) * H)]
    levels = {intent: qrels[topic][intent] for intent in intents_of(qrels[topic])}
    known = {document for its in qrels[topic].values() for document in its}
    ranking = [each for each in run.get(topic, ()) if each in known or not parameters["condensed"]]
    met = {intent: {each for each, level in its.items() if level >= rel} for intent, its in levels.items()}
    found = [intent for intent in sorted(met) if met[intent]]
    with_any = [intent for intent in sorted(levels) if any(level > 0 for level in levels[intent].values())]
    chance = given[topic] if given else {intent: 1 / len(with_any) for intent in with_any}
    gain = {
        each: sum(chance.get(intent, 0) * worth[its[each]] for intent, its in levels.items() if its.get(each, 0) >= rel)
        for each in known
    }
    ideal = sorted((each for each in gain.values() if each > 0), reverse=True)
    name, counted = bound.metric.name, levels if parameters.get("intents") == "all" else found
    recall = len([i for i in found if met[i] & set(ranking[:cutoff])]) / max(1, len(counted))
    if (bound.metric.graded and not ideal) or not found:
        return math.nan
    if name == "Irec":
        return recall
    if name in ("DnDCG", "DsharpnDCG"):
        discounted = [sum(g / math.log2(r + 1) for r, g in enumerate(gains[:cutoff], 1)) for gains in
                      ([gain.get(each, 0) for each in ranking], ideal)]  # fmt: skip
        measured = discounted[0] / discounted[1]
        return measured if name == "DnDCG" else mixed(parameters["gamma"], recall, measured)
    if name in ("DQ", "DsharpQ"):
        beta, total, count, summed = parameters["beta"], 0.0, 0, 0.0
        for rank, each in enumerate(ranking[:cutoff], 1):
            if gain.get(each, 0) > 0:
                total, count = total + gain[each], count + 1
                summed += (beta * total + count) / (beta * sum(ideal[:rank]) + rank)
        measured = summed / min(cutoff, len(ideal))
        return float(measured) if name == "DQ" else mixed(parameters["gamma"], recall, measured)
    alpha = parameters["alpha"]
    cutoff = cutoff if bound.metric.takes_cutoff else len(known) + len(ranking)
    chosen = []
    while len(chosen) < min(cutoff, len(known)):
        left = sorted(known - set(chosen), reverse=True)
        chosen.append(max(left, key=lambda each: novelties([*chosen, each], met, alpha)[-1]))
    weights = {"DCG": lambda r: 1 / math.log2(r + 1), "BP": lambda r: parameters["p"] ** (r - 1), "IA": lambda r: 1 / r}
    weight = next(found for end, found in weights.items() if name.endswith(end))
    sums = [sum(g * weight(r) for r, g in enumerate(novelties(each[:cutoff], met, alpha), 1))
            for each in (ranking, chosen)]  # fmt: skip
    if name in ("ERRIA", "alphaDCG"):
        most = len(found) * sum((1 - alpha) ** (rank - 1) * weight(rank) for rank in range(1, cutoff + 1))
        return float(sums[0] / most)
    if name == "NRBP":
        return float(sums[0] * (1 - (1 - alpha) * parameters["p"]) / len(found))
    return float(sums[0] / sums[1])


def mixed(gamma, recall, measured):
    return gamma * recall + (1 - gamma) * measured


def novelties(ranking, met, alpha):
    """The novelty gain at each rank, added intent by intent."""
    gains, seen = [], dict.fromkeys(met, 0)
    for document in ranking:
        gained = 0.0
        for intent in sorted(met):
            if document in met[intent]:
                gained += (1 - alpha) ** seen[intent]
                seen[intent] += 1
        gains.append(gained)
    return gains


PLAIN = [
    *("Irec@3", "Irec(intents=all,rel=2)@10", "DnDCG(gains=exp)@5", "DnDCG(rel=2)@1000", "DQ@4", "DQ(beta=3,rel=2)@50"),
    *("DQ(gains=10:5:0)@9", "DsharpnDCG(gamma=0.3)@10", "DsharpQ(beta=10)@7", "alphanDCG@5", "alphanDCG(rel=2)@1000"),
    *("alphanDCG(alpha=0.25)@10", "alphanDCG(alpha=1)@10", "ERRIA@1", "ERRIA(alpha=0)@20", "ERRIA(rel=3)@5"),
    *("alphaDCG@4", "alphaDCG(alpha=0.9,rel=2)@30", "NRBP", "NRBP(alpha=0.2,p=0.9,rel=2)", "nNRBP(p=0.8)"),
    *("DsharpnDCG(intents=all)@10", "DsharpQ(gamma=0.9,intents=all,rel=2)@5"),
    *("nERRIA@10", "nERRIA(alpha=0.75)@20", "DQ(condensed=true)@5", "alphanDCG(condensed=true)@5"),
]


def test_a_score_is_what_the_definition_says():
    for seed in range(25):
        qrels, run, probabilities = case(seed)
        for expression, found in zip(PLAIN, all_scores(PLAIN, qrels, run, probabilities), strict=True):
            expected = [plain(expression, topic, qrels, run, probabilities) for topic in sorted(qrels)]
            said = f"{expression}, seed {seed}"
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=said)


@pytest.mark.parametrize(
    "expression", ["nDCG@5", "AP", "Q(beta=3)", "ERR@10", "P(rel=2)@3", "ADM", "RR(condensed=true)"]
)
def test_an_average_over_intents_is_that_of_the_scores_of_its_intents(expression):
    whole = resolve(expression, Scale(H, intents=True)).label
    averaged = whole.replace("(", "(ia=true,", 1) if "(" in whole else whole.replace("@", "(ia=true)@", 1)
    averaged = averaged if "ia=true" in averaged else f"{averaged}(ia=true)"
    for seed in range(20):
        qrels, run, _ = case(seed)
        for topic, found in zip(sorted(qrels), scores(averaged, qrels, run), strict=True):
            # Each intent as a topic of its own, in which every document of the topic is judged.
            known = {each for its in qrels[topic].values() for each in its}
            floor = {each: min(0, max(its.get(each, -9) for its in qrels[topic].values())) for each in known}
            single = [
                scores(
                    expression,
                    {topic: {"1": {each: its[each] if its.get(each, 0) > 0 else floor[each] for each in known}}},
                    run,
                )[0]
                for its in qrels[topic].values()
                if any(level > 0 for level in its.values())
            ]
            expected = np.nan if np.isnan(single).all() else np.nansum(single) / len(single)
            assert found == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


BY_NDEVAL = [
    name + cutoff
    for name, word in NDEVAL.words.items()
    for cutoff in (("@5", "@20") if word.cutoff == "must" else ("",))
]
"""What ndeval prints."""


def test_scores_agree_with_ndeval():
    compared = dict.fromkeys(BY_NDEVAL, 0)
    ours = [NDEVAL.translate(theirs) for theirs in BY_NDEVAL]
    for seed in range(40):
        qrels, run, probabilities = case(seed)  # ndeval knows no probabilities
        expected = by_ndeval(BY_NDEVAL, qrels, run)
        for theirs, found in zip(BY_NDEVAL, all_scores(ours, qrels, run, probabilities), strict=True):
            for topic, value in zip(sorted(qrels), found, strict=True):
                if topic in expected and not np.isnan(value):
                    own = expected[topic][theirs]
                    assert value == pytest.approx(own, rel=1e-9, abs=1e-9), f"{theirs}, seed {seed}, topic {topic}"
                    compared[theirs] += own > 0
    assert min(compared.values()) > 40


def by_ndeval(measures, qrels, run):
    given = [
        (topic, intent, document, level)
        for topic, intents in qrels.items()
        for intent, levels in intents.items()
        for document, level in levels.items()
    ]
    ranked = [
        (topic, document, -float(rank)) for topic, ranking in run.items() for rank, document in enumerate(ranking)
    ]
    return pyndeval.ndeval(given, ranked, measures)
