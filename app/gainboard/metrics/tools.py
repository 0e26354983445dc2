"""Other tools as a table: how each orders and averages, and what each calls our metrics.

`docs/other-tools.md` prints it (`python -m scripts.other_tools`), and `gainboard identify` tries all of it. A tool with
a vocabulary has its names there. A line of `ELSEWHERE` adds a name of any tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from gainboard.errors import BadExpression, BadGains, NeedsIntents
from gainboard.metrics.catalogue import every_metric
from gainboard.metrics.expressions import BoundMetric, resolve
from gainboard.metrics.judgments import Scale
from gainboard.metrics.vocabularies import VOCABULARIES, Vocabulary
from gainboard.vocabulary import Names

DocumentOrder = Literal["descending ids", "single precision", "ascending ids", "order of the file", "rank column"]
"""How documents with equal retrieval scores are ordered, `descending ids` also if scores are equal in single precision;
or ranks order all."""
TopicRule = Literal["relevant", "both", "qrels", "both relevant", "run"]
"""The topics of a mean: those of the qrels with relevant documents, those of qrels and run, all of the qrels, those of
qrels and run with relevant documents, or all of the run. A topic without a score is 0."""


class Tool(NamedTuple):
    """A program: the order of its documents and the topics of its means. Its `names` may be a vocabulary here."""

    name: str
    order: DocumentOrder
    topics: TopicRule
    names: Names | None = None


TOOLS: Final = (
    Tool("Gainboard", "descending ids", "relevant", "gainboard"),
    Tool("trec_eval 9", "single precision", "both", "trec_eval"),
    Tool("trec_eval 10", "descending ids", "both", "trec_eval"),
    Tool("ir_measures", "single precision", "qrels", "ir_measures"),
    Tool("NTCIREVAL", "rank column", "qrels", "ntcireval"),
    Tool("ndeval", "descending ids", "both", "ndeval"),
    Tool("ranx", "order of the file", "qrels"),
    Tool("trectools", "descending ids", "both"),
)
ELSEWHERE: Final = (
    # The tool, its name, and our expression; `l` is a cut-off in both, and `x` a recall point.
    ("trec_eval 9", "iprec_at_recall_x", "IPrec(recall=x,rounding=trec_eval9)"),
    ("trec_eval 9", "11pt_avg", "AP11pt(rounding=trec_eval9)"),
    ("ranx", "map", "AP"),
    ("ranx", "map@l", "AP@l"),
    ("ranx", "mrr", "RR"),
    ("ranx", "mrr@l", "RR@l"),
    ("ranx", "ndcg", "MSnDCG(gains=linear)@1000000000"),
    ("ranx", "ndcg@l", "MSnDCG(gains=linear)@l"),
    ("ranx", "ndcg_burges@l", "MSnDCG(gains=exp)@l"),
    ("ranx", "hit_rate@l", "Success@l"),
    ("ranx", "precision@l", "P@l"),
    ("ranx", "recall@l", "Recall@l"),
    ("ranx", "r-precision", "Rprec"),
    ("ranx", "f1", "setF(weight=1)"),
    ("trectools", "get_map()", "AP"),
    ("trectools", "get_reciprocal_rank()", "RR"),
    ("trectools", "get_precision(depth=l)", "P@l"),
    ("trectools", "get_ndcg(depth=l, trec_eval=True)", "MSnDCG(gains=linear)@l"),
    ("trectools", "get_ndcg(depth=l, trec_eval=False)", "MSnDCG(gains=exp)@l"),
    ("trectools", "get_rbp()", "RBP(gains=flat,p=0.8)"),
)
_CUTOFFS: Final = ("1", "3", "5", "10", "20", "30", "50", "100", "200", "500", "1000")
"""The cut-offs that are tried."""
_WITH_OPTIONS: Final = ("10", "100")
"""Those of them that are tried with options, too. With all of them, there would be 4,600 metrics."""
_POINTS: Final = {"recall": [f"{tenth / 10:.2f}" for tenth in range(11)], "multiple": ["0.50", "1.00", "2.00"]}
_ALTERNATIVES: Final[Mapping[str, Sequence[str]]] = {
    "condensed": ("true",),
    "gains": ("linear", "exp", "flat"),
    "recall_base": ("cutoff",),
    "mean": ("geometric",),
    "base": ("10", "2.718281828459045"),
    "beta": ("0.1", "10", "100"),
    "p": ("0.5", "0.8", "0.85", "0.9", "0.95"),
    "weight": ("0.25", "1", "4"),
    "alpha": ("0", "0.9"),
    "stop_scale": ("4",),
    "ia": ("true", "equal"),
}
"""The values that people choose for a parameter, besides its default."""


class Name(NamedTuple):
    """What a tool calls a metric, and whether this is with an option of the tool."""

    tool: Tool
    name: str
    options: int
    metric: BoundMetric

    @property
    def cutoff(self) -> str:
        """The cut-off that the name has; empty without one."""
        cutoff = str(self.metric.cutoff)
        return cutoff if cutoff in re.findall("[0-9]+", self.name) else ""


def meanings(name: str, scale: Scale, gains: str) -> list[Name]:
    """Return what a name means in each tool that has it. Raise BadExpression if no tool has."""
    found = [known for known in _elsewhere(scale, re.findall("[0-9]+", name)) if known.name in (name, name.lower())]
    for tool in TOOLS:
        # Papers write MAP, MRR and NDCG@10.
        spellings = (name, name.replace("NDCG", "nDCG"), name.lower(), name.upper())
        found += next(filter(None, ([*_bound(tool, written, 0, scale, gains)] for written in spellings)), [])
    if not found:
        resolve(name, scale)
    return found


def every_name(scale: Scale, gains: str, wanted: Sequence[str] = ()) -> Iterator[Name]:
    """Yield the names of all tools, with and without one option; `gains` are the collection's.

    They have the cut-offs that are `wanted`, or else usual ones.
    """
    cutoffs, with_options = (wanted, wanted) if wanted else (_CUTOFFS, _WITH_OPTIONS)
    values = {**_ALTERNATIVES, "rel": [str(level) for level in range(2, scale.highest_level + 1)]}
    values["gains"] = [*dict.fromkeys((*_ALTERNATIVES["gains"], gains))]
    for tool in TOOLS:
        vocabulary = VOCABULARIES.get(tool.names)
        written = [*_written(vocabulary, cutoffs, with_options, values)] if vocabulary else []
        if tool.names == "gainboard":
            written = [*_gainboard(cutoffs, with_options, values)]
        for told in dict.fromkeys(("linear", gains)) if vocabulary and vocabulary.told else ("linear",):
            for expression, options in written:
                yield from _bound(tool, expression, options, scale, told)
    yield from _elsewhere(scale, cutoffs)


def _gainboard(
    cutoffs: Sequence[str], with_options: Sequence[str], values: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int]]:
    for metric in every_metric():
        for cutoff in ("", *cutoffs) if metric.takes_cutoff else ("",):
            end = f"@{cutoff}" if cutoff else ""
            yield metric.name + end, 0
            for parameter in metric.parameters if cutoff in ("", *with_options) else ():
                for value in values.get(parameter.name, ()):
                    yield f"{metric.name}({parameter.name}={value}){end}", 1


def _written(
    vocabulary: Vocabulary, cutoffs: Sequence[str], with_options: Sequence[str], values: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int]]:
    """Yield the expressions of a tool, with 1 for an option that the tool does without."""
    sign = vocabulary.at_ten[0]
    for name, word in vocabulary.distinct_words().items():
        points = _POINTS.get(word.number, ()) if word.number else cutoffs
        ends = [*([""] if word.cutoff != "must" else []), *(points if word.cutoff != "never" else ())]
        needed = f"{word.needs}=1" if word.needs else ""
        options = [
            ",".join(filter(None, (needed, f"{theirs}={value}")))
            for theirs, (ours, meant) in word.parameters.items()
            if theirs != word.needs
            for value in meant or values.get(ours, ())
        ]
        for end in ends:
            tried = options if word.number or end in ("", *with_options) else ()
            for option, given in ((0, needed), *((1, option) for option in tried)):
                parts = (f"({given})" if given else "", sign + end if end else "")
                yield name + "".join(parts[::-1] if sign == "_" else parts), option


def _elsewhere(scale: Scale, cutoffs: Sequence[str]) -> Iterator[Name]:
    by_name = {tool.name: tool for tool in TOOLS}
    for tool, theirs, ours in ELSEWHERE:
        pattern, ends = (r"\bl\b", cutoffs) if re.search(r"\bl\b", ours) else (r"(?<=_)x|\bx\b", _POINTS["recall"])
        for end in ends if re.search(pattern, ours) else ("",):
            expression = re.sub(pattern, end, ours)
            yield Name(by_name[tool], re.sub(pattern, end, theirs), 0, resolve(expression, scale))


def _bound(tool: Tool, written: str, options: int, scale: Scale, gains: str) -> Iterator[Name]:
    if tool.names is None:
        return
    # Not all tables fit: a scale may have no intents, or too many levels for a value.
    with suppress(BadExpression, BadGains, NeedsIntents):
        vocabulary = VOCABULARIES.get(tool.names)
        ours = vocabulary.translate(written) if vocabulary else written
        yield Name(tool, written, options, resolve(ours, scale, defaults={"gains": gains}))
