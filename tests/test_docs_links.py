"""The pages lead where they say, in short sentences; their commands, files and tests are ones, and so is a metric."""

import re
import shlex
import subprocess
import sys
import textwrap
from functools import cache

import pytest

from gainboard.cli.parsing import every_command, parser
from gainboard.documentation import every_page, heading_id
from tests.outside import ROOT, outside

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs").glob("*.md")]
INLINE = re.compile(r"(?<!`)`(gainboard [a-z][^`\n]*)`")
CODE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)


@cache
def anchors(page):
    """The addresses of a page's headings, as GitHub makes them; those that the program makes, too."""
    of_help = [each.text for each in every_page().values() if ROOT / each.source == page]
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", (of_help or [page.read_text(encoding="utf-8")])[0]), re.MULTILINE)
    return {heading_id(heading) for heading in headings}


def problem(page, link):
    """Whether a link of a page leads nowhere."""
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return not target.exists() or bool(anchor and anchor not in anchors(target))


@pytest.mark.outer  # a process makes what pages say of the program
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text(encoding="utf-8")))
    assert [link for link in links if not link.startswith("http") and problem(page, link)] == []


def test_every_page_is_listed_in_the_first_one():
    first = ROOT / "docs" / "index.md"
    others = {*(ROOT / "docs").glob("*.md")} - {first}
    assert [page.name for page in others if f"]({page.name})" not in first.read_text(encoding="utf-8")] == []
    assert "](docs/index.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_within_a_text_is_one(page):
    for command in INLINE.findall(page.read_text(encoding="utf-8")):
        words = shlex.split(command)[1:]
        if len(words) > 2:
            parser(words[:1]).parse_args(words)  # exits where it is not understood
        elif words[:1] == ["trec_eval"]:  # its help is trec_eval's own
            assert parser(words).parse_args([*words, "--help"]).arguments[-1] == "--help"
        else:  # it is named, without what it needs
            with pytest.raises(SystemExit) as ended:
                parser(words[:1]).parse_args([*words, "--help"])
            assert ended.value.code == 0, command


def test_every_command_is_named_by_a_page():
    whole = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md"))
    names = [each.name for each in every_command()]
    assert [name for name in names if not re.search(rf"\bgainboard {name}\b|`{name}`", whole)] == []


MOST_WORDS = 40
ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[^a-z\s])")
"""A stop and a blank, before anything but a small letter: `e.g. two` is one sentence."""


def paragraphs(page):
    """Yield the paragraphs, headings and items of lists of a page, without code, comments and tables."""
    whole = []
    prose = re.sub(r"<!--.*?-->|^( *)```.*?^\1```$", "\n", page, flags=re.DOTALL | re.MULTILINE)
    for line in [*prose.splitlines(), ""]:
        is_code = not whole and line.startswith("    ")
        if not line.strip() or is_code or line.lstrip().startswith(("|", "#")) or ITEM.match(line):
            yield " ".join(whole)
            whole = []
        if line.startswith("#"):
            yield line.lstrip("# ")
        elif line.strip() and not is_code and not line.lstrip().startswith("|"):
            whole.append(line.strip())


def sentences(page):
    for paragraph in paragraphs(page):
        # A stop within code or an address ends no sentence, and code is one word.
        plain = re.sub(r"`[^`]*`", "`code`", re.sub(r"\]\([^)]*\)", "]", paragraph))
        yield from (sentence for sentence in END.split(plain) if sentence)


def words(sentence):
    """Count what has a letter or a digit in it."""
    return sum(any(letter.isalnum() for letter in word) for word in sentence.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_has_over_forty_words(page):
    long = [each for each in sentences(page.read_text(encoding="utf-8")) if words(each) > MOST_WORDS]
    assert long == [], "make two sentences of each"


CONTRIBUTING = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


def test_every_file_and_test_that_the_page_names_is_there():
    named = {name for name in re.findall(r"`((?:app|tests|docs)/[\w./]+)`", CONTRIBUTING) if "NAME" not in name}
    assert len(named) > 20
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r"`(test_\w+)`", CONTRIBUTING))
    assert len(named) > 8
    assert sorted(name for name in named if f"def {name}(" not in texts) == []


@pytest.mark.outer
def test_the_metric_of_the_page_is_one():
    (example,) = re.findall(r"<!-- example: metric -->\n *```python\n(.*?) *```", CONTRIBUTING, re.DOTALL)
    program = f"""from gainboard.metrics.precision import *
from gainboard.metrics.catalogue import metric
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings
{textwrap.dedent(example)}
from gainboard.metrics import Scale, resolve
from tests.metrics.judged import judged, scores_of
print(scores_of(resolve("Hit@2", Scale(1)), judged({{"t": {{"a": 1, "b": 1}}}}, {{"t": ["x", "a", "b"]}})))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=outside(), capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[1.]", "")
