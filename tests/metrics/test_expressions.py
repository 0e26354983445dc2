"""Metric expressions: how metrics are named, and what they are called in answers."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gainboard.errors import BadExpression, BadGains
from gainboard.metrics import Scale, notes_on_names, resolve, trec_eval_name
from tests.metrics.judged import ordinary_metrics

from .test_definitions import expressions

SCALE = Scale(3)


def label(expression, scale=SCALE, **query):
    return resolve(expression, scale, defaults=query).label


LABELS = """
AP AP | AP@10 AP@10 | nDCG nDCG(base=2,gains=linear)@1000 | nDCG(gains=3:2:1,base=2.0)@10 nDCG(base=2,gains=3:2:1)@10
MSnDCG@10 MSnDCG(gains=linear)@10 | Q(gains=10.0:5:.5) Q(beta=1,gains=10:5:0.5) | AP(rel=1) AP
P(rel=2) P(rel=2)@1000 | Q(gains=adjust(3:2:1)) Q(beta=1,gains=adjust(3:2:1))
Q(beta=1e30,gains=exp) Q(beta=1e30,gains=exp) | Q(beta=-0) Q(beta=0,gains=linear)
AP(rel=2,recall_base=cutoff)@5 AP(recall_base=cutoff,rel=2)@5
AP(mean=geometric,condensed=true) AP(condensed=true,mean=geometric) | genP genP(gains=linear)@1000 | WRR WRR(b=2:3:4)
ADM(srs=raw) ADM(gains=linear,srs=raw) | AveP AP | R-Prec Rprec | PDoc@5 P@5 | MRR RR | R-WP RWP(gains=linear)
genAveP genAP(gains=linear) | WP@5 nCG(gains=linear)@5 | P+ Pplus(beta=1,gains=linear) | ap AP
q Q(beta=1,gains=linear) | Q-measure Q(beta=1,gains=linear) | R-measure Rmeasure(beta=1,gains=linear)
NDCG@10 nDCG(base=2,gains=linear)@10 | RBP RBP(gains=linear,p=0.95) | RBP(p=.8)@10 RBP(gains=linear,p=0.8)@10
RBPresidual RBPresidual(p=0.95) | iRBU@10 iRBU(gains=linear,p=0.99)@10 | EBR@10 EBR(beta=1,gains=linear)@10
NCUguP NCUguP(gains=linear) | NCUguBR(stops=1:1:1) NCUguBR(beta=1,gains=linear,stops=1:1:1) | NCUrbP(gamma=.95) NCUrbP
success_5 Success@5 | NCUrbBR(gamma=.5) NCUrbBR(beta=1,gains=linear,gamma=0.5) | Judged Judged@1000 | unj_5 Unjudged@5
relative_P_5 relP@5 | setF setF(weight=1) | set_F_0.25 setF(weight=0.25) | IPrec IPrec(recall=0.1)
gm_bpref bpref(mean=geometric) | iprec_at_recall_0.00 IPrec(recall=0,rounding=nearest)
iprec_at_recall_0.30(rounding=up) IPrec(recall=0.3) | gm_map AP(mean=geometric)
gm_map(rel=2) AP(mean=geometric,rel=2) | Rprec_mult_1.20(rel=2) RprecMult(multiple=1.2,rel=2)
11pt_avg AP11pt(rounding=nearest) | G G(gains=linear) | ndcg_rel nDCGrel(gains=linear)
Rndcg(gains=exp) RnDCG(gains=exp) | I-rec@10 Irec@10 | D-nDCG@10 DnDCG(gains=linear)@10
D-Q@10 DQ(beta=1,gains=linear)@10 | P(ia=true)@5 P(ia=true)@5 | D#-nDCG@10 DsharpnDCG(gains=linear,gamma=0.5)@10
D#-Q@10 DsharpQ(beta=1,gains=linear,gamma=0.5)@10 | alpha-nDCG@20 alphanDCG(alpha=0.5)@20
ERR-IA@20 ERRIA(alpha=0.5,form=ndeval)@20 | nERR-IA@20 nERRIA(alpha=0.5)@20
ERRIA(form=chapelle,gains=exp)@20 ERRIA(form=chapelle,gains=exp)@20
"""
"""What may be written, and the label, which shows what separates metrics and what tools disagree on."""
PAIRS = [tuple(pair.split()) for line in LABELS.split("\n") for pair in line.split(" | ") if pair]


def test_a_label_shows_what_separates_metrics():
    intents = Scale(3, intents=True)
    assert {written: label(written, intents) for written, _ in PAIRS} == dict(PAIRS)
    assert label("nDCG( gains = 3:2:1 , base = 2 )@010") == "nDCG(base=2,gains=3:2:1)@10"
    assert (label("WRR", Scale(1)), label("NWRR", Scale(4))) == ("WRR(b=2)", "NWRR(b=2:3:4:5)")
    assert (label("AP@10", rel="2"), label("Rprec", rel="2")) == ("AP(rel=2)@10", "Rprec(rel=2)")


def test_spellings_of_trec_eval_mean_what_it_means_whatever_the_defaults():
    meant = {"map": "AP", "MAP": "AP", "map_cut_10": "AP@10", "P_10": "P@10", "recall_10": "Recall@10"}
    meant |= {"recip_rank": "RR", "ndcg_cut_10": "MSnDCG(gains=linear)@10", "map(rel=2)": "AP(rel=2)"}
    meant |= {"ndcg_cut_10(gains=3:2:1)": "MSnDCG(gains=3:2:1)@10"}
    defaults = {"gains": "10:5:1", "rel": "3", "condensed": "true", "recall_base": "cutoff", "mean": "geometric"}
    assert {each: resolve(each, SCALE, defaults=defaults).label for each in meant} == meant


def test_trec_eval_has_a_name_only_for_what_it_computes():
    named = {
        "AP": "map",
        "AP@10": "map_cut_10",
        "RR": "recip_rank",
        "P@5": "P_5",
        "setF": "set_F",
        "Unjudged@5": "unj_5",
    }
    named |= {
        "MSnDCG(gains=linear)@10": "ndcg_cut_10",
        "setF(weight=2)": "set_F_2",
        "RprecMult(multiple=1.2)": "Rprec_mult_1.20",
    }
    named |= {f"IPrec(recall={n},rounding=nearest)": f"iprec_at_recall_{n:.2f}" for n in (0.0, 0.5)}
    others = ("MSnDCG(gains=3:2:1)@10", "AP(rel=2)", "RR@10", "nDCG@10", "IPrec(recall=0.125)", "relP@R")
    every = named | dict.fromkeys(others)
    assert {each: trec_eval_name(resolve(each, SCALE), SCALE) for each in every} == every


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_a_label_names_the_metric_that_bears_it(data):
    for metric in ordinary_metrics():
        bound = data.draw(expressions(metric))
        again = resolve(bound.label, SCALE)
        assert again.label == bound.label
        assert (again.metric, again.cutoff) == (bound.metric, bound.cutoff), bound.label
        assert again.parameters == bound.parameters, bound.label


def test_the_expression_wins_over_the_query_and_the_query_over_the_collection():
    query, collection = {"beta": "5", "gains": "1:1:1"}, {"gains": "10:5:1", "rel": "2", "beta": "7"}
    bound = resolve("Q(beta=3)", SCALE, defaults={**collection, **query})
    assert bound.label == "Q(beta=3,gains=1:1:1,rel=2)"


def test_a_default_that_the_metric_lacks_is_ignored():
    assert label("AP", beta="10", base="3", gains="1:1:1", b="2:2:2") == "AP"


@pytest.mark.parametrize("default", [{"beta": "-1"}, {"rel": "4"}, {"base": "1"}, {"mean": "harmonic"}])
def test_a_default_out_of_range_is_an_error_even_where_it_is_ignored(default):
    with pytest.raises(BadExpression, match="must be"):
        resolve("map", SCALE, defaults=default)
    with pytest.raises(BadExpression, match="must be"):
        resolve("map", SCALE, defaults=default)


NO_EXPRESSION = ["AP()", "AP(rel=2", "Q(gains=adjust(3:2:1)))", "", "AP@", "AP@ten", "AP@10@10", "A" * 2000]
NO_CUT_OFF = ["AP@0", "AP@10000000000", "AP@" + "9" * 400, "map_cut_0"]
NO_PENALTIES = ["WRR(b=2:3)", "WRR(b=1:2:3)", "WRR(b=4:3:2)", "WRR(b=a:b:c)"]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        *((each, "is not a metric expression") for each in NO_EXPRESSION),
        *((each, "must be a whole number from 1") for each in NO_CUT_OFF),
        *((f"AP(rel={each})", "must be a whole number from 1 to 3") for each in ("0", "4", "1.0")),
        *((f"Q(beta={each})", "must be a number >= 0") for each in ("-1", "inf", "1_0")),
        *((each, "one number > 1 for each level") for each in NO_PENALTIES),
        *((f"{name}@10", f"{name} takes no cut-off") for name in ("Rprec", "ADM", "bpref", "infAP", "IPrec")),
        *((f"{name}@R", "takes a fixed cut-off only") for name in ("Judged", "Unjudged", "RBPresidual")),
        *((each, "Write key=value") for each in ("AP(rel)", "AP(rel=2,)")),
        ("Qmeasur", "Did you mean Q-measure"),
        ("ndcg_cut", "Did you mean ndcg_cut_10"),
        ("num_rel_ret", "num_rel_ret of trec_eval is not here. The nearest by meaning is set_recall"),
        ("nonsense", "there is no metric"),
        ("P", r"P needs a cut-off, such as P@10. If you mean P\+, write Pplus, or %2B"),
        ("P ", "contains a space. In a URL, write Pplus, or %2B"),
        ("P (beta=1)", "write Pplus, or %2B"),
        (" AP", "contains a space"),
        ("nDCG(beta=1)", "nDCG has no parameter beta. Available: base, condensed, gains, ia, mean, rel"),
        ("AP(rel=2,rel=2)", "rel is given twice"),
        ("AP(mean=median)", "must be arithmetic or geometric"),
        ("RBPresidual(condensed=true)", "a condensed ranking has no unjudged documents"),
        ("NCUguP(stops=3:1:0)", "stops=3:1:0: must be a ratio .*; each value > 0"),
        ("ERRIA(gains=exp)@5", "gains has no effect with form=ndeval. Remove gains, or write form=chapelle"),
        ("ERRIA(alpha=0.3,form=chapelle)@5", "alpha has no effect with form=chapelle. Remove alpha, or write"),
    ],
)
def test_an_error_says_what_would_be_right(expression, message):
    with pytest.raises(BadExpression, match=message):
        resolve(expression, Scale(3, intents="ERRIA" in expression))


@given(st.text(alphabet="APQnDCGmap_10@(),=:+- relgainsbtujd3.\n\u0660\u00b2", max_size=30))
def test_any_text_is_a_metric_or_a_bad_expression(text):
    try:
        bound = resolve(text, SCALE)
    except (BadExpression, BadGains):
        return
    assert resolve(bound.label, SCALE).label == bound.label


@pytest.mark.parametrize(
    ("expressions", "notes"),
    [
        (["AP", "ndcg_cut_10", "ERR(gains=exp,stop_scale=4)@10", "RBP(gains=flat,p=0.8)", "nDCG@R"], []),
        (["nDCG@10", "nDCG(base=10)@5"], ["nDCG@10 is Järvelin and Kekäläinen's; .* is ndcg_cut_10"]),
        (["ERR"], [r"ERR is on the scale of this collection; .* is ERR\(gains=exp,stop_scale=4\)\."]),
        (["RBP@20"], [r"RBP@20 is of graded gains; .* is RBP\(gains=flat,p=0\.8\)@20"]),
    ],
)
def test_a_name_that_means_something_else_elsewhere_is_told_once(expressions, notes):
    found = notes_on_names([resolve(each, Scale(3)) for each in expressions])
    assert len(found) == len(notes)
    assert all(re.match(pattern, note) for pattern, note in zip(notes, found, strict=True))
    for note in found:  # what it offers can be asked
        resolve(note.rstrip(".").rpartition(" is ")[2], Scale(3))
