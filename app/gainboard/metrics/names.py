"""The names of metrics: canonical ones, aliases and trec_eval's names, presets, and those that other programs print.

A preset is several metrics under one name, as a paper recommends or a community reports. Decorating a function with
`preset` adds it; there is no other list of presets.

The names of other programs are for messages about unknown names. They come from MTEB (`ndcg_at_10`), BEIR (`Hole@10`),
sentence-transformers (`cosine_accuracy@1`), scikit-learn (`ndcg_score`), ranx (`hit_rate@5`), PyTerrier and
torchmetrics (`RetrievalMAP`). They are not read, because programs mean different things by one name: ranx counts with
`hits@10` what others only notice.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import NUMBERED, VALUED, Metric, every_metric
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


class Spelling(NamedTuple):
    """The meaning of a name: the metric, a cut-off (as in `P_10`), and whether it is pinned to trec_eval's meaning.

    `named` is a parameter whose value is in the name (as in `Rprec_mult_0.50`), with the value. `implied` are values
    that the name stands for (as in `gm_map`), unless the expression gives others.
    """

    metric: Metric
    cutoff: str | None = None
    pinned: bool = False
    named: Mapping[str, str] = {}
    implied: Mapping[str, str] = {}


def is_pinned(alias: str) -> bool:
    """Return whether an alias is trec_eval's own name, which is `map` or has an underscore.

    Users of these names expect trec_eval's scores. So the defaults of a collection do not change their meaning.
    """
    return "_" in alias or alias == "map"


def _example(alias: str) -> str:
    """Return the alias with a cut-off or a value in place of its placeholder, if it has one."""
    if alias.endswith(VALUED):
        return f"{alias.removesuffix(VALUED)}_0.50"
    return f"{alias.removesuffix(NUMBERED)}_10" if alias.endswith(NUMBERED) else alias


class _Names:
    """All names of some metrics: `exact` by their text, and `folded` by their text in lower case."""

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self.exact = {name: Spelling(metric) for metric in metrics for name in (metric.name, *metric.aliases)}
        for name, spelling in self.exact.items():
            if name in spelling.metric.implied:
                implied = spelling.metric.implied[name]
                self.exact[name] = spelling._replace(pinned=is_pinned(name), implied=implied)
        self.folded: dict[str, list[str]] = {}
        for name in self.exact:
            self.folded.setdefault(name.lower(), []).append(name)

    def get(self, name: str) -> Spelling | None:
        """Return what a name means. Raise BadExpression if it fits two metrics, whose names differ in case alone."""
        if (spelling := self.exact.get(name)) is not None:
            return spelling
        fitting = self.folded.get(name.lower(), [])
        if len({self.exact[other].metric.name for other in fitting}) > 1:
            raise BadExpression(f"{name!r} may be {' or '.join(fitting)}, which are two metrics. Write one of them")
        return self.exact[fitting[0]] if fitting else None

    def nearest(self, name: str) -> list[str]:
        from difflib import get_close_matches  # noqa: PLC0415 (for messages alone)

        examples = [*map(_example, self.exact), *(preset.name for preset in every_preset())]
        shown = {example.lower(): example for example in examples}
        return [shown[match] for match in get_close_matches(name.lower(), shown, n=4, cutoff=0.5)]


# The metrics are the key, so names are collected again after a metric is registered.
_names = lru_cache(maxsize=1)(_Names)


def is_known(name: str) -> bool:
    """Return whether a metric has this name or alias, in any case."""
    return _names(every_metric()).get(name) is not None


def find(name: str, expression: str) -> Spelling:
    """Return the meaning of the name in an expression. An exact match comes before a match in another case.

    Raises BadExpression with the nearest names if there is no such metric, or if `name` is a preset.
    """
    names = _names(every_metric())
    if preset := find_preset(name):
        raise BadExpression(
            f"{preset.name} is a preset, the name of several metrics. Use it by itself in a list of metrics, or give "
            "one metric here, such as nDCG@10"
        )
    # What remains of a name such as P+ after a URL parser has read its + as a space.
    blank = re.search(r"\s", name)
    meant = names.get(re.sub(r"\s", "+", name) if blank else f"{name}+")
    written = f"{meant.metric.name}, or %2B for the +" if meant else "%2B for a +"
    if blank:
        raise BadExpression(f"{name!r} contains a space. In a URL, write {written}")
    if name == expression and meant:
        raise BadExpression(f"{name} needs a cut-off, such as {name}@10. If you mean {name}+, write {written}")
    numbered = re.fullmatch(r"(.*)_([0-9]+(?:\.[0-9]+)?)", name, re.DOTALL)
    spelling = _find_numbered(names, *numbered.groups()) if numbered else names.get(name)
    if spelling is None or name.lower().endswith((NUMBERED, VALUED)):
        ours = name_here(expression)
        nearest = ", ".join(dict.fromkeys([*ours, *names.nearest(name)][: max(4, len(ours))]))
        hint = f"Did you mean {nearest}?" if nearest else "docs/metrics.md and GET /v1/metrics list all metrics."
        raise BadExpression(f"there is no metric {name!r}. {hint}")
    return spelling


def _find_numbered(names: _Names, stem: str, number: str) -> Spelling | None:
    """Return the meaning of a name that ends with a number: a cut-off, or the value of the first parameter."""
    # A whole number is a cut-off if an alias has one (`P_10`), and else a value (`set_F_2`).
    if number.isdigit() and (spelling := names.get(stem + NUMBERED)):
        return spelling._replace(cutoff=number)
    spelling = names.get(stem + VALUED)
    return spelling and spelling._replace(named={spelling.metric.parameters[0].name: number})


class _Meaning(NamedTuple):
    """The expressions for a name: with a cut-off in place of `{}`, and without one. The best comes first."""

    cut: tuple[str, ...]
    whole: tuple[str, ...]


def _meanings(names: str, cut: str, whole: str) -> dict[str, _Meaning]:
    return dict.fromkeys(names.split(), _Meaning(tuple(cut.split()), tuple(whole.split())))


MEANINGS: Final = {
    **_meanings("r recall rec recallat sensitivity truepositiverate", "Recall@{}", "setRecall Recall@100"),
    **_meanings("p precision prec precisionat positivepredictivevalue", "P@{}", "setP P@10"),
    **_meanings(
        "accuracy acc topkaccuracy topaccuracy categoricalaccuracy topkcategoricalaccuracy", "Success@{}", "Success@1"
    ),
    **_meanings("hit hitrate hitratio hr success successrate hitrateat", "Success@{}", "Success@10"),
    **_meanings("hits", "Success@{} P@{}", "Success@10 P@10"),
    **_meanings("ndcg normalizeddcg normaliseddcg", "ndcg_cut_{} nDCG@{}", "MSnDCG nDCG"),
    **_meanings(
        "normalizeddiscountedcumulativegain normaliseddiscountedcumulativegain", "ndcg_cut_{} nDCG@{}", "MSnDCG nDCG"
    ),
    **_meanings("ndcgcut mainscore", "ndcg_cut_{} nDCG@{}", "ndcg_cut_10 nDCG@10"),
    **_meanings("ndcgburges ndcgexp", "MSnDCG(gains=exp)@{}", "MSnDCG(gains=exp)"),
    **_meanings("dcg discountedcumulativegain", "DCG@{}", "DCG"),
    **_meanings("dcgburges", "DCG(gains=exp)@{}", "DCG(gains=exp)"),
    **_meanings("map ap averageprecision avgprecision meanaverageprecision meanap mapcut", "AP@{}", "AP"),
    **_meanings("labelrankingaverageprecision lrap", "AP@{}", "AP"),
    **_meanings("mrr rr reciprocalrank meanreciprocalrank reciprank recipranks reciprankcut", "RR@{}", "RR"),
    **_meanings("rprecision rprec precisionatr", "Rprec", "Rprec"),
    **_meanings("rcap recallcap caprecall cappedrecall recallcapped", "R_cap@{}", "R_cap@100"),
    **_meanings("f f1 fscore f1score fmeasure fbeta fbetascore f1measure", "setF P@{} Recall@{}", "setF"),
    **_meanings("hole holes holerate unjudged", "Unjudged@{}", "Unjudged@10"),
    **_meanings("judged judgedrate", "Judged@{}", "Judged@10"),
    **_meanings("rbp rankbiasedprecision", "RBP@{}", "RBP"),
    **_meanings("err expectedreciprocalrank", "ERR@{}", "ERR"),
    **_meanings("bpref binarypreference auc auroc rocauc", "bpref", "bpref"),
    **_meanings("interpolatedprecision iprec 11ptavg", "AP11pt", "AP11pt"),
}
_SIMILARITIES: Final = frozenset(["cosine", "cos", "dot", "euclidean", "manhattan", "hamming", "jaccard", "maxsim"])
_DECORATIONS: Final = _SIMILARITIES.union(
    ("sim", "score", "max", "eval", "evaluation", "val", "valid", "validation", "test", "dev", "train", "mean", "avg"),
    ("cv", "average", "macro", "micro", "samples", "weighted", "retrieval", "metric", "at", "cut", "std", "base"),
)
"""Words around a name that say where it was computed, and not what."""
_CUTOFF: Final = re.compile(
    r"(?P<stem>.+?)(?:[@_. -]+(?:at[@_. -]*)?(?P<cutoff>\d{1,9}k?|k|n)|(?P<bare>\d{1,9}))(?P<rest>\D*)"
)
_TOP: Final = re.compile(r"top[@_. -]?(?P<cutoff>\d{1,9}|k|n)[@_. -]?(?P<stem>acc.*)")


_LONGEST: Final = 100
"""The most characters of an expression that are looked at. No program prints longer names."""


def name_here(expression: str) -> list[str]:
    """Return our expressions for a name that another program prints, the best first; empty if it is unknown.

    A letter in place of a cut-off, as in `map@k`, becomes 10. Parameters, as in `R(rel=2)@100`, are kept.
    """
    named = re.sub(r"\(k=([0-9]+)\)", r"@\1", expression.strip()[:_LONGEST])
    arguments = re.search(r"\([^()=]+=[^()]*\)", named)
    expressions = _find_expressions(re.sub(r"\(.*?\)", "", named.lower()))
    if arguments is None:
        return expressions
    return [re.sub(r"^([A-Za-z]+)(@|$)", rf"\g<1>{arguments[0]}\g<2>", ours) for ours in expressions]


def _find_expressions(text: str) -> list[str]:
    value = re.fullmatch(r"rbp[@_. -]?0?(\.[0-9]+)", text)
    if value:
        return [f"RBP(p=0{value[1]})"]
    if (meaning := _find_meaning(text)) is not None:
        return list(meaning.whole)
    for form in (_TOP, _CUTOFF):
        if (match := form.fullmatch(text)) is None:
            continue
        groups = match.groupdict()
        if (meaning := _find_meaning(groups["stem"] + groups.get("rest", ""))) is not None:
            cutoff = re.sub(r"(?<=\d)k$", "000", groups["cutoff"] or groups["bare"])  # R@1k of MS MARCO
            return [template.format(cutoff if cutoff.isdigit() else 10) for template in meaning.cut]
    return []


def _find_meaning(name: str) -> _Meaning | None:
    """Return the meaning of a name, or of what is left of it without the words around it, the longest first."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.removeprefix("retrieval")) if word]
    # Evaluators of sentence-transformers put the name of the data before the similarity: `NanoBEIR_mean_cosine_ndcg`.
    last = max((index for index, word in enumerate(words) if word in _SIMILARITIES), default=-1)
    parts = [(start, stop) for start in range(len(words)) for stop in range(start + 1, len(words) + 1)]
    for start, stop in sorted(parts, key=lambda part: part[0] - part[1]):
        around = [*words[max(last, 0) : start], *words[stop:]]
        around = [word for word in around if not re.fullmatch(r"nano\w+|r\d+", word)]  # of data, and of rerankers
        if (meaning := MEANINGS.get("".join(words[start:stop]))) and _DECORATIONS.issuperset(around):
            return meaning
    return None
