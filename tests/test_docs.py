"""What docs/ says is there is there, its examples give what they say, and whatever there is, a page has it.

That every field of the policy is there is tested with the policy, in tests/trust/test_page.py.
"""

import ast
import io
import itertools
import json
import re
from urllib.parse import parse_qs

import numpy as np
import pytest

import gainboard
from benchmarks.pages import IMAGES, SHOWN, hashes_of_templates
from gainboard import errors
from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.client import LocalGainboard
from gainboard.dashboard.installing import PAGES
from gainboard.errors import BadExpression, BadGains, FaultyFile
from gainboard.metrics import Scale, parse_gains, resolve
from gainboard.settings import PREFIX, Settings
from gainboard.trec import FileLimits, RunReader, decompress_body, read_intent_qrels, read_qrels
from scripts import gallery
from tests.metrics.judged import judged, scores_of
from tests.outside import SOURCE
from tests.world.laboratories import Laboratory
from tests.world.pages import DOCS, rows
from tests.world.servers import description

SCALE = Scale(3)
TOPIC = {"b1": 1, "b2": 1, "b3": 1, "a1": 2, "a2": 2, "s1": 3, "n1": 0}
RANKING = ["b1", "s1", "unjudged", "n1", "a1"]
SHAPED = re.compile(r"[a-z]+(-[a-z]+)*")


def examples():
    """Each fenced example of formats.md: what it is, its code, its option, and its text."""
    return re.findall(r"```(run|qrels|intents|hex) (\S+)(?: order_by=(\S+))?\n(.*?)```", DOCS["formats.md"], re.DOTALL)


@pytest.mark.parametrize(("expression", "label"), rows("metrics.md", "labels"))
def test_an_expression_of_the_page_has_the_label_beside_it(expression, label):
    assert resolve(expression, SCALE, defaults={"gains": "3:2:1"}).label == label


@pytest.mark.parametrize("expression", [row[0] for row in rows("metrics.md", "refused")])
def test_an_expression_that_the_page_calls_refused_is(expression):
    with pytest.raises((BadExpression, BadGains)):
        resolve(expression, SCALE)


@pytest.mark.parametrize(("expression", "label"), rows("metrics.md", "pinned"))
def test_no_default_changes_what_the_page_calls_pinned(expression, label):
    assert resolve(expression, SCALE, defaults={"gains": "10:5:1", "rel": "2", "condensed": "true"}).label == label


@pytest.mark.parametrize(
    ("expression", "printed"), rows("metrics.md", "scores") + rows("choosing-a-metric.md", "scores")
)
def test_a_score_of_the_page_is_what_comes_out(expression, printed):
    metric = resolve(expression, SCALE, defaults={"gains": "3:2:1"})
    assert f"{scores_of(metric, judged({'t': TOPIC}, {'t': RANKING}))[0]:.6f}" == printed


def test_the_adjusted_gains_of_the_page_are_what_comes_out():
    table = rows("metrics.md", "adjust 3:2:1")[::-1]
    documents = np.array([[0, *(int(row[1]) for row in table)]])
    adjusted = parse_gains("adjust(3:2:1)", 3).by_class(documents, 1)[0, 1:]
    assert [f"{gain:.6f}" for gain in adjusted] == [f"{float(row[3].split('=')[1]):.6f}" for row in table]


@pytest.mark.outer
@pytest.mark.parametrize("page", ["jobs.md", "reports.md"])
def test_the_request_of_a_page_is_a_job_or_report(sqlite_service, page):
    ((path, sent),) = re.findall(r"<!-- example: ask -->\n```http\nPOST (\S+)\n(.*)\n```", DOCS[page])
    answer = Laboratory(sqlite_service, name="web").organiser.post(path, json=json.loads(sent))
    assert answer.status_code == 202, answer.text


def test_every_address_of_a_report_on_the_page_is_a_route():
    routes = {re.sub(r"\{\w+\}", "*", path): route.get("get") for path, route in description()["paths"].items()}
    for cell in re.findall(r"^\| (`/.*?) \|", DOCS["reports.md"], re.MULTILINE):
        address, *endings = re.findall("`(.*?)`", re.sub(r"\{\w+\}|NAME", "*", cell))
        for each in (address, *(f"{address.removesuffix('.csv')}{ending}" for ending in endings)):
            path, _, query = each.partition("?")
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
        if name in ("Fault", "FileWarning") or name.endswith(("faults.add", "self.fault")):
            first = call.args[0]
            yield from [str(first.value)] if isinstance(first, ast.Constant) else _keys(function)


def _keys(function):
    """Where a code is taken from a table in the same function: what the table's rows begin with."""
    for node in ast.walk(function):
        begins = node.keys if isinstance(node, ast.Dict) else node.elts[:1] if isinstance(node, ast.Tuple) else []
        for each in begins:
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and SHAPED.fullmatch(each.value):
                yield each.value


def test_every_fault_and_warning_of_the_source_is_described_and_no_other():
    faults, warnings = DOCS["formats.md"].split("## Faults")[1].split("## Warnings")
    faults = {*re.findall(r"^### (\S+)$", faults, re.MULTILINE)}
    assert faults | {*re.findall(r"^\| `(\S+)`", warnings, re.MULTILINE)} == codes()
    assert {code for _, code, _, _ in examples()} - {"ok"} == faults


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


def read(kind, order_by, text):
    content = [text.replace("␀", "\0").encode()]
    if kind == "hex":
        list(decompress_body(io.BytesIO(bytes.fromhex(text)), None, FileLimits()))
    elif kind == "run":
        list(RunReader(content, order_by=order_by))
    elif kind == "intents":
        read_intent_qrels(content, levels=3)
    else:
        read_qrels(content, levels=["B", "A", "S"] if " S " in text else 3)


ALONE = [row for row in examples() if row[1] not in ("no-common-topics", "no-declared-topics")]


@pytest.mark.parametrize(("kind", "code", "option", "text"), ALONE)
def test_an_example_of_a_fault_has_that_fault_in_its_last_line(kind, code, option, text):
    if code == "ok":
        read(kind, "score", text)
        return
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


def test_the_limits_of_a_file_are_described_with_their_defaults():
    table = DOCS["formats.md"].split("## Both")[1].split("## ")[0]
    for name, field in Settings.model_fields.items():
        if name.startswith("max_"):
            assert re.search(rf"\| {field.default:,}\D.*`{PREFIX}{name.upper()}` \|", table), name


def test_every_page_of_the_dashboard_is_found():
    page = DOCS["dashboard.md"].split("## Every page")[1]
    rows = {row[0]: row[1] for row in re.findall(r"^\| `(\S+?)` \| (.+?) \|$", page, re.MULTILINE)}
    shown = {
        re.sub(r":\w+}", "}", route.path_format)
        for module in PAGES
        for route in module.router.routes
        if "GET" in route.methods
        and not re.search(r"\.(json|csv|ndjson|svg|tar|tex|txt)$|\{form\}|/events$", route.path_format)
    }
    assert rows.keys() == shown


@pytest.mark.parametrize("kind", [*every_kind(), *every_report_kind()], ids=lambda kind: kind.name)
def test_the_gallery_has_every_kind_as_it_computes_now(kind):
    made = json.loads(gallery.MADE.read_text(encoding="utf-8"))[kind.name]
    wanted = (gallery.version_of(kind), gallery.request_of(kind))
    assert (made["version"], made["body"]) == wanted, "to renew it: python -m scripts.gallery"
    assert (gallery.PICTURES / f"{kind.name}.svg").exists() == ("caption" in made)


def test_no_picture_is_older_than_the_page_that_it_shows():
    assert {path.stem for path in IMAGES.glob("*.png")} == SHOWN.keys()
    of_pictures = json.loads((IMAGES / "templates.json").read_text(encoding="utf-8"))
    assert of_pictures == hashes_of_templates(), "to renew them: python -m benchmarks.pages --screenshots"
