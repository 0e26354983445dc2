"""The queries of requests: their fields, once, for the API, the client, commands and pages.

A query is a `TypedDict` without required fields, and its values are what was sent. `Said` tells of a field what its
type cannot. The API validates and describes these fields, the client's methods take them by `Unpack`, and options of
commands and forms of pages repeat what is said of them. Nothing here needs Pydantic, so that `--help` stays quick.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

# Pydantic takes a TypedDict of `typing` from Python 3.12 on only.
from typing_extensions import TypedDict, get_type_hints

from gainboard.notation.texts import LONGEST_TEXT, SLUG_PATTERN, TEXT_PATTERN
from gainboard.vocabulary import (
    OFFICIAL,
    Action,
    Columns,
    DirectionSaid,
    JobState,
    LateShown,
    MatrixForm,
    Names,
    Resample,
    Standardisation,
    Stray,
    TiesAsked,
)

MOST_ITEMS: Final = 500
"""The most items of a page of a list."""
LONGEST_WAIT: Final = 30
"""The longest time, in seconds, that a request may wait for the end of a job or report."""
MOST_METRICS: Final = 200
"""The largest number of expressions in one request."""
MOST_IMPACT_METRICS: Final = 10
"""The most expressions in a request for the impact of a version."""
MOST_GROUPS: Final = 200
"""The most topic groups of a collection."""
MOST_REFERENCE: Final = 200
MOST_RUNS: Final = 10_000
MOST_PRIORITY: Final = 10_000
MOST_POINTS: Final = 2000
"""The most combinations of parameters times metrics, counted before equal metrics are merged."""
LONGEST_PARAMETER: Final = 1000
LAST_VERSION: Final = 2**31 - 1

Parameter: TypeAlias = str | float | bool | None
"""The value of a metric's parameter. The server reads its text."""
ParameterT = TypeVar("ParameterT")


@dataclass(frozen=True, kw_only=True)
class Said:
    """The description of a field besides its type: a text, its limits, and what holds without it.

    `shortest`, `longest` and `pattern` are about a text, or about each text of a list.
    """

    description: str = ""
    default: Any = None
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    shortest: int | None = None
    longest: int | None = None
    pattern: str | None = None
    most_items: int | None = None
    examples: Sequence[Any] = ()
    is_required: bool = False
    metavar: str = ""
    option: str = ""
    """The help of a command's option, where the description speaks of names that a command writes in another way."""
    flag: str = ""
    """The flag of that option, where it is not that of the name."""


@dataclass(frozen=True)
class QueryField:
    """A field of a query: its name, its type or that of its items, and what is said of it."""

    name: str
    type: Any
    annotation: Any
    """The type as a query has it."""
    said: Said
    is_list: bool
    is_optional: bool
    """True if nothing holds in place of a value that was not sent. Python callers may give None for each field."""

    @property
    def choices(self) -> Sequence[str]:
        """The values that the field may have; none if there is no list of them."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@cache  # resolving the annotations of one query takes a millisecond, and readers, calls and options all ask for them
def fields_of(query: type) -> Mapping[str, QueryField]:
    """Return the fields of a query by name, without the parameters of metrics, which their catalogue describes."""
    hints: Mapping[str, Any] = get_type_hints(query, include_extras=True)
    return {name: _field(name, *get_args(hint)) for name, hint in hints.items() if get_origin(hint) is Annotated}


def _field(name: str, written: Any, said: Said) -> QueryField:
    alternatives = get_args(written) if get_origin(written) in (Union, UnionType) else (written,)
    kinds = [each for each in alternatives if each is not NoneType]
    # A query has text, so whatever has several types is one. Python callers may give a time as a text, too.
    kind = kinds[0] if len(kinds) == 1 else datetime if datetime in kinds else str
    is_list = get_origin(kind) is Sequence
    is_optional = NoneType in alternatives and said.default is None
    return QueryField(name, get_args(kind)[0] if is_list else kind, written, said, is_list, is_optional)


def parameters_type(query: Any) -> Any:
    """Return the type of the values of metrics' parameters in a query; None for a query without them."""
    for base in getattr(query, "__orig_bases__", ()):
        if get_origin(base) is MetricParameters:
            return get_args(base)[0]
        if (kind := parameters_type(base)) is not None:
            return kind
    return None


class MetricParameters(TypedDict, Generic[ParameterT], total=False):
    """The parameters of metrics, for type checkers. The catalogue says what they mean, and refuses one without a line.

    In a query they are defaults for all its metrics. A metric ignores those that it lacks.
    """

    # By hand, because type checkers cannot read a catalogue, and PEP 728 (`extra_items`) is beyond mypy.
    b: ParameterT
    base: ParameterT
    beta: ParameterT
    condensed: ParameterT
    gains: ParameterT
    gamma: ParameterT
    ia: ParameterT
    mean: ParameterT
    multiple: ParameterT
    p: ParameterT
    recall: ParameterT
    recall_base: ParameterT
    rel: ParameterT
    rounding: ParameterT
    srs: ParameterT
    stop_scale: ParameterT
    stops: ParameterT
    urs: ParameterT
    weight: ParameterT


JudgmentsName: TypeAlias = Annotated[
    str | None,
    Said(
        description="Name of a judgment set",
        default=OFFICIAL,
        pattern=SLUG_PATTERN,
        metavar="SET",
        option="a judgment set (default: the official one)",
    ),
]
LateRuns: TypeAlias = Annotated[
    LateShown | None,
    Said(description="`exclude` leaves out late runs, which came after the release", default="include"),
]
TopicsChoice: TypeAlias = Annotated[
    str | None,
    Said(
        description="`all`, or the name of a topic group: scores are then over its topics alone. Only principals who "
        "may see scores under any parameters may name a group",
        shortest=1,
        longest=128,
        metavar="GROUP",
        option="a topic group: scores over its topics alone (default: all)",
    ),
]
CHOSEN_RUNS: Final = Said(
    description="Names of runs; all runs that the token may see by default", most_items=MOST_RUNS, metavar="RUN"
)
FORMAT: Final = Said(description="Overrides the Accept header")


class JudgmentsQuery(TypedDict, total=False):
    """The query of a request about the versions of a judgment set."""

    judgments: JudgmentsName


class VersionQuery(JudgmentsQuery, total=False):
    """The part of every query about scores that names a qrels version."""

    qrels: Annotated[
        int | None,
        Said(
            description="Number of a qrels version of the set; the newest by default",
            least=1,
            most=LAST_VERSION,
            metavar="VERSION",
        ),
    ]


class MetricsQuery(TypedDict, total=False):
    """The metrics of a request."""

    metric: Annotated[
        Sequence[str],
        Said(
            description="Metric expressions; the collection's defaults if none is given",
            most_items=MOST_METRICS,
            examples=[["nDCG@10"]],
            metavar="METRIC",
        ),
    ]


class ScoringOptions(MetricParameters[Parameter], VersionQuery, total=False):
    """The options of every request for scores, besides its metrics and topics."""

    late: LateRuns
    names: Annotated[
        Names | None,
        Said(
            description="The tool whose names the expressions use. Each name means what that tool computes, whatever "
            "the other parameters are",
            default="gainboard",
            option="the tool whose names -m uses: each means what that tool computes (default: gainboard)",
        ),
    ]


class UsersQuery(TypedDict, total=False):
    """The part of a query that asks for the numbers of users."""

    cwl: Annotated[
        bool | None,
        Said(
            description="Adds, as JSON, the mean numbers of the users (C/W/L) of RBP, ERR, P@k, RR, INST, INSQ and "
            "CWL. Only principals who may see the judgments get them",
            default=False,
        ),
    ]


class NumbersOptions(ScoringOptions, UsersQuery, total=False):
    """The options of a request for scores that may have other numbers beside them."""

    bounds: Annotated[
        bool | None,
        Said(
            description="Adds, as JSON, the means if every unjudged document retrieved were nonrelevant, and if it "
            "were of the highest level, in the ideal, too. Only principals who may see the judgments get them",
            default=False,
        ),
    ]


class ScoresOptions(NumbersOptions, total=False):
    """The options of a request for the scores of some runs, besides their names, metrics and topics."""

    ties: Annotated[
        TiesAsked | None,
        Said(
            description="Adds scores under other orders of documents with equal retrieval scores, as JSON: `range`, "
            "the worst and the best order, or `expected`, the mean over all orders. Only principals who may see the "
            "judgments get them"
        ),
    ]


class ScoresQuery(MetricsQuery, ScoresOptions, total=False):
    """The query of a request for the scores of some runs."""

    run: Annotated[Sequence[str] | None, CHOSEN_RUNS]
    topics: Annotated[
        str | None,
        Said(
            description="`all` adds the score of each topic. The name of a topic group adds the score of each of its "
            "topics, and means are over these alone",
            shortest=1,
            longest=128,
            metavar="GROUP",
        ),
    ]
    format: Annotated[Literal["json", "csv", "trec_eval"] | None, FORMAT]


class RankingOptions(ScoringOptions, total=False):
    """The options of a request that ranks runs, besides its metrics."""

    topics: TopicsChoice
    by: Annotated[
        str | None,
        Said(
            description="The metric that ranks the runs. The default is the first metric",
            metavar="METRIC",
            option="the metric to rank by (default: the first)",
        ),
    ]


class ReplicatesOptions(TypedDict, total=False):
    """The options of a request that takes the replicates of a system together."""

    resample: Annotated[
        Resample | None,
        Said(description="What intervals, groups and tests draw anew of systems with replicates", default="topics"),
    ]
    repeats: Annotated[
        Sequence[str],
        Said(description="More judgment sets of the same judge: replicates", pattern=SLUG_PATTERN, most_items=99),
    ]


class BoardOptions(RankingOptions, ReplicatesOptions, NumbersOptions, total=False):
    """The options of a request for a board: its columns, and which runs it has."""

    by_group: Annotated[
        Sequence[str],
        Said(
            description="Names of topic groups, each of which adds the means over its topics; `all` names all groups. "
            "Only principals who may see scores under any parameters get them",
            shortest=1,
            longest=128,
            most_items=MOST_GROUPS,
            metavar="GROUP",
            option="a topic group, for a column with the means over its topics; all: every group",
        ),
    ]
    standardise: Annotated[
        Standardisation | None,
        Said(
            description="Standardise each score by its topic: `normal` is Phi of (score - mean) / standard deviation "
            "over the reference runs, `linear` is 0.15 times that plus 0.5, within 0 to 1, and `empirical` is the "
            "share of the reference runs that score no higher",
            option="standardise the scores of each topic over the runs of --reference",
        ),
    ]
    reference: Annotated[
        Sequence[str],
        Said(
            description="The reference runs of `standardise`, at least two",
            most_items=MOST_REFERENCE,
            metavar="RUN",
            option="a reference run of --standardise; two or more",
        ),
    ]
    best_per_team: Annotated[
        bool | None,
        Said(
            description="Show of each team its best run alone by the metric `by`, and of equal ones the first by name. "
            "Ranks, groups and rank sets are among these runs",
            default=False,
            option="show of each team its best run alone",
        ),
    ]
    corrected_by: Annotated[
        str | None,
        Said(
            description="A judgment set of people, on a random sample of the topics, that corrects the means under "
            "`judgments`. Principals who may see both sets get them. Of the scores of answers, it is a judge; of other "
            "uploaded scores, a score matrix",
            pattern=SLUG_PATTERN,
            metavar="SET",
        ),
    ]
    exclude_family: Annotated[
        Sequence[str],
        Said(
            description="Families of models whose runs are left out, such as that of the judge, before runs are ranked",
            shortest=1,
            longest=128,
            most_items=MOST_GROUPS,
            metavar="FAMILY",
        ),
    ]


class LeaderboardOptions(BoardOptions, total=False):
    """The options of a request for a leaderboard, besides its metrics and its format."""

    top: Annotated[
        int | None,
        Said(
            description="The number of rows. Ranks, groups and rank sets are those of all runs",
            least=1,
            most=100_000,
            metavar="ROWS",
            option="the first rows alone (default: all)",
        ),
    ]


class LeaderboardQuery(MetricsQuery, LeaderboardOptions, total=False):
    """The query of a request for a leaderboard in a format."""

    format: Annotated[Literal["json", "csv", "latex", "markdown", "bibtex", "csl", "sentence"] | None, FORMAT]
    run: Annotated[Sequence[str] | None, CHOSEN_RUNS]


class CompareOptions(MetricParameters[Parameter], VersionQuery, ReplicatesOptions, total=False):
    """The options of a request for a comparison, besides its runs and metrics."""

    margin: Annotated[
        float | None,
        Said(
            description="Asks whether the runs are equivalent (TOST): the largest mean difference that does not "
            "matter, in the units of the metric, stated before the scores were seen",
            above=0,
            most=1e9,
            examples=[0.02],
            metavar="X",
        ),
    ]
    topics: TopicsChoice
    names: Annotated[Names | None, Said(description="The tool whose names the expressions use", default="gainboard")]


class ComparedRunsQuery(MetricsQuery, CompareOptions, total=False):
    """The query of a request for a comparison."""

    run: Annotated[
        Sequence[str] | None,
        Said(
            description="The names of the two runs: `run=FIRST&run=SECOND`. With baselines, the names of any number of "
            "runs; all others by default",
            most_items=MOST_RUNS,
            metavar="RUN",
        ),
    ]
    baseline: Annotated[
        Sequence[str],
        Said(
            description="Names of baselines: the other runs are compared with each of them",
            most_items=100,
            metavar="RUN",
        ),
    ]


class CompareQuery(ComparedRunsQuery, total=False):
    """The query of a request for a comparison in a format."""

    format: Annotated[Literal["json", "csv"] | None, FORMAT]


class SweepOptions(MetricParameters[Parameter | Sequence[Parameter]], VersionQuery, total=False):
    """The options of a request for a sweep, besides its metrics and runs: each parameter may have several values."""

    topics: TopicsChoice
    late: LateRuns


class SweepQuery(MetricsQuery, SweepOptions, total=False):
    """The query of a request for a sweep."""

    run: Annotated[Sequence[str] | None, CHOSEN_RUNS]
    format: Annotated[Literal["json", "csv"] | None, FORMAT]


DEEPEST: Final = Said(description="The deepest rank to show", default=100, least=1, most=10_000, metavar="N")


class TopicRankingsQuery(VersionQuery, total=False):
    """The query of a request for the rankings of a topic."""

    depth: Annotated[int | None, DEEPEST]
    late: LateRuns


class RunProfileQuery(VersionQuery, total=False):
    """The query of a request for the curves of a run."""

    gains: Annotated[str | None, Said(longest=LONGEST_PARAMETER)]
    rel: Annotated[str | float | None, Said(default="1", longest=LONGEST_PARAMETER)]
    depth: Annotated[int | None, DEEPEST]


class IdentifyQuery(VersionQuery, total=False):
    """The query of a request for what gives a number."""

    number: Annotated[
        Sequence[str], Said(description="Mean scores as printed", longest=40, most_items=20, is_required=True)
    ]
    called: Annotated[str, Said(description="What a tool or a paper calls the metric; any by default", longest=100)]


class ImpactOptions(MetricParameters[Parameter], total=False):
    """The options of a request for the impact of a version, besides its metrics and runs."""

    judgments: JudgmentsName
    against: Annotated[
        int | None,
        Said(
            description="The version to compare with; the published one by default",
            least=1,
            most=LAST_VERSION,
            metavar="VERSION",
        ),
    ]
    against_judgments: Annotated[
        str | None,
        Said(
            description="The judgment set of that version; the same set by default",
            pattern=SLUG_PATTERN,
            metavar="SET",
        ),
    ]
    alpha: Annotated[
        float | None, Said(description="Significance level", default=0.05, above=0, below=1, metavar="ALPHA")
    ]


class ImpactQuery(ImpactOptions, total=False):
    """The query of a request for the impact of a version."""

    metric: Annotated[
        Sequence[str],
        Said(
            description="Metric expressions; the collection's defaults if none is given",
            most_items=MOST_IMPACT_METRICS,
            examples=[["nDCG@10"]],
            metavar="METRIC",
        ),
    ]
    run: Annotated[
        Sequence[str] | None,
        Said(description="Names of runs; all runs by default", most_items=MOST_RUNS, metavar="RUN"),
    ]
    format: Annotated[Literal["json", "csv"] | None, FORMAT]


class PageQuery(TypedDict, total=False):
    """The query of a request for a page of a list."""

    limit: Annotated[int, Said(description="Items per page", default=50, least=1, most=MOST_ITEMS)]
    cursor: Annotated[str | None, Said(description="`next_cursor` of the previous page")]


class RunsQuery(TypedDict, total=False):
    """The query of a request for the runs of a collection."""

    late: LateRuns


class TopicGroupsQuery(TypedDict, total=False):
    """The query of a request for the topic groups of a collection."""

    format: Annotated[Literal["json", "csv"] | None, FORMAT]


class JobsQuery(TypedDict, total=False):
    """The query of a request for jobs."""

    collection: Annotated[str | None, Said(description="Only jobs about this collection")]
    kind: Annotated[str | None, Said(description="Only jobs of this kind")]
    state: Annotated[JobState | None, Said(description="Only jobs in this state", metavar="STATE")]


class ReportsQuery(TypedDict, total=False):
    """The query of a request for reports."""

    collection: Annotated[str | None, Said(description="Only reports about this collection")]
    name: Annotated[
        str | None,
        Said(
            description="Only reports of this name", flag="--kind", metavar="KIND", option="only reports of this kind"
        ),
    ]


class WaitQuery(TypedDict, total=False):
    """The query of a request for a job or report that may wait for its end."""

    wait: Annotated[
        float, Said(description="Seconds to wait for the end of the work", default=0, least=0, most=LONGEST_WAIT)
    ]


class JobResultQuery(TypedDict, total=False):
    """The query of a request for the result of a job."""

    format: Annotated[Literal["json", "csv", "latex"] | None, FORMAT]
    table: Annotated[str | None, Said(description="Name of the table for CSV or LaTeX; the first table by default")]


class ReportResultQuery(TypedDict, total=False):
    """The query of a request for the result of a report."""

    format: Annotated[
        Literal["json", "latex"] | None, Said(description=f"{FORMAT.description}; LaTeX contains only the tables")
    ]


class PairsQuery(TypedDict, total=False):
    """The query of a request for the pairs of runs that a job has tested."""

    metric: Annotated[str | None, Said(description="Only under this metric, given by its label in the result")]
    run: Annotated[str | None, Said(description="Only pairs with this run")]
    significant: Annotated[
        float | None,
        Said(
            description="Only pairs whose significance level is below this value; the corrected level, if there is one",
            above=0,
            most=1,
        ),
    ]


class AuditOptions(TypedDict, total=False):
    """The options of a request for entries of the audit log, besides its format."""

    action: Annotated[
        Action | None,
        Said(
            description="Only changes of this kind",
            metavar="ACTION",
            option="only changes of this kind, for example run-uploaded",
        ),
    ]
    since: Annotated[
        datetime | str | None,
        Said(
            description="Only changes at this time or later",
            metavar="TIME",
            option="only changes from this time, for example 2026-12-01T12:00:00Z",
        ),
    ]


class AuditQuery(AuditOptions, total=False):
    """The query of a request for entries of the audit log in a format."""

    format: Annotated[
        Literal["json", "ndjson"] | None,
        Said(
            description="`json` returns one page, `ndjson` returns all entries as JSON lines; overrides the Accept "
            "header"
        ),
    ]


class ArchiveQuery(TypedDict, total=False):
    """The query of a request for the folder of a release."""

    log: Annotated[bool | None, Said(description="Whether the folder has the history of the release", default=True)]


TEXT: Final = Said(pattern=TEXT_PATTERN, longest=LONGEST_TEXT)


class RunUploadQuery(TypedDict, total=False):
    """The query of an upload of a run."""

    team: Annotated[
        str | None,
        Said(description="Required for organisers; a new name creates the team", pattern=SLUG_PATTERN, metavar="TEAM"),
    ]
    name: Annotated[
        str | None, Said(description="The run tag of the file by default", pattern=SLUG_PATTERN, metavar="NAME")
    ]
    description: Annotated[str | None, TEXT]
    type: Annotated[str | None, Said(description="For example `automatic`", pattern=TEXT_PATTERN, longest=LONGEST_TEXT)]
    pooled: Annotated[bool | None, Said(description="Whether the run's documents go into the pool", default=True)]
    priority: Annotated[
        int | None,
        Said(
            description="Place among the runs of its team: a pool may take the first ones",
            least=1,
            most=MOST_PRIORITY,
            metavar="N",
        ),
    ]
    system: Annotated[
        str | None,
        Said(description="The system of which the run is a replicate, such as one seed", pattern=SLUG_PATTERN),
    ]
    replicate: Annotated[
        str | None, Said(description="What tells the run from other replicates, such as a seed", pattern=SLUG_PATTERN)
    ]
    family: Annotated[
        str | None,
        Said(description="Family of the models that it was built with", pattern=SLUG_PATTERN, metavar="FAMILY"),
    ]


class QrelsUploadQuery(TypedDict, total=False):
    """The query of an upload of qrels."""

    columns: Annotated[
        Columns | None,
        Said(
            description="How to read the columns of the file, if they can be read in several ways",
            option="the layout (default: guessed from the lines)",
        ),
    ]
    draft: Annotated[
        bool | None,
        Said(
            description="Keep the version unpublished: only organisers see it",
            default=False,
            option="do not publish it yet",
        ),
    ]
    judgments: Annotated[
        str | None,
        Said(
            description="Name of the judgment set. A new name makes a set, which only organisers see until they "
            "release it",
            default=OFFICIAL,
            pattern=SLUG_PATTERN,
            metavar="SET",
            option="a judgment set (default: the official one)",
        ),
    ]
    pool: Annotated[
        str | None,
        Said(
            description="Id of the job that made the pool: warnings tell which of its documents are not judged, and "
            "which judged ones are not in it",
            pattern=SLUG_PATTERN,
            metavar="JOB",
            option="warn how the judgments differ from the pool that this job made",
        ),
    ]


class ScoreMatrixUploadQuery(TypedDict, total=False):
    """The query of an upload of scores."""

    direction: Annotated[
        DirectionSaid | None,
        Said(description="Whether higher (`up`) or lower (`down`) scores are better", default="up"),
    ]
    low: Annotated[
        float | None,
        Said(
            description="The lowest score that is possible. With a range, scores outside of it are faults", metavar="X"
        ),
    ]
    high: Annotated[float | None, Said(description="The highest score that is possible", metavar="X")]
    missing: Annotated[
        str | float | None,
        Said(
            description="What a missing score is: a number, `zero` (direction up only), `drop-topic`, which leaves out "
            "the topic, `leave-out`, which leaves out the score, or `refuse`. By default it is a fault; in a "
            "collection of scores, it is left out",
            longest=32,
            metavar="VALUE",
        ),
    ]
    format: Annotated[
        MatrixForm | None,
        Said(
            description="The form of the file; guessed by default",
            flag="--as",
            option="the form of the file (default: guessed)",
        ),
    ]
    measure: Annotated[
        str | None, Said(description="The measure to read, if the file has several", longest=128, metavar="MEASURE")
    ]
    run: Annotated[
        str | None,
        Said(description="The run of a file of trec_eval, which may lack `runid`", longest=128, metavar="RUN"),
    ]


StrayLabels: TypeAlias = Annotated[
    Stray | None,
    Said(
        description="What a label is that is none of the known ones, such as `failed`: a fault; or with `count`, a "
        "nugget that is neither vital nor okay counts for `all` alone, and another verdict as none",
        default="refuse",
        option="count labels that are none of the known ones as nothing (default: refuse the file)",
    ),
]


class NuggetsUploadQuery(TypedDict, total=False):
    """The query of an upload of nuggets."""

    draft: Annotated[
        bool | None,
        Said(
            description="Keep the version unpublished: only organisers see it",
            default=False,
            option="do not publish it yet",
        ),
    ]
    stray: StrayLabels


class VerdictsUploadQuery(TypedDict, total=False):
    """The query of an upload of what a judge says of answers."""

    stray: StrayLabels
    sample: Annotated[
        bool | None,
        Said(
            description="The judge has judged some topics alone: a topic without a verdict has no score, and not 0",
            default=False,
            option="the judge has judged some topics alone: others have no score, and not 0",
        ),
    ]
    team: Annotated[
        str | None,
        Said(
            description="The team of runs that are new; by default, each has one that is named like it",
            pattern=SLUG_PATTERN,
            longest=128,
            metavar="TEAM",
        ),
    ]


class ScoreMatrixOptions(TypedDict, total=False):
    """The options of a request for a score matrix, besides its format."""

    version: Annotated[
        int | None, Said(description="The number of a version; the newest by default", least=1, most=LAST_VERSION)
    ]


class ScoreMatrixQuery(ScoreMatrixOptions, total=False):
    """The query of a request for a score matrix in a format."""

    format: Annotated[Literal["json", "csv"] | None, FORMAT]


def completed(query: type, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return each field of a query with its value, or with its default if it was not sent."""
    defaults = {name: [] if field.is_list else field.said.default for name, field in fields_of(query).items()}
    return {**defaults, **asked}
