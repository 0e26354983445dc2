"""The names of other tools mean what these tools compute: every line of the table in docs/other-tools.md is tried.

`names_of_tools.txt` has further lines: names that need no explanation.
"""

import json
import math
import re
from itertools import product
from pathlib import Path

import ir_measures
import pyndeval
import pytest
import pytrec_eval
from pyNTCIREVAL import metrics as ntcireval

import gainboard
from gainboard.errors import BadExpression
from gainboard.metrics import Scale, resolve, translate
from gainboard.metrics.vocabularies import IR_MEASURES, NDEVAL, NTCIREVAL, TREC_EVAL
from gainboard.trec_eval.measures import MEASURES
from tests import real
from tests.trec_eval.test_peer import topics_of
from tests.world.pages import rows

from .judged import judged, scores_of
from .test_peers import ordered, random_case

# ir_measures reads its names with classes and attributes of `ast` that Python 3.12 calls deprecated.
pytestmark = pytest.mark.filterwarnings(r"ignore:.* will be removed in Python 3\.14:DeprecationWarning")

H = 3
SCALE = Scale(H, intents=True)
PAGE, FILE = "other-tools.md", Path(__file__).with_name("names_of_tools.txt")
FURTHER = [line.split(" | ") for line in FILE.read_text(encoding="utf-8").splitlines()]
TOLD = [*rows(PAGE, "tools"), *(row for row in FURTHER if row[0] != "NTCIREVAL in C")]
IN_C = [*rows(PAGE, "ntcireval in C"), *(row[1:] for row in FURTHER if row[0] == "NTCIREVAL in C")]
BY_GDEVAL = ("ERR", "nDCG(dcg=")
"""How names begin that ir_measures gives to gdeval, a program in Perl that prints five decimals."""
BY_NDEVAL = ("alpha_", "ERR_IA", "nERR_IA", "StRecall", "P_IA", "AP_IA", "MAP_IA", "NRBP", "nNRBP")
"""How names begin that ir_measures gives to pyndeval. Here, a topic has one intent; test_diversity has many."""
GRADES = [1, 2, 3]


def scores_here(expression, qrels, run):
    scores = scores_of(resolve(expression, SCALE), judged(qrels, ordered(run)))
    return dict(zip(qrels, scores.tolist(), strict=True))


def scores_of_ir_measures(name, qrels, run):
    measure = ir_measures.parse_measure(name)
    if name.startswith("RBP("):
        return rbp_of_cwl_eval(qrels, run, **measure.params)
    if name.startswith("INS"):
        return target_of_cwl_eval(qrels, run, name.startswith("INST"), **measure.params)
    given = [ir_measures.Qrel(topic, doc, level) for topic, its in qrels.items() for doc, level in its.items()]
    ranked = [ir_measures.ScoredDoc(topic, doc, score) for topic, its in run.items() for doc, score in its.items()]
    return {each.query_id: each.value for each in ir_measures.iter_calc([measure], given, ranked)}


def rbp_of_cwl_eval(qrels, run, rel, p=0.8):
    """What cwl_eval 1.0.12 computes, to which ir_measures gives RBP. It has no wheel, so it cannot be locked."""
    found = {}
    for topic, its in ordered(run).items():
        levels = [qrels[topic].get(document, 0) for document in its]
        found[topic] = sum((1 - p) * p**place for place, level in enumerate(levels) if level >= rel)
    return found


def target_of_cwl_eval(qrels, run, adapts, max_rel, T=1.0):
    """INST and INSQ of cwl_eval, which reads 1,000 ranks; test_user_models has its own numbers."""
    found = {}
    for topic, its in ordered(run).items():
        gains = [min(max(qrels[topic].get(document, 0), 0), max_rel) / max_rel for document in its]
        read, total, utility, documents = 1.0, 0.0, 0.0, 0.0
        for rank, gain in enumerate([*gains, *[0.0] * (1000 - len(gains))], start=1):
            total += gain
            utility += read * gain
            documents += read
            x = rank + 2 * T - adapts * total
            read *= ((x - 1) / x) ** 2
        found[topic] = utility / documents
    return found


def scores_of_trec_eval(name, qrels, run):
    stem, _, number = name.rpartition("_")
    is_numbered = number.replace(".", "").isdigit()
    if stem == "unj":  # trec_eval 9, and so pytrec_eval, does not have it
        topics = topics_of({topic: qrels[topic] for topic in run}, run)
        compute = MEASURES[stem].compute
        return {topic: compute(its, [int(number)])[0] for topic, its in topics.items()}
    found = pytrec_eval.RelevanceEvaluator(qrels, {f"{stem}.{number}" if is_numbered else name}).evaluate(run)
    # It calls set_F with any weight set_F.
    return {topic: its[stem if name.startswith("set_F_") else name] for topic, its in found.items()}


def scores_of_ntcireval(name, qrels, run):
    found = {}
    for topic, levels in qrels.items():
        counts = [list(levels.values()).count(level) for level in range(H + 1)]
        asked, _, cutoff = name.partition("@")
        stem, _, given = asked.rstrip(")").partition("(")
        options = dict(part.split("=") for part in given.split(",") if part)
        ranking = [(document, levels.get(document)) for document in ordered(run).get(topic, {})]
        if options.pop("j", "false") == "true":
            ranking = [pair for pair in ranking if pair[1] is not None]
        if ranking:
            made = _in_ntcireval(stem, counts, int(cutoff) if cutoff else None, **options)
            found[topic] = made.compute(ranking)
    return found


def _in_ntcireval(stem, counts, cutoff, beta="1", gamma="0.95", **more):
    """The metric of NTCIREVAL in Python, with the defaults of its command."""
    b, g, base, persistence = float(beta), float(gamma), float(more.pop("logb", 2)), float(more.pop("rbp", 0.95))
    assert not more
    name = {"O-measure": "OMeasure", "P-measure": "PMeasure", "P-plus": "PPlusMeasure", "Q-measure": "QMeasure"}
    arguments = {
        "RR": (),
        "P": (cutoff,),
        "Hit": (cutoff,),
        "AP": (counts, GRADES, cutoff),
        "Q-measure": (counts, GRADES, b, cutoff),
        "NCUguP": (counts, GRADES, GRADES),
        "NCUguBR": (counts, GRADES, GRADES, b),
        "NCUrbP": (counts, GRADES, g),
        "NCUrbBR": (counts, GRADES, g, b),
        "RBP": (counts, GRADES, persistence),
        "ERR": (counts, GRADES),
        "nERR": (counts, GRADES, cutoff),
        "nDCG": (counts, GRADES, base, cutoff),
        "MSnDCG": (counts, GRADES, cutoff),
    }
    made = "Precision" if stem == "P" else name.get(stem, stem)
    return getattr(ntcireval, made)(*arguments.get(stem, (counts, GRADES, b)))


INTERPOLATED = ("iprec", "11pt")
"""How names begin whose recall points trec_eval 9, which is in Python, and 10 round differently unless 10 divides R."""


def padded(levels):
    """The judgments with relevant documents that no run has, so that 10 divides R."""
    missing = -sum(level > 0 for level in levels.values()) % 10
    return {**levels, **{f"missed{number}": 1 for number in range(missing)}}


def scores_of_ndeval(name, qrels, run):
    stem, _, given = name.partition("@")[0].rstrip(")").partition("(")
    options = {key: float(value) for key, value in (part.split("=") for part in given.split(",") if part)}
    measure = stem + name[name.index("@") :] if "@" in name else stem
    known = [(topic, "1", doc, level) for topic, its in qrels.items() for doc, level in its.items()]
    ranked = [(topic, doc, score) for topic, its in run.items() for doc, score in its.items()]
    return {topic: its[measure] for topic, its in pyndeval.ndeval(known, ranked, [measure], **options).items()}


TOOLS = {
    "ir_measures": scores_of_ir_measures,
    "trec_eval": scores_of_trec_eval,
    "NTCIREVAL": scores_of_ntcireval,
    "ndeval": scores_of_ndeval,
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_name_of_another_tool_gives_its_number(tool):
    compare_with([row for row in TOLD if row[0] == tool and not row[1].startswith(BY_GDEVAL)])


@pytest.mark.outer
def test_a_name_that_gdeval_computes_gives_its_number():
    compare_with([row for row in TOLD if row[1].startswith(BY_GDEVAL)], seeds=1)


def compare_with(rows, seeds=3):
    assert rows
    for seed, (tool, name, label) in product(range(seeds), rows):
        qrels, run = random_case(seed, lowest_level=0)
        # gdeval takes numbers only for topics.
        qrels = {topic[1:]: levels for topic, levels in qrels.items()}
        run = {topic[1:]: scores for topic, scores in run.items()}
        if tool == "ndeval" or name.startswith((*BY_GDEVAL, *BY_NDEVAL, "RR(", "RBP(", "Judged")):
            # These programs put equal scores in another order than trec_eval does.
            run = {topic: {doc: -place for place, doc in enumerate(its)} for topic, its in ordered(run).items()}
        if name.startswith(INTERPOLATED):
            qrels = {topic: padded(levels) for topic, levels in qrels.items()}
        vocabulary = tool.lower()
        expression = translate(name, vocabulary)
        assert resolve(expression, SCALE).label == label
        theirs, ours = TOOLS[tool](name, qrels, run), scores_here(expression, qrels, run)
        assert len([topic for topic in qrels if theirs.get(topic, 0) > 0]) >= len(qrels) / 2, (tool, name, seed)
        within = 1e-5 if name.startswith(BY_GDEVAL) else 1e-12
        for topic, score in ours.items():
            expected = theirs.get(topic, 0.0)
            is_same = score == pytest.approx(expected, abs=within) or (math.isnan(score) and expected == 0)
            assert is_same, f"{tool}: {name}, seed {seed}, topic {topic}: {score}, there {expected}"


EVERY = (IR_MEASURES, TREC_EVAL, NTCIREVAL, NDEVAL)


@pytest.mark.parametrize("vocabulary", EVERY, ids=lambda each: each.tool)
def test_no_default_changes_what_a_name_means(vocabulary):
    for name in vocabulary.words:
        assert_no_default_changes(vocabulary, name)


def assert_no_default_changes(vocabulary, name):
    word = vocabulary.words[name]
    needed = f"({word.needs})" if word.needs else ""
    end = vocabulary.at_ten.replace("10", "0.5") if word.number else vocabulary.at_ten
    expression = vocabulary.translate(f"{name}{needed}" + ("" if word.cutoff == "never" else end))
    plain = resolve(expression, SCALE)
    others = {"gains": "10:5:1", "rel": "2", "condensed": "true", "mean": "geometric", "recall_base": "cutoff"}
    others |= {"stop_scale": "9", "beta": "7", "base": "3", "p": "0.5", "gamma": "0.5", "stops": "4:2:1"}
    others |= {"weight": "3", "recall": "0.7", "multiple": "3", "rounding": "up", "ia": "true"}
    others = {key: value for key, value in others.items() if key not in vocabulary.told}
    assert resolve(expression, SCALE, defaults=others).label == plain.label, name
    with_effect = {
        each.name
        for each in plain.metric.parameters
        if each.only_with is None or plain.parameters[each.only_with[0]] == each.only_with[1]
    }
    needed_here = {ours for theirs, (ours, _) in word.parameters.items() if word.needs.startswith(f"{theirs}=")}
    open_parameters = with_effect - {*word.values, *word.cut, word.number, *needed_here}
    assert open_parameters <= vocabulary.told, name


def test_a_name_of_ntcireval_in_c_alone_has_the_label_beside_it():
    for name, label in IN_C:
        assert resolve(translate(name, "ntcireval"), SCALE).label == label, name


def test_the_columns_of_ntcireval_in_c_are_ours_on_a_real_run():
    """The program's figures have ten decimals: run input.p_bert on twelve topics of trec-dl19-pass, gains 1:2:3."""
    folder = real.folder()
    columns = json.loads((Path(__file__).parents[1] / "golden" / "ntcireval-230128.json").read_text())["last_columns"]
    names = list(next(iter(columns["by_topic"].values())))
    qrels, run = folder / "qrels.dl19-passage.txt", folder / "runs" / "input.p_bert.gz"
    scores = gainboard.score(qrels, run, names, names="ntcireval", gains="3:2:1").scores
    rows = [scores.labels.index(scores.label_by_expression[name]) for name in names]
    for topic, figures in columns["by_topic"].items():
        ours = scores.by_topic[rows, 0, scores.topics.index(topic)]
        assert dict(zip(names, ours.tolist(), strict=True)) == pytest.approx(figures, abs=6e-11), topic
    assert len(columns["by_topic"]) == 12
    assert len(names) == 47


def test_every_name_of_ntcireval_is_in_one_of_the_two_tables():
    shown = {re.split("[(@]", row[0])[0] for row in IN_C}
    compared = {re.split("[(@]", name)[0] for tool, name, _ in TOLD if tool == "NTCIREVAL"}
    assert not shown & compared
    assert all(word in map(NTCIREVAL.words.get, shown | compared) for word in NTCIREVAL.words.values())


def test_every_name_of_the_tools_is_known_or_told():
    known = {*IR_MEASURES.words, *IR_MEASURES.absent}
    # Ours are there, too, once gainboard.ir_measures was imported.
    theirs = (name for name, each in ir_measures.measures.registry.items() if not hasattr(each, "metric"))
    assert {name.split("_at_")[0] for name in theirs} <= known
    stems = {name.rstrip("0123456789").rstrip("_").removesuffix("_") for name in pytrec_eval.supported_measures}
    assert stems <= {*TREC_EVAL.words, *TREC_EVAL.absent}
    assert {*pyndeval.SUPPORTED_MEASURES} == {*NDEVAL.words}
    classes = {name for name, found in vars(ntcireval).items() if isinstance(found, type)} - {"Metric"}
    assert classes <= {*NTCIREVAL.words}


@pytest.mark.parametrize(
    ("names", "expression", "message"),
    [
        ("ir_measures", "NumRelRet", "NumRelRet of ir_measures is not here. The nearest by meaning is SetR"),
        ("ir_measures", "IPrec", "'IPrec' needs a value of recall, such as IPrec@0.50"),
        ("ir_measures", "P@1.5", "'P@1.5': a cut-off is a whole number from 1, such as 10"),
        ("ndeval", "NRBP(gamma=1)", "'gamma=1' has no meaning here. Possible: alpha=N, beta=N"),
        ("ir_measures", "RBP", r"'RBP' needs rel, such as RBP\(rel=1\)"),
        ("ir_measures", "RBP(rel=1)@10", "has no cut-off here"),
        ("ntcireval", "nDCG(base=3)@10", r"'base=3' has no meaning here. Possible: j=true\|false, logb=N"),
        ("ntcireval", "Rmeasure", "It is a name of Gainboard: leave out names=ntcireval"),
        ("ir_measures", "nDGC@10", "ir_measures has no metric 'nDGC@10' that is here. Available: nDCG"),
        ("ir_measures", "AP(condensed=true)@5", "Possible: rel=N, judged_only=true|false"),
        ("ir_measures", "nDCG(dcg=log3)@5", r"'dcg=log3' has no meaning here. Possible: .*dcg=log2\|exp-log2"),
        ("trec_eval", "map_10", "'map_10': trec_eval has no cut-off here"),
        ("trec_eval", "rbp_resid", "nearest by meaning is the metric RBPresidual of Gainboard"),
        ("trec_eval", "utility", "nearest by meaning is set_P"),
        ("ir_measures", "ndcg@10", "ir_measures has no metric 'ndcg@10' that is here. Write nDCG"),
        ("ir_measures", "beir", "beir is a preset of Gainboard: ask for it without names=ir_measures"),
        ("trec_eval", "official", "nearest by meaning is the preset trec_eval of Gainboard"),
    ],
)
def test_a_name_that_is_not_there_says_what_would_be_right(names, expression, message):
    with pytest.raises(BadExpression, match=message):
        translate(expression, names)
