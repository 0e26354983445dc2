"""Answers as text that people review: JSON in few lines, pages as what a reader sees, and a hash of what is longer."""

import hashlib
import io
import json
import re
import tarfile
from collections import Counter
from html.parser import HTMLParser
from itertools import groupby
from pathlib import PurePosixPath

from gainboard import __version__
from tests.corpus.entries import ANSWER, HASH

WIDTH = 116
MOST_LINES, MOST_CHARACTERS = 40, 1_800
MOST_SUMMARY = 8
MOST_CHOICES = 12
HEADERS = ("location", "link", "retry-after", "www-authenticate", "content-disposition", "allow", "set-cookie", "vary")
"""The headers that an entry may have, the most telling first; at most four are shown."""
UNSTABLE = ("etag", "engine_version", "engine_versions", "compiled", "environment", "result_sha256")
_NUMBER = re.compile(r"-?\d+\.\d{12,}(?:[eE][-+]?\d+)?")
_BLOCKS = {"p", "div", "section", "article", "li", "ul", "ol", "tr", "table", "form", "fieldset", "legend", "dl"}
_BLOCKS |= {"h1", "h2", "h3", "h4", "caption", "pre", "blockquote", "details", "summary", "nav", "figure", "main"}
_BLOCKS |= {"header", "footer", "label", "figcaption", "output", "aside", "br", "hr"}
_HIDDEN = {"script", "style", "head", "template"}


def answer_lines(answer, names, shows=()):
    """Return the lines of an entry for an answer of HTTP; `names` gives ids their names."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    lines = [f"{ANSWER}{answer.status_code} {kind}".rstrip()]
    named = [*shows, *(each for each in HEADERS if each not in shows and each != "vary")]
    wanted = [each for each in named if each in answer.headers]
    for name in wanted[:4]:
        lines += [f"  {name}: {names.hidden(_without_now(value))}" for value in answer.headers.get_list(name)]
    if not answer.content:
        return lines
    if kind in ("application/json", "application/problem+json"):
        value = _stable(answer.json(), shows)
        if "openapi" in value and "paths" in value:
            return lines + _description_lines(answer.json())
        return lines + _bounded(
            names.hidden(json_text(value)), lambda: [names.hidden(each) for each in _json_summary(value)]
        )
    if kind == "text/html":
        text = names.hidden(page_text(answer.text, whole="whole" in shows).replace(__version__, "{version}"))
        chosen = _sections(text, shows)
        return lines + _bounded(text, lambda: _page_summary(text), chosen)
    if kind == "application/x-tar":
        return lines + _bounded("\n".join(_member_lines(answer.content, names)), lambda: [])
    try:
        text = _rounded(names.hidden(answer.content.decode()))
    except UnicodeDecodeError:
        return [*lines, f"{HASH}of binary content: {len(answer.content):,} bytes"]
    if text.startswith("# HELP"):
        return lines + _family_lines(text)
    return lines + _bounded(text, lambda: _text_summary(text))


def _family_lines(text):
    """Return the names and types of what is counted, for no two processes have equal counts and times."""
    families = re.findall(r"(?m)^# TYPE (\S+(?<!_created)) (\w+)$", text)
    return _filled([f"{name} {kind}" for name, kind in families], "").split("\n")


def _member_lines(archive, names):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        members = [PurePosixPath(names.hidden(member.name)) for member in opened if member.isfile()]
    folders = groupby(sorted(members, key=lambda file: (file.parent, file.name)), key=lambda file: file.parent)
    return [f"{folder}: {' '.join(file.name for file in files)}" for folder, files in folders]


def _without_now(value):
    """Name the time at which a browser shall forget a cookie: it is that of the real clock."""
    return re.sub(r"(?<=expires=)\w{3}, [\w :]+ GMT", "{now}", value)


def _description_lines(description):
    """Return a hash of each operation and schema, so that a change shows where it is."""
    lines = [f"everything else: {_short({**description, 'paths': 0, 'components': 0})}"]
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            # The order of parameters and of members means nothing to clients, and would hide a change that does.
            parameters = sorted(operation.get("parameters", ()), key=lambda each: (each["in"], each["name"]))
            whole = json.loads(json.dumps({**operation, "parameters": parameters}, sort_keys=True))
            lines.append(f"{method.upper()} {path}: {_short(whole)}")
    schemas = [f"{name} {_short(schema)}" for name, schema in description["components"]["schemas"].items()]
    return [*lines, "schemas:", *_filled(schemas, " ").split("\n")]


def _short(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def help_lines(texts):
    return [f"{ANSWER}exit 0", *(f"{name}: {len(text.splitlines())} lines, {_short(text)}" for name, text in texts)]


def command_lines(code, shown, said):
    """Return the lines of an entry for a command: its exit code, what it printed, and what it said about that."""
    lines = [f"{ANSWER}exit {code}"]
    if shown.strip():
        text = _rounded(shown)
        lines += _bounded(text, lambda: _text_summary(text))
    return lines + [f"! {line}".rstrip() for line in _without_usage(said).rstrip("\n").split("\n") if line]


def _without_usage(said):
    """Leave out what argparse prints of a command before its error: it differs between versions of Python."""
    said = re.sub(r"(?ms)^usage: .*?(?=^\S+( \S+)*: error: )", "", said)
    return re.sub(r" \(choose from .*\)", " (choose from ...)", said)


def _bounded(text, summary, chosen=()):
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    lines = [f"\\{line}" if line.startswith("=== ") else line for line in lines]
    if len(lines) <= MOST_LINES and sum(map(len, lines)) <= MOST_CHARACTERS:
        return lines
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return [
        f"{HASH}{digest[:16]} of {len(lines)} lines",
        *(chosen or (each[:WIDTH].rstrip() for each in summary()[:MOST_SUMMARY])),
    ]


def _sections(text, names):
    """Return the lines under these headings, summaries and labels of a page, for what a hash alone would hide."""
    lines, shown = text.split("\n"), []
    for at, line in enumerate(lines):
        if line in names:
            after = (end for end, each in enumerate(lines[at + 1 :], at + 1) if each.startswith(("#", "> ", "(label ")))
            shown += lines[at : next(after, len(lines))]
    return shown


def _rounded(text):
    """Give numbers twelve digits: the last ones may differ where another processor adds."""
    return _NUMBER.sub(lambda found: f"{float(found[0]):.12g}", text)


def _stable(value, shows):
    """Leave out what another release, process or processor changes, unless the entry shows it."""
    if isinstance(value, dict):
        return {
            key: "..." if _is_unstable(key, value) and key not in shows else _stable(each, shows)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_stable(each, shows) for each in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def _is_unstable(key, within):
    """Return whether this changes. Verifications name results by hashes, which have all digits of their numbers."""
    is_hash_of_result = ("outcome" in within and key == "sha256") or (key == "results" and "environment" in within)
    return key in UNSTABLE or is_hash_of_result


def json_text(value, indent=0, room=0):
    """Write JSON in few lines: what fits shares a line."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + room + len(flat) <= WIDTH or not value or not isinstance(value, (dict, list)):
        return flat
    if isinstance(value, dict):
        names = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        parts = [
            name + json_text(each, indent + 1, len(name) + 1) for name, each in zip(names, value.values(), strict=True)
        ]
    else:
        parts = [json_text(each, indent + 1, 1) for each in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{_filled(parts, ' ' * (indent + 1))}\n{' ' * indent}{end}"


def _filled(parts, inner):
    lines = []
    for number, part in enumerate(parts):
        piece = part + ("," if number < len(parts) - 1 else "")
        if lines and "\n" not in lines[-1] + piece and len(lines[-1]) + len(piece) < WIDTH:
            lines[-1] += f" {piece}"
        else:
            lines.append(inner + piece)
    return "\n".join(lines)


def _json_summary(value):
    if isinstance(value, dict):
        return [f"{key}: {_brief(each)}" for key, each in value.items()]
    return [_brief(value)]


def _brief(value):
    if isinstance(value, dict):
        return f"{{{', '.join(map(str, value))}}}"
    if isinstance(value, list):
        return f"{len(value)} x {_brief(value[0])}" if value else "[]"
    return json.dumps(value, ensure_ascii=False)


def _text_summary(text):
    lines = text.rstrip("\n").split("\n")
    return [*lines[:4], "...", *lines[-3:]] if len(lines) > 8 else lines


def _page_summary(text):
    heads = [line for line in text.split("\n") if line.startswith(("#", "(title"))]
    return [*heads[: MOST_SUMMARY - 1], ", ".join(f"{n} {what}" for what, n in _counts(text).items())]


def _counts(text):
    kinds = {"links": r"<[^>]+>", "rows": r"(?m)^.* \| ", "fields": r"\[[a-z]+ [^]]*=", "figures": r"\(figure"}
    return Counter({name: len(re.findall(pattern, text)) for name, pattern in kinds.items()})


def page_text(html, whole=False):
    """Return what a reader of a page sees, a block a line: links with addresses, fields with values, cells of rows."""
    reader = _PageReader(whole)
    reader.feed(html)
    reader.close()
    reader.end_line()
    return "\n".join(line for line in reader.lines if line)


class _PageReader(HTMLParser):
    """Writes a line a block, and a line a row of a table, whatever its cells hold."""

    def __init__(self, whole):
        super().__init__(convert_charrefs=True)
        self.lines, self._line = [], ""
        self._whole, self._in_main, self._hidden, self._figure, self._link = whole, whole, 0, [], []
        self._is_title, self._cells, self._kept, self._data = False, None, 0, None
        self._choices, self._is_open = None, False

    def end_line(self):
        self.lines.append(" ".join(self._line.split()))
        self._line = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if self._figure:
            self._drawn.update(f"{tag} {attrs}".encode())
        if tag == "title" and not self._figure:
            self._is_title = True
        if tag in _HIDDEN or (tag == "body" and not self._whole):
            self._hidden += tag != "body"
        if tag == "script" and given.get("type") == "application/json" and self._in_main:
            self._data = ""
        if tag == "main":
            self._in_main = True
        if tag == "svg":
            self._figure.append(given.get("aria-label") or "")
            self._drawn = hashlib.sha256(str(attrs).encode())
        if not self._is_read:
            return
        self._begin(tag)
        if tag == "details":
            self._is_open = "open" in given
        if tag == "textarea":
            self._line += _told(given)
        self._show(tag, given)
        if tag not in ("svg", "textarea"):
            self._line += _told(given)

    def _begin(self, tag):
        if tag == "tr":
            self.end_line()
            self._cells = 0
        elif tag in ("td", "th") and self._cells is not None:
            self._line += " | " if self._cells else ""
            self._cells += 1
        elif tag in _BLOCKS:
            self._end_block()
        self._kept += tag in ("pre", "textarea")

    def _end_block(self):
        if self._cells is None:
            self.end_line()
        else:
            self._line += " "

    def _show(self, tag, given):
        if tag[:1] == "h" and tag[1:].isdigit():
            self._line += "#" * int(tag[1]) + " "
        elif tag == "li":
            self._line += "- "
        elif tag == "dd":
            self._line += ": "
        elif tag == "summary":
            self._line += "v " if self._is_open else "> "
        elif tag == "a":
            self._link.append(given.get("href"))
        elif tag == "form":
            self._line += f"[form {given.get('method', 'get')} {given.get('action', '(by script)')}] "
            self._end_block()
        elif tag in ("input", "textarea", "button"):
            self._show_field(tag, given)
        elif tag in ("select", "datalist"):
            self._line += f" [{tag} {given.get('name') or given.get('id', '')}: "
            self._choices = []
        elif tag == "option" and self._choices is not None:
            self._choices.append(["*" if "selected" in given else "", given.get("value") or ""])
        elif tag == "img":
            self._line += f" (image {given.get('src', '')}: {given.get('alt', '')}) "

    def _show_field(self, tag, given):
        if given.get("name") == "csrf":
            return
        told = [given.get("type", tag)]
        if given.get("name"):
            told.append(given["name"] if tag == "textarea" else f"{given['name']}={given.get('value') or ''}")
        told += [
            f"{name}={given[name]}" for name in ("placeholder", "min", "max", "pattern", "list") if given.get(name)
        ]
        told += [
            name for name in ("checked", "disabled", "required", "readonly", "multiple", "hidden") if name in given
        ]
        self._line += f" [{' '.join(told)}{': ' if tag == 'textarea' else '] '}"

    def handle_endtag(self, tag):
        if tag == "title":
            self._is_title = False
        if tag == "svg" and self._figure:
            told = " ".join(" ".join([*self._figure, self._drawn.hexdigest()[:6]]).split())
            self._figure = []
            if self._is_read:
                self._line += f" (figure: {told}) "
        if tag in _HIDDEN:
            self._hidden -= 1
        if tag == "script" and self._data is not None:
            self._line += f" (drawn from data {_short(_coarse(json.loads(self._data)))}) "
            self._data = None
        if not self._is_read:
            return
        if tag in ("pre", "textarea"):
            self._kept -= 1
            self._line += "] " if tag == "textarea" else ""
        if tag == "a" and self._link:
            href = self._link.pop()
            self._line += f" <{href}>" if href else ""
        elif tag in ("select", "datalist"):
            self._line += f"{_listed(self._choices)}] "
            self._choices = None
        elif tag == "tr":
            self.end_line()
            self._cells = None
        elif tag in _BLOCKS:
            self._end_block()
        if tag == "main" and not self._whole:
            self._in_main = False

    def handle_data(self, data):
        if self._data is not None:
            self._data += data
        elif self._is_title:
            self.lines.append(f"(title: {' '.join(data.split())})")
        elif self._figure:
            self._figure.append(data)
        elif not self._is_read:
            return
        elif self._choices is not None:
            if self._choices and data.strip():
                self._choices[-1][1] += f"={data.strip()}" if self._choices[-1][1] else data.strip()
        elif self._kept:
            for number, line in enumerate(data.split("\n")):
                if number:
                    self._end_block()
                self._line += line
        else:
            self._line += data

    @property
    def _is_read(self):
        return self._in_main and not self._hidden and not self._figure


def _told(given):
    """Return what scripts and readers of screens get from an element beside its text."""
    named = {"title": "title", "aria-label": "label", "aria-current": "current"}
    told = [(own, given[name]) for name, own in named.items() if given.get(name)]
    told += [(name, value) for name, value in given.items() if name.startswith("data-") and name != "data-csrf"]
    return "".join(f" ({name} {value}) " if value else f" ({name}) " for name, value in told)


def _listed(choices):
    """Return the choices of a field: the first ones and how many there are, if there are many."""
    texts = ["".join(each) for each in choices]
    if len(texts) <= MOST_CHOICES:
        return ", ".join(texts)
    chosen = [each for each in texts if each.startswith("*")]
    return ", ".join([*texts[:3], "...", *chosen, f"{len(texts)} in all, {_short(texts)}"])


def _coarse(value):
    """Give the numbers of a drawing nine digits: nobody sees more."""
    if isinstance(value, dict):
        return {key: _coarse(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_coarse(each) for each in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
