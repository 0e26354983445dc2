"""Gainboard's metrics in ir_measures: a provider, and a measure for each metric that ir_measures lacks.

    import ir_measures
    from gainboard.ir_measures import AWP, Q

    ir_measures.calc_aggregate([Q(beta=10, gains="3:2:1") @ 20, AWP], qrels, run)

The import registers them, so that they also work by name, and in PyTerrier's experiments. Where both have a name, that
of ir_measures stays. Levels are those of the judgments. Topics without a relevant document get no score (many measures
of ir_measures give these 0).
`python -m gainboard.ir_measures` is the command of ir_measures with these measures.
"""

from __future__ import annotations

import ast
import gzip
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from io import TextIOWrapper
from typing import Any, Final, TextIO

import ir_measures
import numpy as np
from ir_measures import measures, providers
from ir_measures.__main__ import main_cli
from ir_measures.measures.base import Agg
from ir_measures.util import QrelsConverter, RunConverter

from gainboard.errors import BadExpression, GainboardError
from gainboard.evaluation.runs.join import make_empty_run
from gainboard.evaluation.scoring.file_scores import FileJudgments
from gainboard.metrics import Metric, Scale, every_metric, mean_of, resolve

_CUTOFF, _MEAN, _IA, _AT = "cutoff", "mean", "ia", "@"


class _GeometricMean(Agg):
    def __init__(self, metric: Metric) -> None:
        self._metric, self._scores = resolve(f"{metric.name}({_MEAN}=geometric)", Scale(1, intents=True)), list[float]()

    def add(self, value: float) -> None:
        self._scores.append(value)

    def result(self) -> float:
        return float(mean_of(self._metric, np.array(self._scores))) if self._scores else float("nan")


class GainboardMeasure(measures.Measure):
    """A metric of Gainboard."""

    metric: Metric

    def __init__(self, **params: Any) -> None:
        if unknown := sorted(params.keys() - self.SUPPORTED_PARAMS.keys()):
            available = ", ".join(sorted(self.SUPPORTED_PARAMS))
            raise BadExpression(f"{self.NAME} has no parameter {unknown[0]}. Available: {available}")
        super().__init__(**params)  # type: ignore[no-untyped-call]

    @classmethod
    def of(cls, metric: Metric) -> GainboardMeasure:
        """Return the measure of a metric, with its parameters."""
        parameters = {
            parameter.name: measures.ParamInfo(
                default=parameter.default, desc=f"{parameter.description} ({parameter.limits})"
            )
            for parameter in metric.parameters
        }
        if metric.takes_cutoff:
            parameters[_CUTOFF] = measures.ParamInfo(desc="the last rank that counts")
        name = metric.name.replace("-", "")  # which a name in Python cannot have
        fields = {"NAME": name, "__name__": name, "PRETTY_NAME": metric.title, "SHORT_DESC": metric.title}
        members = {**fields, "__doc__": metric.definition, "metric": metric, "SUPPORTED_PARAMS": parameters}
        measure: GainboardMeasure = type(name, (cls,), members)()
        return measure

    @property
    def expression(self) -> str:
        """The expression of the metric with the parameters of this measure."""
        parameters = {
            name: str(value).lower() if isinstance(value, bool) else value for name, value in self.params.items()
        }
        cutoff = parameters.pop(_CUTOFF, None)
        arguments = ",".join(f"{name}={value}" for name, value in parameters.items())
        return self.metric.name + (f"({arguments})" if arguments else "") + ("" if cutoff is None else f"@{cutoff}")

    @property
    def by_intent(self) -> bool:
        """True if the judgments are read by intent, which is what ir_measures calls an iteration."""
        return self.metric.needs_intents or self.params.get(_IA, "false") != "false"

    def aggregator(self) -> Agg:
        """Return what makes the mean of scores by topic."""
        if self.params.get(_MEAN) == "geometric":
            return _GeometricMean(self.metric)
        return super().aggregator()


class GainboardEvaluator(providers.Evaluator):
    """Scores runs by one set of judgments."""

    def __init__(self, measures: Iterable[Any], qrels: Any) -> None:
        measures, judged = list(measures), QrelsConverter(qrels)
        if any(measure.by_intent for measure in measures):
            self._judgments = FileJudgments.of(judged.as_namedtuple_iter(), intents=True)
        else:
            self._judgments = FileJudgments.of(judged.as_dict_of_dict())
        self._metrics = [self._judgments.metrics([measure.expression])[0][0] for measure in measures]
        super().__init__(measures, set(self._judgments.index.topics.topics))

    def iter_calc(self, run: Any) -> Iterator[ir_measures.Metric]:
        """Yield the score of each measure for each topic that has one."""
        judgments = self._judgments
        rankings = RunConverter(run).as_dict_of_dict().items()
        judged = {topic: ranking for topic, ranking in rankings if topic in judgments.index.rows and ranking}
        # Here, a run without a judged topic is no mistake of its file: what it misses scores as missing.
        judged_run = judgments.run(judged, "run")[0] if judged else make_empty_run(len(judgments.index.rows))
        scores = judgments.scores(self._metrics, [judged_run])[:, 0]
        for measure, of_topics in zip(self.measures, scores.tolist(), strict=True):
            for topic, score in zip(judgments.index.topics.topics, of_topics, strict=True):
                if score == score:  # it is NaN where the measure is undefined
                    yield ir_measures.Metric(topic, measure, score)


class GainboardProvider(providers.Provider):
    """Computes the measures of this module."""

    NAME = "gainboard"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def supports(self, measure: measures.Measure) -> bool:
        """Return whether the measure is one of Gainboard's, whose values of parameters are checked with the levels."""
        return isinstance(measure, GainboardMeasure)

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> GainboardEvaluator:
        return GainboardEvaluator(measures, qrels)


def parse_measure(measure: str) -> measures.Measure:
    """Return the measure of a text such as `Q(beta=10,gains='3:2:1')@20`, as `ir_measures.parse_measure` does.

    That of ir_measures 0.4 warns from Python 3.12 on, and fails from 3.14 on. Raise ValueError for another syntax, and
    NameError for an unknown name.
    """
    try:
        node: ast.expr = ast.parse(measure, mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"{measure!r} is not a measure: {error.msg}") from error
    parameters: dict[str, Any] = {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        parameters[_AT] = ast.literal_eval(node.right)
        node = node.left
    if isinstance(node, ast.Call) and not node.args:
        parameters |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        node = node.func
    if not isinstance(node, ast.Name):
        raise ValueError(f"{measure!r} is not a measure. Write a name, NAME(key=value) or NAME(key=value)@cutoff.")
    if (named := measures.registry.get(node.id)) is None:
        raise NameError(f"There is no measure {node.id!r}.")
    # What a cut-off is called depends on the measure, which is known only now.
    if _AT in parameters:
        parameters[named.AT_PARAM] = parameters.pop(_AT)
    parsed: measures.Measure = named(**parameters)
    return parsed


MEASURES: Final[Mapping[str, GainboardMeasure]] = {
    str(measure.NAME): measure
    # Its tables of judgments have neither memberships nor strata.
    for measure in (GainboardMeasure.of(metric) for metric in every_metric() if not metric.needs_annotations)
    if measure.NAME not in measures.registry
}
"""The measures by name."""

__all__ = ["MEASURES", "GainboardEvaluator", "GainboardMeasure", "GainboardProvider", "parse_measure", *MEASURES]  # noqa: PLE0604


def __getattr__(name: str) -> GainboardMeasure:
    try:
        return MEASURES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no measure {name!r}") from None


PROVIDER: Final = providers.register(GainboardProvider())
ir_measures.DefaultPipeline.providers.append(PROVIDER)
for _measure in MEASURES.values():
    measures.register(_measure)


def _read_utf8(read: Callable[[TextIO], Iterator[Any]], path: str) -> Iterator[Any]:
    """Read a file as UTF-8 by a function of ir_measures, which reads it in the encoding of the locale."""
    with gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8") as file:
        yield from read(file)


if __name__ == "__main__":
    ir_measures.parse_measure = parse_measure  # of this process, whose command it is
    ir_measures.read_trec_qrels = partial(_read_utf8, ir_measures.read_trec_qrels)
    ir_measures.read_trec_run = partial(_read_utf8, ir_measures.read_trec_run)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        main_cli()
    except GainboardError as error:
        sys.exit(f"gainboard: {error}")
