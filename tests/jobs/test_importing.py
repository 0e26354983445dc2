"""Folders of releases in another instance: the same collection, byte for byte, whose results are verified there."""

import gzip
import hashlib
import io
import json
import random
import re
import resource
import socket
import tarfile
from collections import Counter
from urllib.parse import quote, urlsplit

import pytest
from sqlalchemy import text
from starlette.requests import ClientDisconnect

from gainboard.cli import main
from gainboard.errors import DatabaseBusy
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Sender, authenticate
from gainboard.evaluation.audit import verify
from gainboard.evaluation.runs import intake
from gainboard.evaluation.runs.intake import Body
from gainboard.evaluation.runs.pruning import prune
from gainboard.evaluation.runs.run_files import NO_LIMITS
from gainboard.jobs import release_folder
from gainboard.jobs.importing import Importing
from gainboard.jobs.release_folder import opened
from gainboard.settings import Settings
from gainboard.store.audit import digest
from gainboard.store.processes import sweep
from gainboard.store.tables import processes
from tests.api.changes import log
from tests.thorough import examples
from tests.waiting import over, until
from tests.world.campaigns import refused
from tests.world.files import contents_of, unpacked
from tests.world.laboratories import DOCUMENTS, REPORT, TOPICS, Laboratory, qrels_text, rotated
from tests.world.servers import ADMIN, new_settings, serving

METADATA = "method: {automatic: true}\n"
SETS = "@attributes half ordinal 0.25 0.75\n1 unjudged 1 0\n" + "".join(
    f"{topic} {document} {place % 2} {1 - place % 2}\n" for topic in TOPICS for place, document in enumerate(DOCUMENTS)
)
OTHERS = (
    "/leaderboard?metric=Q&metric=GFR@5",
    "/score-matrices",
    "/score-matrices/nuggets?version=1",
    "/runs/run-1/metadata",
)
TAR = {"Content-Type": "application/x-tar"}


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("origin"))) as service:
        lab = Laboratory(service, queries={"1": "why do cats purr"})
        lab.draft(qrels_text(3))
        lab.put_qrels(qrels_text(1) + SETS)
        lab.put_qrels(qrels_text(2), judgments="second")
        lab.organiser.patch(f"{lab.path}/judgments/second", json={"state": "released"})
        lab.organiser.put(f"{lab.path}/topic-groups/half", json=["1", "2", "3", "4", "5", "6"])
        for scores in ("0.5,1", "0.25,1"):  # versions 1 and 2, of which the first is not used
            matrix = f"run,1,2\nrun-0,{scores}\nrun-1,0.125,1e-3\n"
            lab.organiser.put(f"{lab.path}/score-matrices/nuggets", content=matrix).raise_for_status()
        lab.organiser.put(f"{lab.path}/runs/run-1/metadata", content=METADATA).raise_for_status()
        lab.release(public=True)
        lab.finished(lab.ask("rejudge", ignore_identical_ids=True))  # the same judgments again, under another order
        for asked in (
            lab.ask("bootstrap-sensitivity", metrics=["AP"], resamples=50),
            lab.ask("rank-correlation", metrics=["AP", {"metric": "AP", "qrels": 1}], against="AP (qrels 1)"),
            lab.ask("rank-correlation", metrics=["custom:nuggets", "AP"], runs=["run-0", "run-1"]),
            lab.ask("stability", metrics=["AP"], trials=20, topics="half", qrels=1),
        ):
            assert asked.is_success, asked.text
            lab.finished(asked)
        over(lab.organiser, lab.report(REPORT).headers["location"])
        lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["AP", "GFR@5"]}).raise_for_status()
        yield lab


@pytest.fixture(scope="module")
def packed(origin):
    return origin.organiser.get(f"{origin.path}/releases/1/archive").raise_for_status().content


def send(service, packed, client=None):
    return (client or service.organiser).post("/v1/imports", content=packed, headers=TAR)


def changed(packed, path, change, *, sums):
    """The archive with another content of a file, whose checksum is right again if so wanted."""
    contents = contents_of(packed)
    before = contents[path]
    contents[path] = change(before)
    if sums:
        old, new = (hashlib.sha256(each).hexdigest().encode() for each in (before, contents[path]))
        contents["SHA256SUMS"] = contents["SHA256SUMS"].replace(old, new)
    return pack(contents)


def folder_of(packed):
    return opened(Body(io.BytesIO(packed)), io.BytesIO(), NO_LIMITS, lambda: None)


def pack(contents):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in contents.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def assert_not_imported(answer, what):
    assert refused(answer) == (422, "invalid-request"), (what, answer.text)
    assert "Nothing was imported" in answer.json()["detail"], what


def test_what_is_no_whole_folder_leaves_nothing(shared, packed):
    result = next(name for name in contents_of(packed) if name.endswith("/result.json"))
    planted = json.loads(contents_of(packed)["data/release.json"])
    next(each for each in planted["results"] if each["kind"] == "stability")["params"]["seed"] = 7
    wrong = [
        changed(packed, "data/scores.csv", lambda content: content + bytes(2_000_000), sums=False),
        changed(packed, "data/runs/run-1.txt", lambda content: content + b"1 Q0 other 99 0 t\n", sums=True),
        changed(packed, "data/runs/run-1.ir_metadata.yml", lambda content: content + b"tag: t\n", sums=True),
        changed(packed, "data/qrels/official-3.txt", lambda content: content + b"1 0 other 1\n", sums=True),
        changed(packed, "data/score-matrices/nuggets-2.csv", lambda content: content.replace(b"5", b"6"), sums=True),
        changed(packed, result, lambda content: content.replace(b"0.", b"1."), sums=True),
        changed(packed, "SHA256SUMS", lambda content: content.replace(b"a", b"b"), sums=False),
        changed(packed, "data/release.json", lambda content: b"{}", sums=True),
        changed(packed, "data/release.json", lambda content: content.replace(b'"params"', b'"other"'), sums=True),
        changed(packed, "data/release.json", lambda content: content.replace(b"true", b"false"), sums=True),
    ]
    for number, each in enumerate(wrong):
        assert_not_imported(send(shared, each), number)
    answer = send(shared, with_document(packed, json.dumps(planted).encode()))
    assert_not_imported(answer, "a result under the id of another request")
    assert "is not that of the request" in answer.json()["detail"]
    assert shared.organiser.get("/v1/collections").json()["items"] == []


def test_a_folder_becomes_the_same_collection_byte_for_byte(origin, shared, packed):
    answer = send(shared, packed)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"{origin.path}/releases/1"
    organiser = shared.organiser
    assert answer.json()["left_out"] == []
    let_reports_be_laid_out(organiser)
    path = f"{origin.path}/releases/1"
    # A citation has the address of the service that was asked.
    here, there = (str(client.base_url).rstrip("/") for client in (organiser, origin.organiser))
    assert organiser.get(path).text.replace(here, there) == origin.organiser.get(path).text
    assert contents_of(organiser.get(f"{path}/archive").content) == contents_of(packed)
    assert organiser.get(f"{path}/archive").content == packed
    for path in ("", "/runs", "/qrels", "/qrels?judgments=second", "/topic-groups", *OTHERS):
        here, there = (
            _plain(client.get(f"{origin.path}{path}")) for client in (shared.anonymous, origin.service.anonymous)
        )
        assert here == there, path
    for job in origin.organiser.get(f"{origin.path}/releases/1").json()["content"]["results"]:
        for path in (f"/v1/jobs/{job['id']}/result", f"/v1/jobs/{job['id']}/dependencies"):
            assert organiser.get(path).json() == origin.organiser.get(path).json()
    assert [entry["action"] for entry in log(organiser, origin.path)] == ["collection-imported"]
    assert verify(log(organiser)).fault is None


def let_reports_be_laid_out(organiser):
    for report in organiser.get("/v1/reports").json()["items"]:
        over(organiser, f"/v1/reports/{report['id']}")


def _plain(answer):
    """What an answer says, without the revision and what follows from it."""
    found = answer.raise_for_status().json()
    for name in ("revision", "changed_at"):
        if isinstance(found, dict):
            found.pop(name, None)
    return found


def origins(service, noun, identity):
    return str(service.organiser.get(f"/v1/{noun}s/{identity}").json()["origin"])


def test_results_are_imported_until_they_are_verified_there(origin, shared):
    content = origin.organiser.get(f"{origin.path}/releases/1").json()["content"]
    for noun, each in (*(("job", each) for each in content["results"]), ("report", content["reports"][0])):
        assert origins(origin.service, noun, each["id"]) == "computed"
        assert origins(shared, noun, each["id"]) == "imported" or noun == "report"
        asked = shared.organiser.post(f"/v1/{noun}s/{each['id']}/verify")
        assert asked.status_code == 202, asked.text
        done = over(shared.organiser, asked.headers["location"])
        assert done["state"] == "succeeded", done["error"]
        assert shared.organiser.get(done["result_url"]).json()["message"] == "identical", each
        assert origins(shared, noun, each["id"]) == "verified"


def test_a_collection_that_was_deleted_here_is_refused(origin, shared, packed):
    shared.organiser.delete(origin.path).raise_for_status()
    assert refused(send(shared, packed)) == (409, "conflict")


@pytest.fixture
def folder(packed, tmp_path):
    return unpacked(packed, tmp_path / "folder")


@pytest.mark.outer
def test_a_folder_is_verified_without_a_server(folder, capsys):
    assert main(["verify", str(folder)]) == 0, capsys.readouterr().err
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == sum(path.is_file() for path in folder.rglob("*"))
    assert outcomes("\n".join(lines)).keys() == {"data/history.ndjson"}
    (of_report,) = (each for each in folder.glob("data/results/*/depends_on.json") if "chapters" in each.read_text())
    assert main(["verify", str(of_report.parent)]) == 0, capsys.readouterr().err
    run = folder / "data/runs/run-1.txt"
    run.write_text(run.read_text().replace("d1", "d2", 1))
    assert main(["verify", str(folder)]) == 1
    assert "data/runs/run-1.txt was changed" in capsys.readouterr().err


def renew_sums(folder):
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    hashes = {path: hashlib.sha256((folder / path).read_bytes()).hexdigest() for path in paths if path != "SHA256SUMS"}
    (folder / "SHA256SUMS").write_text("".join(f"{sha256}  {path}\n" for path, sha256 in hashes.items()))


def outcomes(out):
    """What is said of each file that is not identical, by its path."""
    said = (line.partition(": ") for line in out.splitlines())
    return {path: outcome for path, _, outcome in said if outcome != "identical"}


def of_kind(folder, name):
    return sorted(folder.glob(f"data/results/*/{name}"))[0]


def with_other_digit(path):
    """Change the last digit behind a point in a file, or the last one where there is none behind a point."""
    text = path.read_text()
    at = max(match.end() - 1 for match in [*re.finditer(r"\d\.\d+", text)] or re.finditer(r"\d", text))
    path.write_text(f"{text[:at]}{(int(text[at]) + 5) % 10}{text[at + 1 :]}")


@pytest.mark.outer
def test_what_was_changed_is_named_whatever_file_it_is_in(folder, capsys):
    paths = [folder / f"data/{name}" for name in ("scores.csv", "boards.csv", "board-1.tex")]
    paths += [of_kind(folder, name) for name in ("tables/*.csv", "tables/*.tex", "figures/*.svg", "result.tex")]
    paths += [folder / "index.html", folder / "compare.html", sorted((folder / "results").iterdir())[0]]
    paths += [of_kind(folder, "depends_on.json"), of_kind(folder, "exhibits.json")]
    for path in paths[:-2]:
        with_other_digit(path)
    for path in paths[-2:]:
        path.write_text(path.read_text().replace("e", "f", 1))
    gone, more = sorted(folder.glob("data/results/*/tables/*.csv"))[-1], folder / "data/runs/more.txt"
    gone.unlink()
    more.write_text("1 Q0 d 1 1 more\n")
    history = folder / "data/history.ndjson"
    history.write_text(history.read_text().replace('"hash":"', '"hash":"0', 1))
    renew_sums(folder)
    assert main(["verify", str(folder)]) == 1
    wrong = outcomes(capsys.readouterr().out)
    assert wrong.pop(gone.relative_to(folder).as_posix()) == "differs: the file is missing"
    assert wrong.pop("data/runs/more.txt") == "differs: a release has no such file"
    assert wrong.pop("data/history.ndjson") == "differs: line 1 is no entry of a history or an audit log"
    assert wrong.pop("ro-crate-metadata.json"), "it says how large the history was"
    assert wrong.keys() == {path.relative_to(folder).as_posix() for path in paths}
    assert re.match(r"differs: line \d+: expected '.*', found '.*'", wrong["data/scores.csv"])


def test_a_folder_tells_what_it_holds_and_nothing_else_of_the_audit_log(origin, packed):
    """Beside what was published, the log tells of drafts and tokens, whose hashes would find them again."""
    contents, entries = contents_of(packed), log(origin.organiser, origin.path)
    history = [json.loads(line) for line in contents["data/history.ndjson"].splitlines()]
    logged = {each["hash"]: each for each in entries}
    for each in history:
        assert (each["at"], each["action"], each["subject"]) == tuple(
            logged[each["hash"]][name] for name in ("at", "action", "subject")
        )
    told = Counter(each["action"] for each in history)
    runs = len(json.loads(contents["data/release.json"])["runs"])
    versions = len(json.loads(contents["data/release.json"])["judgments"])
    rest = {"qrels-published": versions, "score-matrix-uploaded": 2, "run-described": 1, "release-frozen": 1}
    assert told == {"run-uploaded": runs, **rest}
    whole = b"".join(contents.values())
    secret = {each["token"] for each in entries} | logged.keys() - {each["hash"] for each in history}
    secret |= {each["details"]["sha256"] for each in entries if each["action"] == "qrels-drafted"}
    assert not [each for each in secret if each and each.encode() in whole]


def of_first_form(origin, packed):
    """The archive as it was before: with the whole audit log, of which the document has the newest entry."""
    contents, entries = contents_of(packed), log(origin.organiser, origin.path)
    end = next(place for place, each in enumerate(entries) if each["action"] == "release-frozen")
    newest = {"last": entries[end - 1]["number"], "hash": entries[end - 1]["hash"]}
    document = json.dumps(json.loads(contents["data/release.json"]) | {"form": 1, "audit": newest}).encode()
    details = entries[end]["details"] | {"sha256": hashlib.sha256(document).hexdigest()}
    entries[end] |= {"details": details}
    entries[end]["hash"] = digest(entries[end])
    del contents["data/history.ndjson"]
    contents["data/release.json"] = document
    contents["data/audit.ndjson"] = "".join(f"{json.dumps(each)}\n" for each in entries[: end + 1]).encode()
    sums = {path: hashlib.sha256(each).hexdigest() for path, each in contents.items() if path != "SHA256SUMS"}
    contents["SHA256SUMS"] = "".join(f"{sums[path]}  {path}\n" for path in sorted(sums)).encode()
    return pack(contents)


def test_the_log_in_a_folder_of_the_first_form_is_read_but_not_kept(origin, packed, tmp_path):
    old = of_first_form(origin, packed)
    with serving(new_settings(tmp_path)) as service:
        send(service, old).raise_for_status()
        let_reports_be_laid_out(service.organiser)
        again = contents_of(service.organiser.get(f"{origin.path}/releases/1/archive").content)
    assert "data/audit.ndjson" not in again
    kept = [json.loads(line)["hash"] for line in again["data/history.ndjson"].splitlines()]
    expected = [json.loads(line)["hash"] for line in contents_of(packed)["data/history.ndjson"].splitlines()]
    assert kept[:-1] == expected[:-1]


def verified_with(folder, change, capsys):
    """What is said of the files of a folder in whose document something is changed."""
    path = folder / "data/release.json"
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))
    assert main(["verify", str(folder)]) == 1
    return capsys.readouterr()


@pytest.mark.outer
def test_what_stands_for_a_number_is_told_and_results_of_another_engine_are_not_compared(folder, capsys):
    def change(document):
        document["boards"][0]["rows"][0]["means"].update(AP="0.5")
        older = next(each for each in document["results"] if each["kind"] == "bootstrap-sensitivity")
        older["engine_version"] -= 1
        changed.append(older)

    changed = []
    out = verified_with(folder, change, capsys).out
    found = outcomes(out)
    assert "boards.0.rows.0.means.AP: expected 0." in found["data/release.json"]
    assert "its last entry is not about data/release.json" in found["data/history.ndjson"]
    why = f"not compared, because made by engine version {changed[0]['engine_version']} (here"
    assert found[f"data/results/{changed[0]['id']}/result.json"].startswith(why)
    assert "data/scores.csv: identical" in out.splitlines()


@pytest.mark.outer
@pytest.mark.parametrize("change", [{"metrics": None}, {"results": [{}]}, {"runs": 3}, {"settings": []}])
def test_a_document_in_another_form_is_refused_without_a_traceback(folder, capsys, change):
    assert "gainboard: " in verified_with(folder, lambda document: document.update(change), capsys).err


LISTS = ("/v1/collections", "/v1/jobs", "/v1/reports", "/", "/healthz", "/readyz")
STRANGE = (3, "x", None, [], {}, True, -1, 2**70, 1e300, "0001-01-01T00:00:00Z", "../../x", "verify", [[]])


def leaves(value, path=()):
    """The path of every value in a document; of a list, the first members alone."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, each in members:
        yield from leaves(each, (*path, key))


def with_value(document, path, value):
    changed = json.loads(json.dumps(document))
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return json.dumps(changed).encode()


def with_document(packed, document):
    return changed(packed, "data/release.json", lambda _: document, sums=True)


@pytest.mark.outer
def test_no_leaf_of_a_document_breaks_the_instance_whatever_it_is(origin, packed, tmp_path):
    document = json.loads(contents_of(packed)["data/release.json"])
    document["scores"] = {}
    drawn = random.Random(60)
    paths = list(leaves(document))
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        for number, path in enumerate(drawn.sample(paths, min(len(paths), examples(400)))):
            wrong = with_value(document, path, drawn.choice(STRANGE))
            answer = send(service, with_document(packed, wrong))
            assert answer.status_code in (201, 409, 422), (path, answer.text)
            if answer.status_code == 201:
                assert {list_: service.organiser.get(list_).status_code for list_ in LISTS} == dict.fromkeys(LISTS, 200)
                service.organiser.delete(origin.path).raise_for_status()
                document["release"]["uuid"] = f"00000000-0000-4000-8000-{number:012}"
        assert service.organiser.get("/v1/collections").json()["items"] == []


def test_a_result_that_this_version_does_not_know_is_left_out_and_named(packed, tmp_path):
    document = json.loads(contents_of(packed)["data/release.json"])
    older, other_kind, *kept = document["results"]
    older["engine_version"] -= 1
    other_kind["kind"] = "of-another-version"
    body = json.dumps(document).encode()
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        answer = send(service, changed(packed, "data/release.json", lambda _: body, sums=True))
        assert answer.status_code == 201, answer.text
        because = {each["id"]: each["because"] for each in answer.json()["left_out"]}
        assert "engine version" in because.pop(older["id"])
        assert because.pop(other_kind["id"]) == "this version of Gainboard has no such kind"
        assert all("is left out" in why for why in because.values())
        there = {each["id"] for each in service.organiser.get("/v1/jobs").json()["items"]}
        assert {each["id"] for each in kept} <= there


def bombs(packed):
    def entry(size, kind=b"0", name=b"SHA256SUMS"):
        info = tarfile.TarInfo(name.decode())
        info.size, info.type = size, kind
        return info.tobuf()

    sparse = tarfile.TarInfo("SHA256SUMS")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 50)}
    deep, document = b"[" * 200_000, json.loads(contents_of(packed)["data/release.json"])
    member = json.dumps(document | {"settings": "DEEP"}).encode().replace(b'"DEEP"', deep)
    yield "sparse in pax", sparse.tobuf(tarfile.PAX_FORMAT)
    for name, kind in {"old sparse": b"S", "a link": b"2", "a hard link": b"1", "a device": b"3"}.items():
        yield name, entry(0, kind)
    yield "a header of 2 GiB", entry(2 << 30, b"x")
    yield "a long name of 2 GiB", entry(2 << 30, b"L")
    yield "a negative size", entry(0).replace(b"00000000000\0", b"-0000000001\0", 1)
    yield "a name twice", entry(0) + entry(0)
    yield "nothing", b""
    yield "checksums of 2 GiB", gzip.compress(entry(2 << 30)) + 2048 * gzip.compress(bytes(1 << 20))
    lines = changed(packed, "SHA256SUMS", lambda content: content + b"\n" * (60 << 20), sums=False)
    yield "checksums of 60 million lines", lines
    yield "deep JSON", with_document(packed, deep)
    yield "a deep member", with_document(packed, member)


def test_archives_with_links_holes_huge_headers_or_depth_are_refused_at_once_and_cost_no_memory(shared, packed):
    for name, sent in bombs(packed):
        is_whole = sent.startswith(b"\x1f\x8b") or len(sent) > 100_000
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        answer = send(shared, sent if is_whole else sent + bytes(1024))
        assert answer.status_code == 422 or (is_whole and answer.status_code == 413), (name, answer.text)
        assert "Nothing was imported" in answer.json()["detail"] or answer.status_code == 413, name
        assert shared.application.state.readers.busy == 0
        # The server is in this process.
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10, name


def counts(database):
    tables = ("collections", "qrels", "judgment_sets", "runs", "judged_runs", "run_metadata", "teams", "topic_groups")
    with database.reading() as tx:
        numbers = {name: tx.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in tables}
        return numbers | {"blob_parts": tx.execute(text("SELECT count(*) FROM blob_parts")).scalar_one()}


def test_nothing_of_a_killed_import_is_seen_and_once_it_is_pruned_nothing_is_left(packed, migrated_url):
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN, job_slots=0)) as service:
        workspace = service.application.state.workspace
        before = counts(workspace.database)
        with audit.as_one_change():  # what an import has made when it is killed before its last transaction
            killed = Importing(workspace, authenticate(workspace, Sender.of(ADMIN)), folder_of(packed))
            killed._upload(made := killed._create())
        assert {service.organiser.get(each).text.count("~") for each in (*LISTS, "/v1/audit")} == {0}
        assert service.organiser.get(f"/v1/collections/{made.name}").status_code == 404
        assert service.organiser.delete(f"/v1/collections/{quote(made.name, safe='')}").status_code == 404
        prune(workspace)
        assert counts(workspace.database)["runs"] > 0, "it may still be under way"
        taken_for_dead = workspace.lease.id
        with workspace.database.writing() as tx:
            sweep(tx, processes.c.id == taken_for_dead)
        with pytest.raises(DatabaseBusy, match="others ended it"):
            killed._delete(made)
        prune(workspace)
        assert counts(workspace.database) == before
        until(lambda: workspace.lease.is_held and workspace.lease.id != taken_for_dead)
        assert send(service, packed).status_code == 201


def test_a_failed_import_leaves_nothing_and_a_whole_one_goes_on_there(origin, packed, migrated_url):
    with serving(Settings.read({}, database_url=migrated_url, admin_token=ADMIN)) as service:
        organiser, path, workspace = service.organiser, origin.path, service.application.state.workspace
        wrong = changed(packed, "data/runs/run-3.txt", lambda content: content + b"1 Q0 other 99 0 t\n", sums=True)
        assert send(service, wrong).status_code == 422
        assert send(service, packed).status_code == 201
        before = counts(workspace.database)
        prune(workspace)
        assert before["runs"] - counts(workspace.database)["runs"] == 4
        assert counts(workspace.database)["collections"] == 1
        let_reports_be_laid_out(organiser)
        assert organiser.get(f"{path}/releases/1/archive").content == packed
        query = {"team": "team-0", "name": "new"}
        assert organiser.post(f"{path}/runs", content=rotated(8), params=query).status_code == 201
        made = organiser.post(f"{path}/releases", json={"metrics": ["AP"]})
        assert (made.json()["number"], made.json()["corrects"]) == (2, 1)
        assert organiser.get(f"{path}/releases/2/archive").status_code == 200
        assert organiser.delete(f"{path}/runs/run-1").status_code == 204
        assert log(organiser, path)[-1]["details"]["held_by"] == [f"{origin.name}-1", f"{origin.name}-2"]
        assert verify(log(organiser)).fault is None


@pytest.mark.parametrize("is_whole", [False, True], ids=["while it sends", "while it waits"])
def test_an_import_ends_with_its_client_and_its_place_comes_back(origin, packed, tmp_path, monkeypatch, is_whole):
    import_all = Importing._upload

    def import_without_client(importing, made):
        until(lambda: has_left(importing.require_client))
        import_all(importing, made)

    with serving(new_settings(tmp_path, readers=1, job_slots=0)) as service:
        state, address = service.application.state, urlsplit(service.url)
        head = f"POST /v1/imports HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {ADMIN}\r\n"
        head += f"Content-Length: {len(packed)}\r\n\r\n"
        with monkeypatch.context() as patched:
            patched.setattr(Importing, "_upload", import_without_client)
            with socket.create_connection((address.hostname, address.port), timeout=60) as client:
                client.sendall(head.encode() + (packed if is_whole else packed[: len(packed) // 2]))
                until(lambda: state.readers.busy == 1)
                until(lambda: not is_whole or counts(state.workspace.database)["collections"] == 1)
            until(lambda: state.readers.busy == 0)
        assert service.organiser.get("/v1/collections").json()["items"] == []
        assert send(service, packed).status_code == 201


def has_left(require_client):
    try:
        require_client()
    except ClientDisconnect:
        return True
    return False


def test_a_large_folder_is_read_in_a_process_apart(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(intake, "LARGE_BYTES", 0)
    monkeypatch.setattr(intake, "LARGE_COMPRESSED_BYTES", 0)
    monkeypatch.setattr(release_folder, "_read", lambda *_: pytest.fail("it was read here"))
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        wrong = changed(packed, "data/release.json", lambda content: b"{}", sums=True)
        assert "release.json is not as a release has it" in send(service, wrong).json()["detail"]
        assert send(service, packed).status_code == 201
