"""Other tools as a table: how each orders documents and averages topics, and what it calls our metrics.

`docs/other-tools.md` prints the table, and `gainboard identify` tries all of it. The names of a tool are those of its
vocabulary, and lines of `ELSEWHERE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from gainboard.errors import BadExpression, BadGains, NeedsIntents
from gainboard.metrics.catalogue import every_metric
from gainboard.metrics.expressions import BoundMetric, resolve
from gainboard.metrics.judgments import Scale
from gainboard.metrics.vocabularies import VOCABULARIES
from gainboard.vocabulary import Names


class Tool(NamedTuple):
    """A program, how it orders documents, and the topics of its means. `names` is its vocabulary, if it has one here.

    A rule about equal retrieval scores is an order. A topic of the mean that has no score counts 0.
    """

    name: str
    order: str
    topics: str
    names: Names | None = None


IDS, SINGLE, ASCENDING = "descending ids", "descending ids, scores in single precision", "ascending ids"
FILE, RANKS = "the order of the file", "the rank column"
RELEVANT, BOTH, QRELS = "topics with relevant documents", "topics of both qrels and run", "topics of the qrels"
TOOLS: Final = (
    Tool("Gainboard", IDS, RELEVANT, "gainboard"),
    Tool("trec_eval 9", SINGLE, BOTH, "trec_eval"),
    Tool("trec_eval 10", IDS, BOTH, "trec_eval"),
    Tool("ir_measures", SINGLE, QRELS, "ir_measures"),
    Tool("NTCIREVAL", RANKS, QRELS, "ntcireval"),
    Tool("ndeval", ASCENDING, BOTH, "ndeval"),
    Tool("ranx", FILE, QRELS),
    Tool("trectools", IDS, BOTH),
    # get_map() sorts equal scores by descending ids, get_ndcg() takes the order of reading, get_rbp() averages ties.
    Tool("trectools, as read", ASCENDING, BOTH),
)
ELSEWHERE: Final = (
    # A tool, its name, our expression. `{}` is a cut-off in both.
    ("trec_eval 9", "gm_map", "AP(mean=geometric)"),
    ("trec_eval 9", "iprec_at_recall_0.20", "IPrec(recall=0.2,rounding=trec_eval9)"),
    ("ranx", "map@{}", "AP@{}"),
    ("ranx", "mrr@{}", "RR@{}"),
    ("ranx", "ndcg", "MSnDCG(gains=linear)@1000000000"),
    ("ranx", "ndcg@{}", "MSnDCG(gains=linear)@{}"),
    ("ranx", "ndcg_burges@{}", "MSnDCG(gains=exp)@{}"),
    ("ranx", "hit_rate@{}", "Success@{}"),
    ("ranx", "precision@{}", "P@{}"),
    ("ranx", "recall@{}", "Recall@{}"),
    ("ranx", "r-precision", "Rprec"),
    ("ranx", "f1", "setF(weight=1)"),
    ("trectools", "get_map()", "AP"),
    ("trectools, as read", "get_ndcg(depth={}, trec_eval=True)", "MSnDCG(gains=linear)@{}"),
    ("trectools, as read", "get_ndcg(depth={}, trec_eval=False)", "MSnDCG(gains=exp)@{}"),
    ("trectools", "get_rbp()", "RBP(gains=flat,p=0.8)"),
)
_CUTOFFS: Final = ("1", "3", "5", "10", "20", "30", "50", "100", "200", "500", "1000")
_OPTIONS: Final[Mapping[str, Sequence[str]]] = {
    "condensed": ("true",),
    "gains": ("linear", "exp", "flat"),
    "recall_base": ("cutoff",),
    "mean": ("geometric",),
    "base": ("10", "2.718281828459045"),
    "beta": ("0.1", "10", "100"),
    "p": ("0.5", "0.8", "0.9", "0.95"),
    "rounding": ("trec_eval9",),
    "stop_scale": ("4",),
}
"""The values that people choose for a parameter, besides higher levels for `rel`."""


class Name(NamedTuple):
    """A tool's name for a metric, or for one that differs from it in an `option` such as `rel=2`."""

    tool: Tool
    name: str
    metric: BoundMetric
    option: str = ""


def names_of(tool: Tool, cutoffs: Sequence[str] = _CUTOFFS) -> Iterator[tuple[str, str]]:
    """Yield the names of a tool, with these cut-offs, and our expressions for them."""
    for metric in every_metric() if tool.names == "gainboard" else ():
        for end in ("", *(f"@{cutoff}" for cutoff in cutoffs)) if metric.takes_cutoff else ("",):
            yield metric.name + end, metric.name + end
    if vocabulary := VOCABULARIES.get(tool.names):
        for word, meaning in vocabulary.words.items():
            name = f"{word}({meaning.needs})" if meaning.needs else word
            ends = [f"{tenth / 10:.2f}" for tenth in range(11)] if meaning.number else cutoffs
            for written in (name, *(name + vocabulary.at_ten[0] + end for end in ends)):
                with suppress(BadExpression):
                    yield written, vocabulary.translate(written)
    for name, theirs, ours in ELSEWHERE:
        for cutoff in (cutoffs if "{}" in ours else ("",)) if name == tool.name else ():
            yield theirs.format(cutoff), ours.format(cutoff)


def every_name(scale: Scale, gains: str, cutoffs: Sequence[str], also: Iterable[BoundMetric]) -> list[Name]:
    """Return the names of all tools, with these or usual cut-offs, and metrics that differ from each in one option.

    Each metric has one name of a tool, without an option if there is one. `gains` are the collection's, and `also` are
    further metrics of ours.
    """
    levels = [str(level) for level in range(2, scale.highest_level + 1)]
    options = {**_OPTIONS, "rel": levels, "gains": [*dict.fromkeys((*_OPTIONS["gains"], gains))]}
    names = [Name(TOOLS[0], metric.label, metric) for metric in also]
    for tool in TOOLS:
        for name, ours in names_of(tool, cutoffs or _CUTOFFS):
            with suppress(BadExpression, BadGains, NeedsIntents):
                metric = resolve(ours, scale)
                if metric.metric.needs_annotations:
                    continue  # few judgments have what it needs, and only who names it knows the attribute set
                names.append(Name(tool, name, metric))
                # With options at each usual cut-off, there would be 5,000 metrics.
                for parameter in metric.metric.parameters if cutoffs or metric.cutoff in (None, 10, 100) else ():
                    for text in options.get(parameter.name, ()):
                        with suppress(BadExpression, BadGains):
                            changed = {**metric.parameters, parameter.name: parameter.read(text, scale)}
                            option = BoundMetric(metric.metric, changed, metric.cutoff, scale)
                            names.append(Name(tool, name, option, f"{parameter.name}={text}"))
    names.sort(key=lambda name: bool(name.option))
    return [*{(name.metric.label, name.tool): name for name in reversed(names)}.values()][::-1]
