"""Presets: several metrics under one name, as a paper recommends or a community reports.

Decorating a function with `preset` adds it; there is no other list of presets.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gainboard.metrics.gains import linear_ratio, steep


@dataclass(frozen=True, eq=False, kw_only=True)
class Preset:
    """A list of metrics. `expressions` returns them for the highest level of a scale. `reference` is their source."""

    name: str
    title: str
    reference: str
    expressions: Callable[[int], Sequence[str]]

    @property
    def definition(self) -> str:
        """The definition in prose, which is the docstring of `expressions`."""
        return inspect.getdoc(self.expressions) or ""


_PRESETS: dict[str, Preset] = {}
"""All presets by name in lower case."""


def preset(name: str, *, title: str, reference: str) -> Callable[[Callable[[int], Sequence[str]]], Preset]:
    """Add a list of metrics to the catalogue. `name` must not be the name of a metric.

    The expressions of graded metrics must give their gains, so that defaults of a collection do not change them.
    The docstring says which official figures a test compares with the preset's, and which are not compared.
    """

    def enter(expressions: Callable[[int], Sequence[str]]) -> Preset:
        entry = Preset(name=name, title=title, reference=reference, expressions=expressions)
        _PRESETS[name.lower()] = entry
        return entry

    return enter


def every_preset() -> tuple[Preset, ...]:
    """Return all presets, in the order of their definitions."""
    return tuple(_PRESETS.values())


def find_preset(name: str) -> Preset | None:
    """Return the preset of this name, in upper or lower case; None if there is no such preset."""
    return _PRESETS.get(name.lower())


def expand(expressions: Iterable[str], highest_level: int) -> list[str]:
    """Return the expressions, with each preset replaced by its expressions."""
    expanded: list[str] = []
    for expression in expressions:
        entry = find_preset(expression)
        expanded.extend(entry.expressions(highest_level) if entry else [expression])
    return expanded


@preset(
    "sakai2006",
    title="Sakai's guideline for graded relevance",
    reference="Sakai, Controlling the penalty on late arrival of relevant documents in information retrieval "
    "evaluation with graded relevance, 2006, section 6",
)
def sakai2006(highest_level: int) -> list[str]:
    """AP, and three graded metrics with linear gains and with steep gains.

    The graded metrics are Q-measure with beta 1, Q-measure with beta 10, and nDCG with log base 2. AP equals Q-measure
    with beta 0. For three levels, linear gains are 3:2:1 and steep gains are 10:5:1. For h levels, they are h:...:2:1
    and `exp`. With binary levels, both are the same and are listed once. The cut-off of nDCG is the depth of the
    collection.

    Tests hold the paper's worked examples of these metrics. Its tables are of other data, and are not compared.
    """
    linear = linear_ratio(highest_level)
    settings = [linear] if highest_level == 1 else [linear, steep(highest_level)]
    graded = ("Q(beta=1,gains={})", "Q(beta=10,gains={})", "nDCG(base=2,gains={})")
    return ["AP", *(expression.format(gains) for gains in settings for expression in graded)]


@preset(
    "trec_eval",
    title="What trec_eval prints by default",
    reference="trec_eval, https://github.com/usnistgov/trec_eval, its measure set `official`",
)
def trec_eval(highest_level: int) -> list[str]:
    """The scores that trec_eval prints without options.

    These are map, gm_map, Rprec, bpref, recip_rank, interpolated precision at eleven recall points and P at nine
    cut-offs, in trec_eval's order. The counts, which it also prints, are not scores of this list.

    A test compares all of them with the output that trec_eval's own tests expect.
    """
    points = [f"IPrec(recall={tenth / 10:g},rounding=nearest)" for tenth in range(11)]
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    return ["AP", "AP(mean=geometric)", "Rprec", "bpref", "RR", *points, *(f"P@{cutoff}" for cutoff in cutoffs)]


@preset(
    "trec-dl",
    title="TREC Deep Learning track, passages",
    reference="Craswell, Mitra, Yilmaz, Campos and Voorhees, Overview of the TREC 2019 deep learning track, 2020",
)
def trec_dl(highest_level: int) -> list[str]:
    """trec_eval's nDCG@10, NCG@1000, and AP and RR from level 2, because level 1 of passages means only related.

    With binary levels, AP and RR are from level 1.

    A test compares nDCG@10, AP and RR with the organisers' figures of 37 runs of 2019. NCG@1000 is not compared.
    """
    rel = min(2, highest_level)
    return ["MSnDCG(gains=linear)@10", "nCG(gains=linear)@1000", f"AP(rel={rel})", f"RR(rel={rel})"]


@preset(
    "trec-covid",
    title="TREC-COVID",
    reference="Roberts et al., Searching for scientific evidence in a pandemic: an overview of TREC-COVID, 2021",
)
def trec_covid(highest_level: int) -> list[str]:
    """trec_eval's nDCG@10, P@5, graded RBP with p 0.5, bpref and AP, as in the tables of the first rounds.

    The gains of RBP are linear: a partially relevant document counts half. The official figures are not compared by a
    test, because the runs are not part of the project.
    """
    return ["MSnDCG(gains=linear)@10", "P@5", "RBP(gains=linear,p=0.5)", "bpref", "AP"]


@preset(
    "ntcir-www",
    title="NTCIR We Want Web",
    reference="Sakai et al., Overview of the NTCIR-15 We Want Web with CENTRE (WWW-3) task, NTCIR-15, 2020",
)
def ntcir_www(highest_level: int) -> list[str]:
    """NTCIREVAL's MSnDCG, Q-measure, nERR and iRBU at rank 10, with linear gains.

    The official figures of the task are not compared.
    """
    return [
        "MSnDCG(gains=linear)@10",
        "Q(beta=1,gains=linear,recall_base=cutoff)@10",
        "nERR(gains=linear)@10",
        "iRBU(gains=linear,p=0.99)@10",
    ]


@preset(
    "msmarco",
    title="MS MARCO passage ranking",
    reference="Bajaj et al., MS MARCO: a human generated machine reading comprehension dataset, 2016",
)
def msmarco(highest_level: int) -> list[str]:
    """MRR@10, the metric of the leaderboard, and the recall of a first stage, Recall@1000.

    The figures of the leaderboard are not compared.
    """
    return ["RR@10", "Recall@1000"]


@preset(
    "beir",
    title="BEIR",
    reference="Thakur, Reimers, Rückle, Srivastava and Gurevych, BEIR: a heterogeneous benchmark for zero-shot "
    "evaluation of information retrieval models, NeurIPS 2021",
)
def beir(highest_level: int) -> list[str]:
    """trec_eval's nDCG@10, the benchmark's main metric, and Recall@100.

    The figures of the benchmark are not compared.
    """
    return ["MSnDCG(gains=linear)@10", "Recall@100"]


@preset(
    "web-diversity",
    title="The diversity task of TREC's Web track",
    reference="Clarke, Craswell, Soboroff and Cormack, Overview of the TREC 2010 Web Track; ndeval",
)
def web_diversity(highest_level: int) -> list[str]:
    """The measures that ndeval prints, in its order.

    These are intent-aware ERR, alpha-DCG, NRBP, P and AP averaged over intents, and subtopic recall. Gains and the
    probabilities of intents play no part. The preset needs a collection with intents.

    A test compares each measure with ndeval's on small made-up cases. The track's figures are not compared.
    """

    def at(*forms: str) -> list[str]:
        return [f"{form}@{cutoff}" for form in forms for cutoff in (5, 10, 20)]

    return [
        *at("ERRIA(alpha=0.5,form=ndeval)", "nERRIA(alpha=0.5)", "alphaDCG(alpha=0.5)", "alphanDCG(alpha=0.5)"),
        *("NRBP(alpha=0.5,p=0.5)", "nNRBP(alpha=0.5,p=0.5)", "AP(ia=equal)"),
        *at("P(ia=equal)", "Irec"),
    ]
