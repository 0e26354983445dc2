"""What docs/ says is there is there, and its examples give what they say."""

import ast
import io
import itertools
import json
import re
from urllib.parse import parse_qs

import numpy as np
import pytest

import gainboard
from gainboard import errors
from gainboard.analyses.page import renewed as kinds_renewed
from gainboard.analyses.page import renewed as reports_renewed
from gainboard.cli.page import renewed as commands_renewed
from gainboard.client import LocalGainboard
from gainboard.errors import BadExpression, BadGains, FaultyFile
from gainboard.metrics import Scale, parse_gains, resolve
from gainboard.metrics.page import renewed
from gainboard.settings import PREFIX, Settings
from gainboard.trec import FileLimits, RunReader, decompressed, read_intent_qrels, read_qrels
from tests.metrics.judged import judged, scores_of
from tests.outside import ROOT, SOURCE
from tests.world.laboratories import Laboratory

DOCS = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
SCALE = Scale(3)
TOPIC = {"b1": 1, "b2": 1, "b3": 1, "a1": 2, "a2": 2, "s1": 3, "n1": 0}
RANKING = ["b1", "s1", "unjudged", "n1", "a1"]
SHAPED = re.compile(r"[a-z]+(-[a-z]+)*")


def rows(page, mark):
    """The cells of the tables below a mark, without their code marks."""
    tables = re.findall(rf"<!-- {mark} -->\n\|.*\n\| ---.*\n((?:\|.*\n)+)", DOCS[page])
    return [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in "".join(tables).splitlines()]


def examples():
    """Each fenced example of formats.md: what it is, its code, its option, and its text."""
    return re.findall(r"```(run|qrels|intents|hex) (\S+)(?: order_by=(\S+))?\n(.*?)```", DOCS["formats.md"], re.DOTALL)


@pytest.mark.parametrize(("expression", "label"), rows("metrics.md", "labels"))
def test_an_expression_of_the_page_has_the_label_beside_it(expression, label):
    assert resolve(expression, SCALE, collection={"gains": "3:2:1"}).label == label


@pytest.mark.parametrize("expression", [row[0] for row in rows("metrics.md", "refused")])
def test_an_expression_that_the_page_calls_refused_is(expression):
    with pytest.raises((BadExpression, BadGains)):
        resolve(expression, SCALE)


@pytest.mark.parametrize(("expression", "label"), rows("metrics.md", "pinned"))
def test_no_default_changes_what_the_page_calls_pinned(expression, label):
    assert resolve(expression, SCALE, query={"gains": "10:5:1", "rel": "2", "condensed": "true"}).label == label


@pytest.mark.parametrize(
    ("expression", "printed"), rows("metrics.md", "scores") + rows("choosing-a-metric.md", "scores")
)
def test_a_score_of_the_page_is_what_comes_out(expression, printed):
    metric = resolve(expression, SCALE, collection={"gains": "3:2:1"})
    assert f"{scores_of(metric, judged({'t': TOPIC}, {'t': RANKING}))[0]:.6f}" == printed


def test_the_adjusted_gains_of_the_page_are_what_comes_out():
    table = rows("metrics.md", "adjust 3:2:1")[::-1]
    documents = np.array([[0, *(int(row[1]) for row in table)]])
    adjusted = parse_gains("adjust(3:2:1)", 3).by_class(documents, 1)[0, 1:]
    assert [f"{gain:.6f}" for gain in adjusted] == [f"{float(row[3].split('=')[1]):.6f}" for row in table]


def test_the_page_has_the_metrics_of_the_catalogue():
    page = DOCS["metrics.md"]
    assert page == renewed(page), "renew it: python -m gainboard.metrics.page docs/metrics.md"


def test_the_page_has_the_kinds_of_the_catalogue():
    page = DOCS["jobs.md"]
    assert page == kinds_renewed(page), "renew it: python -m gainboard.analyses.page docs/jobs.md"


def test_the_page_has_the_commands_and_options_that_there_are():
    page = DOCS["command-line.md"]
    assert page == commands_renewed(page), "renew it: python -m gainboard.cli.page docs/command-line.md"


@pytest.mark.outer
def test_the_request_of_the_page_is_a_job(sqlite_service):
    found = re.search(r"<!-- example: ask -->\n```http\n.*\n(.*)\n```", DOCS["jobs.md"])
    assert found is not None
    lab = Laboratory(sqlite_service)
    answer = lab.organiser.post(f"{lab.path}/jobs", json=json.loads(found[1]))
    assert answer.status_code == 202
    assert answer.json()["kind"] == json.loads(found[1])["kind"]


def test_the_page_has_the_reports_of_the_catalogue():
    page = DOCS["reports.md"]
    assert page == reports_renewed(page), "renew it: python -m gainboard.analyses.page docs/reports.md"


@pytest.mark.outer
def test_the_request_of_the_page_is_a_report(sqlite_service):
    found = re.search(r"<!-- example: ask -->\n```http\nPOST (\S+)\n(.*)\n```", DOCS["reports.md"])
    assert found is not None
    answer = Laboratory(sqlite_service, name="web").organiser.post(found[1], json=json.loads(found[2]))
    assert answer.status_code == 202
    assert answer.json()["name"] == json.loads(found[2])["name"]


def report_addresses():
    """The addresses of the table of reports.md, with `*` for what differs."""
    for cell in re.findall(r"^\| (`/.*?) \|", DOCS["reports.md"], re.MULTILINE):
        address, *endings = re.findall("`(.*?)`", re.sub(r"\{\w+\}|NAME", "*", cell))
        yield from (address, *(f"{address.removesuffix('.csv')}{ending}" for ending in endings))


def test_every_address_of_a_report_on_the_page_is_a_route(sqlite_service):
    paths = sqlite_service.anonymous.get("/openapi.json").json()["paths"]
    routes = {re.sub(r"\{\w+\}", "*", path): route["get"] for path, route in paths.items() if "get" in route}
    addresses = list(report_addresses())
    assert len(addresses) == 5
    for address in addresses:
        path, _, query = address.partition("?")
        assert path in routes
        assert {*parse_qs(query)} <= {parameter["name"] for parameter in routes[path]["parameters"]}


def codes():
    """Every code of a fault or warning that the service finds in a file; commands also say that there is none."""
    found = set()
    for path in {*SOURCE.rglob("*.py")} - {*(SOURCE / "gainboard/cli").rglob("*.py")}:
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef):
                found.update(_codes(function))
    return found


def _codes(function):
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call) and node.args):
        name = ast.unparse(call.func)
        if name in ("Fault", "FileWarning") or name.endswith("faults.add"):
            first = call.args[0]
            yield from [str(first.value)] if isinstance(first, ast.Constant) else _keys(function)


def _keys(function):
    """Where a code is taken from a table in the same function: what the table's rows begin with."""
    for node in ast.walk(function):
        begins = node.keys if isinstance(node, ast.Dict) else node.elts[:1] if isinstance(node, ast.Tuple) else []
        for each in begins:
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and SHAPED.fullmatch(each.value):
                yield each.value


def described():
    """The codes that formats.md has a section or a row for."""
    warnings = DOCS["formats.md"].split("## Warnings")[1]
    faults = DOCS["formats.md"].split("## Faults")[1].split("## Warnings")[0]
    return {*re.findall(r"^### (\S+)$", faults, re.MULTILINE), *re.findall(r"^\| `(\S+)`", warnings, re.MULTILINE)}


def test_every_fault_and_warning_of_the_source_is_described_and_no_other():
    found = codes()
    assert {"bad-columns", "crlf", "missing-topics", "no-common-topics"} <= found
    assert described() == found


def test_every_fault_has_an_example():
    faults = DOCS["formats.md"].split("## Faults")[1].split("## Warnings")[0]
    assert {code for _, code, _, _ in examples()} - {"ok"} == set(re.findall(r"^### (\S+)$", faults, re.MULTILINE))


def test_calls_in_python_work_as_they_stand():
    for name, text in DOCS.items():
        for call in re.findall(r"`gainboard\.(\w+)\(", text):
            assert hasattr(gainboard, call), f"{name}: the module has no {call}"
        calls = re.findall(r"\bgb\.(\w+)\(|\bGainboard\(\)\.(\w+)\(", text)
        for call in filter(None, itertools.chain.from_iterable(calls)):
            assert hasattr(LocalGainboard, call), f"{name}: the client has no {call}"
        if re.search(r"\bgb\.\w+\(", text):
            assert re.search(r"\bGainboard(\.local)?\([^)]*\)( as gb)?", text), f"{name} does not say what gb is"
            assert "gainboard.client" in text, f"{name} does not say where Gainboard is from"


def test_no_extra_is_installed_from_an_index_that_lacks_gainboard():
    for path in (*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb"), *(ROOT / "app").rglob("*.py")):
        assert not re.search(r"pip install[^`\n]*[ '\"]gainboard\b", path.read_text()), path


def read(kind, order_by, text):
    content = [text.replace("␀", "\0").encode()]
    if kind == "hex":
        list(decompressed(io.BytesIO(bytes.fromhex(text)), None, FileLimits()))
    elif kind == "run":
        list(RunReader(content, order_by=order_by))
    elif kind == "intents":
        read_intent_qrels(content, levels=3)
    else:
        read_qrels(content, levels=["B", "A", "S"] if " S " in text else 3)


@pytest.mark.parametrize(("kind", "code", "option", "text"), [row for row in examples() if row[1] == "ok"])
def test_an_example_without_a_fault_is_read(kind, code, option, text):
    read(kind, "score", text)


FAULTY = [row for row in examples() if row[1] not in ("ok", "no-common-topics", "no-declared-topics")]


@pytest.mark.parametrize(("kind", "code", "option", "text"), FAULTY)
def test_an_example_of_a_fault_has_that_fault_in_its_last_line(kind, code, option, text):
    with pytest.raises(FaultyFile) as caught:
        read(kind, "rank" if option == "rank" else "score", text)
    assert [fault.code for fault in caught.value.faults] == [code]
    assert caught.value.faults[0].line in (None, text.count("\n"))


def test_the_examples_of_files_with_other_topics_are_refused(sqlite_service):
    texts = {code: text for _, code, _, text in examples()}
    organiser = sqlite_service.organiser
    organiser.post("/v1/collections", json={"name": "web", "levels": 3, "topics": ["1", "2"]})
    run = organiser.post("/v1/collections/web/runs?team=lemur", content=texts["no-declared-topics"])
    qrels = organiser.put("/v1/collections/web/qrels", content=texts["no-common-topics"])
    for answer, code in ((run, "no-declared-topics"), (qrels, "no-common-topics")):
        assert [fault["code"] for fault in answer.json()["errors"]] == [code]


def test_every_problem_type_that_the_pages_name_is_there():
    slugs = {error.slug for error in errors.every_error()}
    assert {"judgments-hidden", "job-not-finished", "no-result"} <= slugs & set(
        re.findall(r"`([a-z-]+)`", DOCS["jobs.md"])
    )
    answers = DOCS["formats.md"].split("## Answers")[1].split("## Faults")[0]
    named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", answers.replace("`lemur-bm25`", ""))
    assert len(named) > 10
    assert set(named) <= slugs


def test_the_page_has_the_settings_that_there_are():
    page = DOCS["operating.md"]
    assert page == commands_renewed(page), "renew it: python -m gainboard.cli.page docs/operating.md"


def test_the_limits_of_a_file_are_described_with_their_defaults():
    table = DOCS["formats.md"].split("## Both")[1].split("## ")[0]
    for name, field in Settings.model_fields.items():
        if name.startswith("max_"):
            assert re.search(rf"\| {field.default:,}\D.*`{PREFIX}{name.upper()}` \|", table), name
