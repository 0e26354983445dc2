"""web-track-diversity: the runs by the measures that TREC's Web track printed for its diversity task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gainboard.analyses.difficulty import DifficultyResult
from gainboard.analyses.rank_correlation import RankCorrelationResult
from gainboard.analyses.report_items import LeftOut, ReportFigure, ReportItem, ReportTable
from gainboard.analyses.report_kinds import About, JobResults, Needed, ReportKind, ReportParams, enter
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.metrics.vocabularies import NDEVAL

RUNS, TOPICS = "runs", "topics"
CUTOFFS = (5, 10, 20)
FIRST = "ERR-IA@20"
"""The measure by which the track ranked its runs."""
MEASURES: Mapping[str, Sequence[str]] = {
    name: [f"@{cutoff}" for cutoff in CUTOFFS] if word.cutoff == "must" else [""] for name, word in NDEVAL.words.items()
}
"""Maps ndeval's measures to their cut-offs."""
NAMES = {name + cutoff: NDEVAL.translate(name + cutoff) for name, its in MEASURES.items() for cutoff in its}
"""Maps what ndeval prints to our expressions."""
COMPARED = (FIRST, "nERR-IA@20", "alpha-nDCG@20", "P-IA@20", "MAP-IA", "strec@20")
DRAWN = (FIRST, "alpha-nDCG@20")


class WebTrackParams(ReportParams):
    """The measures that ndeval prints, for collections with intents. Table 1 has the means of all runs, the best by
    ERR-IA@20 first. Table 2 has Kendall's tau between the rankings by these measures. Figure 1 shows the topics by the
    mean of all runs, the hardest by ERR-IA@20 first.

    alpha and the p of NRBP are 0.5. P-IA and MAP-IA are averages over the intents of a topic that have a relevant
    document, without the probabilities of intents. strec is the recall of intents (subtopics), Irec.
    """


def _plan(about: About, params: WebTrackParams) -> Iterator[Needed | LeftOut]:
    if not about.intents:
        yield LeftOut("Tables 1-2 and Figure 1", "The collection has no judgments by intent (subtopic).")
        return
    correlated = {"metrics": list(NAMES.values()), "coefficients": ["kendall"]}
    yield Needed(RUNS, "rank-correlation", correlated, "Tables 1-2")
    yield Needed(TOPICS, "difficulty", {"metrics": [NAMES[name] for name in DRAWN]}, "Figure 1")


def _lay_out(results: JobResults, params: WebTrackParams) -> Iterator[ReportItem]:
    if correlated := results.find(RUNS, RankCorrelationResult):
        labels = dict(zip(NAMES, correlated.metrics, strict=True))
        yield ReportTable("Table 1", _runs(correlated, labels), has_average=False)
        yield ReportTable("Table 2", _correlations(correlated, labels))
    if topics := results.find(TOPICS, DifficultyResult):
        yield ReportFigure("Figure 1", _topics(topics))


def _runs(result: RankCorrelationResult, labels: Mapping[str, str]) -> Table:
    """Return a row with the means of each run."""
    means = [result.means[label] for label in labels.values()]
    rows = [[run, *values] for run, *values in zip(result.runs, *means, strict=True)]
    column = 1 + list(labels).index(FIRST)
    # A run has no mean if no topic has a relevant document.
    rows.sort(key=lambda row: (row[column] is None, -(row[column] or 0.0), row[0]))
    columns = [
        Column(cutoff or name, digits=4, group=name if cutoff else "")
        for name, its in MEASURES.items()
        for cutoff in its
    ]
    caption = f"Means of {len(rows)} runs, the best by {FIRST} first."
    legend = "; ".join(f"{name}: {label}" for name, label in labels.items())
    return Table("runs", caption, [Column("run", align="left"), *columns], rows, notes=[f"{legend}."])


def _correlations(result: RankCorrelationResult, labels: Mapping[str, str]) -> Table:
    """Return Kendall's tau between the rankings of the runs."""
    places = [list(labels).index(name) for name in COMPARED]
    taus = result.coefficients["kendall"]
    rows = [
        [name, *(taus[row][column] if column > row else None for column in places[1:])]
        for name, row in zip(COMPARED[:-1], places, strict=False)
    ]
    columns = [Column("measure", align="left"), *(Column(name, digits=3) for name in COMPARED[1:])]
    caption = f"Kendall's tau-b between the rankings of {len(result.runs)} runs."
    return Table("correlations", caption, columns, rows)


def _topics(result: DifficultyResult) -> Figure:
    """Return the mean of all runs by topic."""
    by_measure = {name: metric.by_topic for name, metric in zip(DRAWN, result.metrics, strict=True)}
    topics = sorted(by_measure[FIRST], key=lambda topic: (topic.mean, topic.topic))
    names = [topic.topic for topic in topics]
    means = {name: {topic.topic: topic.mean for topic in its} for name, its in by_measure.items()}
    places = list(range(len(names)))
    series = [Series(name, places, [its[topic] for topic in names]) for name, its in means.items()]
    panel = Panel(Axis(f"topics, sorted by {FIRST}", categories=names), Axis("mean over runs"), series)
    return Figure("topics", f"Mean of {len(result.runs)} runs on each of {len(names)} topics.", [panel])


WEB_TRACK_DIVERSITY = enter(
    ReportKind(
        name="web-track-diversity",
        title="Diversity in the form of TREC's Web track",
        reference="Clarke, Craswell, Soboroff and Cormack, Overview of the TREC 2010 Web Track, TREC 2010",
        params_model=WebTrackParams,
        plan=_plan,
        lay_out=_lay_out,
        example_collection="diverse",  # the demo has no intents
    )
)
