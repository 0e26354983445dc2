"""Calls about collections and what organisers put into them: qrels, teams, tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from gainboard.api.models.admin import CreatedToken, TeamAnswer, TokenAnswer
from gainboard.api.models.collections import CollectionAnswer, TopicGroupAnswer, WholeTopicGroup
from gainboard.api.models.common import Page
from gainboard.api.models.judgments import (
    ImpactAnswer,
    JudgeAnswer,
    JudgmentSetAnswer,
    NuggetCounts,
    NuggetsAnswer,
    QrelsAnswer,
    SurveyAnswer,
)
from gainboard.api.models.releases import ImportedRelease, ReleaseAnswer, WholeRelease
from gainboard.api.models.runs import MatrixAnswer, WholeMatrix
from gainboard.client.connections import call, listing
from gainboard.client.requests import (
    Call,
    Pages,
    Request,
    Upload,
    api_path,
    delete,
    of_collection,
    read_bytes,
    read_model,
    read_text,
    save_file,
)
from gainboard.notation.queries import (
    ArchiveQuery,
    ImpactOptions,
    JudgmentsQuery,
    NuggetsUploadQuery,
    QrelsUploadQuery,
    ScoreMatrixOptions,
    ScoreMatrixUploadQuery,
    VerdictsUploadQuery,
)
from gainboard.notation.sources import Source, Table, as_qrels
from gainboard.vocabulary import OFFICIAL, CollectionKind, OrderBy, Role, SetState


class CollectionSettings(TypedDict, total=False):
    """Settings of a collection, as in the API. `policy` is an object with the fields to set."""

    title: str
    gains: str
    depth: int
    order_by: OrderBy
    ignore_identical_ids: bool
    intents: bool
    topics: Sequence[str] | None
    queries: dict[str, str] | None
    metrics: Sequence[str] | None
    policy: dict[str, Any]
    public: bool
    sample_of: str | None


class CollectionChanges(CollectionSettings, total=False):
    """Settings to change.

    `levels`, `depth` and `intents` can change only while nothing is stored. `order_by` and
    `ignore_identical_ids` can change after that, alone.
    """

    levels: int | Sequence[str]


class TokenChanges(TypedDict, total=False):
    """Changes that a rotation makes besides the secret. With an `expires_at` of None the token does not expire."""

    expires_at: datetime | str | None


class ReleaseSettings(TypedDict, total=False):
    """The description of a release, which cannot change later."""

    title: str
    metrics: Sequence[str]
    creators: Sequence[str]
    license: str
    doi: str | None
    run_files: bool


class CampaignCalls:
    """Collections, qrels, teams and tokens."""

    @listing
    def collections(self) -> Pages[CollectionAnswer]:
        """List the collections that the token may see, by name; without a token, the public and released ones."""
        return Pages(Page[CollectionAnswer], api_path("collections"))

    @call
    def create_collection(
        self,
        name: str,
        levels: int | Sequence[str] | None = None,
        *,
        kind: CollectionKind = "judged",
        **settings: Unpack[CollectionSettings],
    ) -> Call[CollectionAnswer]:
        """Create a collection (organisers of the instance). `levels` are names, lowest first, or their number.

        One of the kind `scores` has none: its scores come as score matrices.
        """
        kinds = {"kind": kind} if kind != "judged" else {}
        sent = {"name": name, **kinds, **({"levels": levels} if levels is not None else {}), **settings}
        return read_model(CollectionAnswer, Request("POST", api_path("collections"), json=sent, once=True))

    @call
    def collection(self, name: str) -> Call[CollectionAnswer]:
        """Return one collection."""
        return read_model(CollectionAnswer, Request("GET", api_path("collections", name)))

    @call
    def change_collection(self, name: str, **changes: Unpack[CollectionChanges]) -> Call[CollectionAnswer]:
        """Change settings; settings that are not named stay (organisers).

        Once runs are judged, a job of kind `rejudge` changes these two. The collection keeps the old order until then.
        """
        return read_model(CollectionAnswer, Request("PATCH", api_path("collections", name), json=changes))

    @call
    def delete_collection(self, name: str) -> Call[None]:
        """Delete a collection. Its name may then be used again (organisers)."""
        return delete(api_path("collections", name))

    @call
    def survey(self, qrels: Table) -> Call[SurveyAnswer]:
        """Tell which levels and topics a qrels file has; nothing is stored (organisers of the instance)."""
        return read_model(SurveyAnswer, Request("POST", api_path("survey"), upload=Upload.of(as_qrels(qrels))))

    @call
    def put_qrels(self, collection: str, file: Table, **query: Unpack[QrelsUploadQuery]) -> Call[QrelsAnswer]:
        """Upload a qrels file in TREC's or NTCIR's format as the next version. A draft is not published yet.

        Instead of a file, give a frame, a dictionary, or `irds:ID` for the judgments of a dataset of ir_datasets.
        In a collection with intents, the file may also have the probabilities of intents, as lines of their own.
        `judgments` names a judgment set, by default the official one. A new name makes a set.
        With the id of the job that made the `pool`, warnings tell how the judgments differ from it.
        """
        path = of_collection(collection, "qrels")
        return read_model(QrelsAnswer, Request("PUT", path, query, upload=Upload.of(as_qrels(file))))

    @listing
    def qrels(self, collection: str, **query: Unpack[JudgmentsQuery]) -> Pages[QrelsAnswer]:
        """List the versions of a judgment set, by number; only organisers see drafts."""
        return Pages(Page[QrelsAnswer], of_collection(collection, "qrels"), query)

    @call
    def qrels_version(self, collection: str, version: int, **query: Unpack[JudgmentsQuery]) -> Call[QrelsAnswer]:
        """Return one version of the qrels."""
        return read_model(QrelsAnswer, Request("GET", of_collection(collection, "qrels", version), query))

    @call
    def qrels_file(self, collection: str, version: int, **query: Unpack[JudgmentsQuery]) -> Call[bytes]:
        """Return a qrels file as it was uploaded, decompressed."""
        return read_bytes(Request("GET", of_collection(collection, "qrels", version), query, accept="text/plain"))

    @call
    def save_qrels_file(
        self, collection: str, version: int, to: str | PathLike[str], **query: Unpack[JudgmentsQuery]
    ) -> Call[Path]:
        """Write a qrels file to a path. The file appears when it is complete."""
        path = of_collection(collection, "qrels", version)
        return save_file(Request("GET", path, query, accept="text/plain", to=Path(to)))

    @call
    def publish_qrels(self, collection: str, version: int, **query: Unpack[JudgmentsQuery]) -> Call[QrelsAnswer]:
        """Publish a draft, or a version that another one has replaced (organisers)."""
        return read_model(QrelsAnswer, Request("POST", of_collection(collection, "qrels", version, "publish"), query))

    @call
    def discard_qrels(self, collection: str, version: int, **query: Unpack[JudgmentsQuery]) -> Call[None]:
        """Discard a draft (organisers)."""
        return delete(of_collection(collection, "qrels", version), query)

    @listing
    def judgment_sets(self, collection: str) -> Pages[JudgmentSetAnswer]:
        """List the judgment sets by name, such as those of several assessors; the official one is among them."""
        return Pages(Page[JudgmentSetAnswer], of_collection(collection, "judgments"))

    @call
    def change_judgment_set(self, collection: str, judgments: str, state: SetState) -> Call[JudgmentSetAnswer]:
        """Release a judgment set (`"released"`), or hide it again (`"hidden"`) (organisers)."""
        path = of_collection(collection, "judgments", judgments)
        return read_model(JudgmentSetAnswer, Request("PATCH", path, json={"state": state}))

    @call
    def delete_judgment_set(self, collection: str, judgments: str) -> Call[None]:
        """Delete a judgment set with all its versions (organisers)."""
        return delete(of_collection(collection, "judgments", judgments))

    @call
    def impact(
        self,
        collection: str,
        version: int,
        /,
        *,
        metrics: str | Sequence[str] = (),
        runs: str | Sequence[str] = (),
        **query: Unpack[ImpactOptions],
    ) -> Call[ImpactAnswer]:
        """Return what a version of the qrels, such as a draft, changes against another version (organisers)."""
        path = of_collection(collection, "qrels", version, "impact")
        return read_model(ImpactAnswer, Request("GET", path, {"metric": metrics, "run": runs, **query}))

    @listing
    def teams(self, collection: str) -> Pages[TeamAnswer]:
        """List the teams whose runs the token may see, by name."""
        return Pages(Page[TeamAnswer], of_collection(collection, "teams"))

    @call
    def create_team(self, collection: str, name: str) -> Call[TeamAnswer]:
        """Create a team (organisers)."""
        path = of_collection(collection, "teams")
        return read_model(TeamAnswer, Request("POST", path, json={"name": name}, once=True))

    @call
    def team(self, collection: str, name: str) -> Call[TeamAnswer]:
        """Return one team."""
        return read_model(TeamAnswer, Request("GET", of_collection(collection, "teams", name)))

    @call
    def delete_team(self, collection: str, name: str) -> Call[None]:
        """Delete a team that has sent no run, with its tokens and invitations (organisers)."""
        return delete(of_collection(collection, "teams", name))

    @listing
    def tokens(self, collection: str) -> Pages[TokenAnswer]:
        """List the records of the collection's tokens, with revoked ones (organisers)."""
        return Pages(Page[TokenAnswer], of_collection(collection, "tokens"))

    @call
    def create_token(
        self,
        collection: str,
        role: Role,
        *,
        team: str | None = None,
        holder: str | None = None,
        expires_at: datetime | str | None = None,
    ) -> Call[CreatedToken]:
        """Create a token (organisers). Its `token` is shown only this once."""
        sent = {"role": role, "team": team, "holder": holder, "expires_at": expires_at}
        return read_model(CreatedToken, Request("POST", of_collection(collection, "tokens"), json=sent, once=True))

    @call
    def token(self, collection: str, token_id: str) -> Call[TokenAnswer]:
        """Return a token's record (organisers)."""
        return read_model(TokenAnswer, Request("GET", of_collection(collection, "tokens", token_id)))

    @call
    def rotate_token(self, collection: str, token_id: str, **changes: Unpack[TokenChanges]) -> Call[CreatedToken]:
        """Replace the secret of a token, which ends at once (organisers). The new secret is shown only this once."""
        path = of_collection(collection, "tokens", token_id, "rotate")
        return read_model(CreatedToken, Request("POST", path, json=changes, once=True))

    @call
    def revoke_token(self, collection: str, token_id: str) -> Call[None]:
        """Revoke a token for good (organisers)."""
        return delete(of_collection(collection, "tokens", token_id))


class ReleaseCalls:
    """Releases of collections."""

    @call
    def freeze(self, collection: str, **settings: Unpack[ReleaseSettings]) -> Call[ReleaseAnswer]:
        """Make a release of a collection as it is now (organisers). It never changes."""
        path = of_collection(collection, "releases")
        return read_model(ReleaseAnswer, Request("POST", path, json=settings, once=True))

    @listing
    def releases(self, collection: str) -> Pages[ReleaseAnswer]:
        """List the releases of a collection, newest first."""
        return Pages(Page[ReleaseAnswer], of_collection(collection, "releases"))

    @call
    def release(self, collection: str, number: int) -> Call[WholeRelease]:
        """Return a release with all that was frozen."""
        return read_model(WholeRelease, Request("GET", of_collection(collection, "releases", number)))

    @call
    def import_release(self, folder: Source) -> Call[ImportedRelease]:
        """Make a collection of a release's folder, a tar archive (organisers of the instance).

        The answer's `left_out` names results that the service's version does not know.
        """
        return read_model(ImportedRelease, Request("POST", api_path("imports"), upload=Upload.of(folder)))

    @call
    def save_archive(
        self, collection: str, number: int, to: str | PathLike[str], **query: Unpack[ArchiveQuery]
    ) -> Call[Path]:
        """Write a release's folder, as a tar archive, to a path. The file appears when it is complete.

        With `log=False`, the folder has no audit log.
        """
        path = of_collection(collection, "releases", number, "archive")
        return save_file(Request("GET", path, query, accept="application/x-tar", to=Path(to)))


class ScoreMatrixCalls:
    """Score matrices, which are metrics under the name `custom:NAME`."""

    @call
    def put_score_matrix(
        self, collection: str, name: str, file: Source, **query: Unpack[ScoreMatrixUploadQuery]
    ) -> Call[MatrixAnswer]:
        """Upload scores of stored runs as the next version of a matrix (organisers): CSV, trec_eval's text or JSON.

        `missing` says what a missing score is: a number, `"zero"` or `"drop-topic"`. Without it, none may be missing.
        """
        path = of_collection(collection, "score-matrices", name)
        return read_model(MatrixAnswer, Request("PUT", path, query, upload=Upload.of(file)))

    @listing
    def score_matrices(self, collection: str) -> Pages[MatrixAnswer]:
        """List the newest version of each score matrix, by name."""
        return Pages(Page[MatrixAnswer], of_collection(collection, "score-matrices"))

    @call
    def score_matrix(self, collection: str, name: str, **query: Unpack[ScoreMatrixOptions]) -> Call[WholeMatrix]:
        """Return a version of a score matrix, with its scores; without a number, the newest."""
        return read_model(WholeMatrix, Request("GET", of_collection(collection, "score-matrices", name), query))

    @call
    def score_matrix_text(self, collection: str, name: str, **query: Unpack[ScoreMatrixOptions]) -> Call[str]:
        """Return a version of a score matrix as CSV, with a row for each run; without a number, the newest."""
        return read_text(Request("GET", of_collection(collection, "score-matrices", name), query, accept="text/csv"))

    @call
    def delete_score_matrix(self, collection: str, name: str) -> Call[None]:
        """Delete a score matrix with all its versions (organisers)."""
        return delete(of_collection(collection, "score-matrices", name))


class AnswerCalls:
    """Nuggets, and what judges say of the answers of runs."""

    @call
    def put_nuggets(self, collection: str, file: Source, **query: Unpack[NuggetsUploadQuery]) -> Call[NuggetsAnswer]:
        """Upload nuggets as JSON Lines, as the next version (organisers). The scores of all answers follow."""
        path = of_collection(collection, "nuggets")
        return read_model(NuggetsAnswer, Request("PUT", path, query, upload=Upload.of(file)))

    @listing
    def nuggets(self, collection: str) -> Pages[NuggetsAnswer]:
        """List the versions of the nuggets, by number; only organisers see drafts."""
        return Pages(Page[NuggetsAnswer], of_collection(collection, "nuggets"))

    @call
    def nuggets_file(self, collection: str, version: int) -> Call[bytes]:
        """Return a file of nuggets as it was uploaded, decompressed."""
        return read_bytes(Request("GET", of_collection(collection, "nuggets", version), accept="application/x-ndjson"))

    @call
    def publish_nuggets(self, collection: str, version: int) -> Call[NuggetsAnswer]:
        """Publish a draft, or a version that another one has replaced (organisers)."""
        return read_model(NuggetsAnswer, Request("POST", of_collection(collection, "nuggets", version, "publish")))

    @call
    def discard_nuggets(self, collection: str, version: int) -> Call[None]:
        """Discard a draft of the nuggets (organisers)."""
        return delete(of_collection(collection, "nuggets", version))

    @call
    def put_verdicts(
        self, collection: str, judge: str, file: Source, **query: Unpack[VerdictsUploadQuery]
    ) -> Call[JudgeAnswer]:
        """Upload what a judge says of the answers of runs as JSON Lines: assignments of nuggets, verdicts on citations.

        With `sample`, the judge has judged some topics alone. A run that is new has no ranking (organisers).
        """
        path = of_collection(collection, "answers", judge)
        return read_model(JudgeAnswer, Request("PUT", path, query, upload=Upload.of(file)))

    @listing
    def judges(self, collection: str) -> Pages[JudgeAnswer]:
        """List the judges of answers, by name."""
        return Pages(Page[JudgeAnswer], of_collection(collection, "answers"))

    @call
    def nugget_counts(self, collection: str, judge: str = OFFICIAL) -> Call[NuggetCounts]:
        """Return how many runs have each nugget, as a judge says."""
        return read_model(NuggetCounts, Request("GET", of_collection(collection, "answers", judge)))

    @call
    def delete_verdicts(self, collection: str, judge: str) -> Call[None]:
        """Delete all that a judge says of answers, with the scores that follow (organisers)."""
        return delete(of_collection(collection, "answers", judge))


class TopicGroupCalls:
    """Named sets of topics of a collection."""

    @listing
    def topic_groups(self, collection: str) -> Pages[TopicGroupAnswer]:
        """List the topic groups, by name."""
        return Pages(Page[TopicGroupAnswer], of_collection(collection, "topic-groups"))

    @call
    def topic_group(self, collection: str, name: str) -> Call[WholeTopicGroup]:
        """Return one topic group, with its topics."""
        return read_model(WholeTopicGroup, Request("GET", of_collection(collection, "topic-groups", name)))

    @call
    def put_topic_group(self, collection: str, name: str, topics: Sequence[str]) -> Call[WholeTopicGroup]:
        """Store a topic group in place of the one with its name (organisers)."""
        path = of_collection(collection, "topic-groups", name)
        return read_model(WholeTopicGroup, Request("PUT", path, json=list(topics)))

    @call
    def delete_topic_group(self, collection: str, name: str) -> Call[None]:
        """Delete a topic group (organisers)."""
        return delete(of_collection(collection, "topic-groups", name))

    @call
    def put_topic_groups(self, collection: str, file: Source) -> Call[Page[TopicGroupAnswer]]:
        """Replace all topic groups by those of a CSV file with the columns `topic` and `group` (organisers)."""
        path = of_collection(collection, "topic-groups")
        return read_model(Page[TopicGroupAnswer], Request("PUT", path, upload=Upload.of(file)))

    @call
    def topic_groups_text(self, collection: str) -> Call[str]:
        """Return all topic groups as CSV, which `put_topic_groups` takes."""
        return read_text(Request("GET", of_collection(collection, "topic-groups"), accept="text/csv"))
