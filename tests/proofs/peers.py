"""Programs of others, each called in an environment of its own: this file imports neither Gainboard nor the tests.

`python peers.py NAME` reads a request as JSON from standard input, and answers with the figures of that program.
"""

import json
import math
import sys

GRADES = [1, 2, 3]


def trec_eval(case, names):
    import pytrec_eval  # noqa: PLC0415 (as below: each environment has one of these programs)

    asked = {f"{name.rpartition('_')[0]}.{name.rpartition('_')[2]}" if name[-1].isdigit() else name for name in names}
    found = pytrec_eval.RelevanceEvaluator(case["qrels"], asked).evaluate(case["run"])
    return {name: {topic: its[name] for topic, its in found.items()} for name in names}


def ndeval(case, names):
    import pyndeval  # noqa: PLC0415

    known = [(topic, "1", doc, level) for topic, its in case["qrels"].items() for doc, level in its.items()]
    ranked = [(topic, doc, score) for topic, its in case["run"].items() for doc, score in its.items()]
    found = pyndeval.ndeval(known, ranked, names)
    return {name: {topic: its[name] for topic, its in found.items()} for name in names}


def in_order(its):
    """By score, and equal ones by descending bytes of their ids, as trec_eval has them."""
    return sorted(its, key=lambda doc: (its[doc], doc.encode()), reverse=True)


def ntcireval(case, names):
    from pyNTCIREVAL import metrics  # noqa: PLC0415

    found = {name: {} for name in names}
    for topic, its in case["qrels"].items():
        levels = {doc: max(level, 0) for doc, level in its.items()}
        counts = [list(levels.values()).count(level) for level in range(len(GRADES) + 1)]
        ranking = [(doc, levels.get(doc)) for doc in in_order(case["run"].get(topic, {}))]
        made = {
            "AP": metrics.AP(counts, GRADES, None),
            "AP@10": metrics.AP(counts, GRADES, 10),
            "Q-measure": metrics.QMeasure(counts, GRADES, 1.0, None),
            "nDCG@10": metrics.nDCG(counts, GRADES, 2.0, 10),
            "MSnDCG@10": metrics.MSnDCG(counts, GRADES, 10),
            "nERR@10": metrics.nERR(counts, GRADES, 10),
            "RBP": metrics.RBP(counts, GRADES, 0.95),
            "P@10": metrics.Precision(10),
            "RR": metrics.RR(),
        }
        for name in names if ranking else ():
            try:
                found[name][topic] = made[name].compute(ranking)
            except ZeroDivisionError:  # a topic without a relevant document
                found[name][topic] = None
    return found


def gdeval(case, names):
    """The formulas of gdeval.pl 1.3: gains 2^level - 1, the highest level 4, the discount log2(r + 1)."""
    found = {name: {} for name in names}
    for topic, its in case["qrels"].items():
        levels = {doc: max(level, 0) for doc, level in its.items()}
        retrieved = [levels.get(doc, 0) for doc in in_order(case["run"].get(topic, {}))]
        ideal = sorted(levels.values(), reverse=True)
        for name in names if topic in case["run"] else ():
            metric, cutoff = name.split("@")
            value, reads_on = 0.0, 1.0
            for rank, level in enumerate(retrieved[: int(cutoff)], start=1):
                stops = (2**level - 1) / 2**4
                value += reads_on * stops / rank if metric == "ERR" else (2**level - 1) / math.log2(rank + 1)
                reads_on *= 1 - stops
            best = sum((2**level - 1) / math.log2(rank + 1) for rank, level in enumerate(ideal[: int(cutoff)], start=1))
            found[name][topic] = value if metric == "ERR" else value / best if best else 0.0
    return found


def ranx(case, names):
    import ranx  # noqa: PLC0415

    topics = [topic for topic in case["qrels"] if topic in case["run"]]
    known = ranx.Qrels({topic: {doc: max(level, 0) for doc, level in case["qrels"][topic].items()} for topic in topics})
    ranked = ranx.Run({topic: dict(case["run"][topic]) for topic in topics}, name="run")
    ranx.evaluate(known, ranked, names)
    return {name: dict(ranked.scores[name]) for name in names}


def ir_measures(case, names):
    import ir_measures  # noqa: PLC0415

    known = [ir_measures.Qrel(topic, doc, level) for topic, its in case["qrels"].items() for doc, level in its.items()]
    ranked = [
        ir_measures.ScoredDoc(topic, doc, score) for topic, its in case["run"].items() for doc, score in its.items()
    ]
    measures = {ir_measures.parse_measure(name): name for name in names}
    found = {name: {} for name in names}
    for each in ir_measures.iter_calc([*measures], known, ranked):
        found[measures[each.measure]][each.query_id] = each.value
    return found


def trectools(case, names):
    import pandas  # noqa: PLC0415
    import trectools  # noqa: PLC0415

    known, ranked = trectools.TrecQrel(), trectools.TrecRun()
    lines = [(topic, 0, doc, level) for topic, its in case["qrels"].items() for doc, level in its.items()]
    known.qrels_data = pandas.DataFrame(lines, columns=["query", "q0", "docid", "rel"])
    retrieved = [
        (topic, "Q0", doc, rank, its[doc], "tag")
        for topic, its in case["run"].items()
        for rank, doc in enumerate(in_order(its), start=1)
    ]
    ranked.run_data = pandas.DataFrame(retrieved, columns=["query", "q0", "docid", "rank", "score", "system"])
    tool, found = trectools.TrecEval(ranked, known), {}
    for name in names:
        method, _, depth = name.partition("@")
        options = {"depth": int(depth)} if depth else {}
        table = getattr(tool, method)(**options, per_query=True)
        found[name] = {str(topic): float(value) for topic, value in table[table.columns[0]].items()}
    return found


def repro_eval(case, names):
    from repro_eval.measure.effectiveness import RMSE  # noqa: PLC0415
    from repro_eval.measure.statistics import ttest  # noqa: PLC0415

    first, second = ({topic: {"score": score} for topic, score in enumerate(row)} for row in case["scores"])
    first, second = ({str(topic): its for topic, its in row.items()} for row in (first, second))
    values = {"RMSE": RMSE(first, second)["score"], "ttest": ttest(first, second)["score"]}
    return {name: {"": values[name]} for name in names}


def rbo(case, names):
    import rbo  # noqa: PLC0415

    lists = ([run for _, run in sorted(zip(row, range(len(row)), strict=True), reverse=True)] for row in case["scores"])
    return {names[0]: {"": rbo.RankingSimilarity(*lists).rbo_ext(p=0.9)}}


def ppi(case, names):
    import numpy as np  # noqa: PLC0415
    import ppi_py  # noqa: PLC0415

    tables = [np.array(case[name]) for name in ("trusted", "cheap", "others")]
    means = ppi_py.ppi_mean_pointestimate(*tables, lam=0.4)
    low, high = ppi_py.ppi_mean_ci(*tables, alpha=0.05, lam=0.4)
    values = {"mean": means, "half": (high - low) / 2}
    return {name: {"": float(np.ravel(values[name])[0])} for name in names}


def statsmodels(case, names):
    from statsmodels.stats.multitest import multipletests  # noqa: PLC0415
    from statsmodels.stats.weightstats import DescrStatsW  # noqa: PLC0415

    found = {name: multipletests(case["levels"], method=name)[1].tolist() for name in ("holm", "fdr_bh")}
    differences = [first - second for first, second in zip(*case["scores"], strict=True)]
    found["tost"] = [DescrStatsW(differences).ttost_mean(-0.1, 0.1)[0]]
    return {name: {str(number): value for number, value in enumerate(found[name])} for name in names}


def sklearn(case, names):
    from sklearn.metrics import cohen_kappa_score  # noqa: PLC0415

    weights = {"kappa": None, "linear": "linear", "quadratic": "quadratic"}
    return {name: {"": float(cohen_kappa_score(*case["judges"], weights=weights[name]))} for name in names}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    program = globals()[sys.argv[1].replace("-", "_")]
    answers = [program(case, asked["names"]) for case in asked["cases"]]
    print(json.dumps(answers, default=float))
