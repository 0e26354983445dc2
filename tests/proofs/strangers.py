"""Compares our figures with those of programs of others, over the same real and hostile files.

    GAINBOARD_REAL_DATA=FOLDER python -m tests.proofs.strangers

makes an environment for each program in a folder that is deleted afterwards, installs the version that stands here, and
gives the program the files: 6 real runs of 43 topics, and 8 generated ones with ties, unjudged documents, levels below
0, topics without a relevant document or that the run lacks, huge scores, scores that differ in the ninth digit, and ids
beyond ASCII. `--kept FOLDER` keeps the environments. A program that cannot be installed is named, and the others are
compared. Each difference has a reason that is known of the program and that holds of the topic, or is counted as a
defect: then the exit code is 1. Names of programs as arguments try these alone. It runs every night; the tests of
`tests/metrics` compare what the development environment has.
"""

import gzip
import json
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gainboard
from gainboard.metrics import Scale, resolve
from gainboard.statistics.corrected_means import TwiceJudged
from gainboard.statistics.correlation import rbo_matrix
from gainboard.statistics.judging import cohen_kappa
from gainboard.statistics.means import tost_levels
from gainboard.statistics.multiple_comparisons import benjamini_hochberg, holm
from gainboard.statistics.significance import SignificanceSettings, find_paired_test
from tests.metrics.judged import judged, scores_of
from tests.proofs import asked

PEERS = Path(__file__).with_name("peers.py")
CLOSE = 1e-9
SHOWN = 5
NOTHING, LACKING = "a topic without relevant documents is left out here", "a topic that the run lacks is 0 here"
TIES, NEAR = "it orders equal scores in another way", "it tells scores apart that are equal in single precision"
NEGATIVE = "levels below 0 have another meaning there"
HUGE = "it tells scores apart that are infinite in single precision"
EMPTY = "it has no score, or not a number, where nothing relevant counts"


def facts_of(levels, retrieved):
    """The reasons for which a topic may have another score elsewhere, that hold of it."""
    scores = sorted(retrieved.values())
    with np.errstate(over="ignore"):
        single = np.array(scores).astype(np.float32).tolist()
    conditions = {
        NOTHING: max(levels.values()) < 1,
        LACKING: not retrieved,
        TIES: len(set(scores)) < len(scores),
        NEAR: len(set(single)) < len(set(scores)),
        NEGATIVE: min(levels.values()) < 0,
        HUGE: bool(scores) and max(map(abs, scores)) > float(np.finfo(np.float32).max),
    }
    return {reason for reason, holds in conditions.items() if holds}


@dataclass(frozen=True)
class Program:
    """A program, the packages that it needs, its names with ours, and the reasons for which it differs."""

    packages: tuple[str, ...]
    names: dict[str, str]
    reasons: tuple[str, ...] = (NOTHING, LACKING)
    reasons_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Further reasons, of one of its names."""
    order_by: str = "score"
    is_by_intent: bool = False


PROGRAMS = {
    "trec_eval": Program(
        ("pytrec_eval-terrier==0.5.11",),
        {
            **{"map": "AP", "Rprec": "Rprec", "recip_rank": "RR", "bpref": "bpref", "infAP": "infAP"},
            **{f"P_{cutoff}": f"P@{cutoff}" for cutoff in (1, 10)},
            **{"recall_100": "Recall@100", "success_5": "Success@5", "map_cut_10": "AP@10"},
            **{"ndcg_cut_10": "MSnDCG@10", "ndcg": "MSnDCG@1000000000"},
        },
        order_by="score32",
    ),
    "ndeval": Program(
        ("pyndeval==0.0.8",),
        {
            **{"alpha-nDCG@20": "alphanDCG(alpha=0.5)@20", "ERR-IA@20": "ERRIA(alpha=0.5)@20"},
            **{"nERR-IA@20": "nERRIA(alpha=0.5)@20", "strec@10": "Irec@10", "P-IA@10": "P(ia=equal)@10"},
        },
        reasons=(NOTHING, LACKING, TIES),
        is_by_intent=True,
    ),
    "ntcireval": Program(
        ("pyNTCIREVAL==0.0.3",),
        {
            **{"AP": "AP", "AP@10": "AP(recall_base=cutoff)@10", "Q-measure": "Q", "nDCG@10": "nDCG@10"},
            **{"MSnDCG@10": "MSnDCG@10", "nERR@10": "nERR@10", "RBP": "RBP(p=0.95)", "P@10": "P@10", "RR": "RR"},
        },
    ),
    "gdeval": Program((), {"ERR@20": "ERR(gains=exp,stop_scale=4)@20", "nDCG@20": "MSnDCG(gains=exp)@20"}),
    "ranx": Program(
        ("ranx==0.3.21",),
        {
            **{"map": "AP", "mrr": "RR", "precision@10": "P@10", "recall@100": "Recall@100", "r-precision": "Rprec"},
            **{"ndcg@10": "MSnDCG@10", "ndcg_burges@10": "MSnDCG(gains=exp)@10", "hit_rate@5": "Success@5"},
        },
        reasons=(NOTHING, LACKING, TIES),
    ),
    "ir_measures": Program(
        ("ir_measures==0.4.3", "pytrec_eval-terrier==0.5.11"),
        {
            **{"AP": "AP", "nDCG@10": "MSnDCG@10", "R@100": "Recall@100", "Bpref": "bpref", "P@10": "P@10"},
            **{"RR": "RR", "Rprec": "Rprec", "AP(rel=2)": "AP(rel=2)", "Judged@10": "Judged@10"},
        },
        reasons_of={"Judged@10": (TIES, NEAR, HUGE)},
        order_by="score32",
    ),
    "trectools": Program(
        ("trectools==0.0.50", "matplotlib==3.11.2", "scikit-learn==1.9.1"),
        {
            **{"get_map": "AP", "get_precision@10": "P@10", "get_recall@100": "Recall@100", "get_ndcg@10": "MSnDCG@10"},
            **{"get_reciprocal_rank": "RR", "get_bpref": "bpref"},
        },
        reasons=(NOTHING, LACKING, EMPTY),
        reasons_of={"get_bpref": (NEGATIVE,)},
    ),
    "repro_eval": Program(("repro_eval==0.5.0", "numpy==1.26.4", "pandas==2.3.3", "scipy==1.14.1"), {"ttest": "t"}, ()),
    "rbo": Program(("rbo==0.1.3",), {"rbo": "rbo"}, ()),
    "ppi": Program(("ppi-python==0.2.3",), {"mean": "mean", "half": "half"}, ()),
    "statsmodels": Program(("statsmodels==0.15.0",), {name: name for name in ("holm", "fdr_bh", "tost")}, ()),
    "sklearn": Program(("scikit-learn==1.9.1",), {name: name for name in ("kappa", "linear", "quadratic")}, ()),
}
OF_RUNS = ("trec_eval", "ndeval", "ntcireval", "gdeval", "ranx", "ir_measures", "trectools")


@dataclass
class Comparison:
    """The figures of a program beside ours: how many, and those that differ, by reason."""

    figures: int = 0
    explained: Counter = field(default_factory=Counter)
    defects: list[str] = field(default_factory=list)

    def add(self, place, theirs, ours, reasons=()):
        self.figures += 1
        if theirs is None or ours is None:
            is_equal = theirs is ours
        else:
            is_equal = math.isclose(theirs, ours, rel_tol=CLOSE, abs_tol=CLOSE)
        if not is_equal and reasons:
            self.explained[reasons[0]] += 1
        elif not is_equal:
            self.defects.append(f"{place}: {theirs} there, {ours} here")


def real_cases(runs):
    """The first real runs, with their judgments; none without the folder of the data."""
    if not (folder := os.environ.get("GAINBOARD_REAL_DATA")):
        return
    data, qrels = Path(folder) / "trec-dl19-pass", {}
    for line in (data / "qrels.dl19-passage.txt").read_text().splitlines():
        topic, _, document, level = line.split()
        qrels.setdefault(topic, {})[document] = int(level)
    for path in sorted((data / "runs").glob("*.gz"))[:runs]:
        rows = sorted(line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines())
        run = {topic: {row[2]: float(row[4]) for row in its} for topic, its in groupby(rows, key=lambda row: row[0])}
        yield {"name": path.stem, "qrels": qrels, "run": {topic: its for topic, its in run.items() if topic in qrels}}


def hostile_case(seed):
    """Topics with each oddity alone, and some with all of them."""
    drawn = np.random.default_rng(seed)
    kinds = ("plain", "tied", "near", "negative", "huge", "nothing", "lacking", "ü-文", "tied-negative")
    qrels, run = {}, {}
    for topic in (f"{kind}-{number}" for kind in kinds for number in range(3)):
        lowest, highest = (-2 if "negative" in topic else 0), (0 if "nothing" in topic else 3)
        ids = [f"{letter}{number}" for number in range(40) for letter in ("d", "D", "ß" if "ü" in topic else "e")]
        documents = drawn.permutation(ids)
        levels = drawn.integers(lowest, highest + 1, 60).tolist()
        qrels[topic] = dict(zip(documents[:60].tolist(), levels, strict=True)) | ({} if highest == 0 else {"sure": 3})
        found = drawn.permutation(documents)[: drawn.integers(1, 110)].tolist()
        scores = drawn.permutation(len(found)).astype(float)
        if "tied" in topic:
            scores = scores // 4
        elif "near" in topic:
            scores = 1 + scores * 1e-9
        elif "huge" in topic:
            scores = scores * 1e300
        if "lacking" not in topic:
            run[topic] = dict(zip(found, scores.tolist(), strict=True))
    return {"name": f"hostile {seed}", "qrels": qrels, "run": run}


def statistics_case(seed):
    """What programs of statistics are asked: scores of two runs, levels, judges, and means under a cheap judge."""
    drawn = np.random.default_rng(seed)
    first, other = drawn.integers(0, 4, 200), drawn.integers(0, 4, 200)
    truth = drawn.normal(0.5, 0.2, 60)
    cheap = 0.8 * truth + drawn.normal(0.1, 0.1, 60)
    return {
        "name": f"drawn {seed}",
        "scores": drawn.random((2, 40)).tolist(),
        "levels": (drawn.random(30) ** 3).tolist(),
        "judges": [first.tolist(), np.where(drawn.random(200) < 0.3, other, first).tolist()],
        **{"trusted": truth[:20].tolist(), "cheap": cheap[:20].tolist(), "others": cheap[20:].tolist()},
    }


def scores_here(program, case):
    """Our scores by expression and topic; None is a topic without one."""
    if program.is_by_intent:
        run = {
            topic: dict(sorted(its.items(), key=lambda pair: (pair[1], pair[0].encode()), reverse=True))
            for topic, its in case["run"].items()
        }
        runs = judged(case["qrels"], run)
        tables = {ours: scores_of(resolve(ours, Scale(3, intents=True)), runs) for ours in program.names.values()}
        topics = list(case["qrels"])
    else:
        asked_for = list(dict.fromkeys(program.names.values()))
        scored = gainboard.score(
            case["qrels"], {"run": case["run"]}, asked_for, gains="linear", order_by=program.order_by, depth=10_000
        )
        tables, topics = dict(zip(asked_for, scored.by_topic[0], strict=True)), scored.topics
    return {
        ours: {topic: None if math.isnan(score) else score for topic, score in zip(topics, row.tolist(), strict=True)}
        for ours, row in tables.items()
    }


def statistics_here(case):
    """Our figures by the names that programs of statistics have for them."""
    scores = np.array(case["scores"])
    twice = TwiceJudged(*(np.array([case[name]]) for name in ("trusted", "cheap", "others")))
    corrected = twice.corrected(0.4)
    # That program divides variances by n.
    rest = twice.trusted - 0.4 * twice.cheap
    half = 1.959963984540054 * math.sqrt(0.16 * twice.others.var() / 40 + rest.var() / 20)
    table = np.zeros((4, 4))
    np.add.at(table, tuple(case["judges"]), 1)
    named = ((name, np.array(case["levels"])) for name in ("holm", "fdr_bh"))
    by_correction = {"holm": holm, "fdr_bh": benjamini_hochberg}
    return {
        "t": find_paired_test("t-test").decide(scores, SignificanceSettings(seed=0)).asl.tolist(),
        "rbo": [float(rbo_matrix(scores)[0, 1])],
        **{"mean": corrected.means.tolist(), "half": [half]},
        **{name: by_correction[name](levels).tolist() for name, levels in named},
        "tost": tost_levels((scores[0] - scores[1])[np.newaxis], 0.1).tolist(),
        "kappa": [float(cohen_kappa(table))],
        **{name: [float(cohen_kappa(table, name))] for name in ("linear", "quadratic")},
    }


def compare(name, cases, answers):
    """The comparison of a program over all cases."""
    program, comparison = PROGRAMS[name], Comparison()
    for case, answer in zip(cases, answers, strict=True):
        if name in OF_RUNS:
            here = scores_here(program, case)
            for theirs, ours in program.names.items():
                for topic, levels in case["qrels"].items():
                    facts = facts_of(levels, case["run"].get(topic, {}))
                    value, own = answer[theirs].get(topic), here[ours].get(topic)
                    if own == 0 and (value is None or math.isnan(value)):
                        facts.add(EMPTY)
                    known = (*program.reasons, *program.reasons_of.get(theirs, ()))
                    reasons = [reason for reason in known if reason in facts]
                    place = f"{theirs} of {case['name']} on {topic}"
                    comparison.add(place, value, own, reasons)
        else:
            here = statistics_here(case)
            for theirs, ours in program.names.items():
                for (part, value), own in zip(answer[theirs].items(), here[ours], strict=True):
                    comparison.add(f"{theirs} {part} of {case['name']}", value, own)
    return comparison


def environment(name, folder):
    """The Python of an environment with a program. Raises CalledProcessError if it cannot be installed."""
    home = folder / name
    python = home / "bin/python"
    if not PROGRAMS[name].packages:
        return Path(sys.executable)
    if not (home / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
        packages = ["setuptools<81", *PROGRAMS[name].packages]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, capture_output=True, text=True)
        (home / "installed").touch()
    return python


def ask(name, python, cases):
    """What the program answers to all cases."""
    request = json.dumps({"names": [*PROGRAMS[name].names], "cases": cases})
    # The functions of ranx are compiled for a minute, or run as they are.
    known = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore", "PYTHONIOENCODING": "utf-8"}
    command = [python, "-P", PEERS, name]  # a file beside it is called as a package is
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=True, env=known)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    options = asked(__doc__, *PROGRAMS, runs=6, seeds=8, kept=None)
    of_runs = [*real_cases(options.runs), *map(hostile_case, range(options.seeds))]
    of_statistics = [statistics_case(seed) for seed in range(20)]
    total, failed = Counter(), []
    print("| program | packages | figures | equal | explained | defects |\n| --- | --- | --- | --- | --- | --- |")
    notes = []
    with TemporaryDirectory() as temporary:
        folder = Path(options.kept or temporary)
        for name in options.names or PROGRAMS:
            cases = of_runs if name in OF_RUNS else of_statistics
            try:
                answers = ask(name, environment(name, folder), cases)
            except subprocess.CalledProcessError as error:
                lines = str(error.stderr or error).strip().splitlines()
                failed.append(f"{name} could not be asked: {lines[-1] if lines else error}")
                continue
            found = compare(name, cases, answers)
            explained = found.explained.total()
            counts = (found.figures, found.figures - explained - len(found.defects), explained, len(found.defects))
            print(f"| {name} | {', '.join(PROGRAMS[name].packages)} | {' | '.join(f'{it:,}' for it in counts)} |")
            total.update(dict(zip(("programs", "figures", "equal", "explained", "defects"), (1, *counts), strict=True)))
            notes += [f"{name}: {count:,} times, {reason}" for reason, count in found.explained.items()]
            notes += [f"{name}: DEFECT: {each}" for each in found.defects[:SHOWN]]
    print("\n" + ", ".join(f"{count:,} {what}" for what, count in total.items()))
    print("\n".join(["", *notes, *failed]))
    return 1 if total["defects"] else 0


if __name__ == "__main__":
    sys.exit(main())
