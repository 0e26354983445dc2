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

from tests.corpus.entries import ANSWER, HASH

WIDTH = 116
MOST_LINES = {"application/json": 40, "application/problem+json": 40, "text/html": 60}
MOST_SUMMARY = 8
HEADERS = ("location", "link", "retry-after", "www-authenticate", "content-disposition", "allow", "set-cookie", "vary")
"""The headers that an entry may have, the most telling first; at most four are shown."""
UNSTABLE = ("etag", "engine_version", "engine_versions", "compiled", "environment", "result_sha256")
_NUMBER = re.compile(r"-?\d+\.\d{12,}(?:[eE][-+]?\d+)?")
_BLOCKS = {"p", "div", "section", "article", "li", "ul", "ol", "tr", "table", "form", "fieldset", "legend", "dl", "dt"}
_BLOCKS |= {"dd", "h1", "h2", "h3", "h4", "caption", "pre", "blockquote", "details", "summary", "nav", "figure", "main"}
_BLOCKS |= {"header", "footer", "label", "figcaption", "output", "aside", "br", "hr"}
_HIDDEN = {"script", "style", "head", "template"}


def answer_lines(answer, names, shows=()):
    """Return the lines of an entry for an answer of HTTP; `names` gives ids their names."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    lines = [f"{ANSWER}{answer.status_code} {kind}".rstrip()]
    named = [*shows, *(each for each in HEADERS if each not in shows and each != "vary")]
    wanted = [each for each in named if each in answer.headers]
    lines += [f"  {name}: {names.hidden(answer.headers[name])}" for name in wanted[:4]]
    if not answer.content:
        return lines
    if kind in ("application/json", "application/problem+json"):
        value = _stable(answer.json(), shows)
        if "openapi" in value and "paths" in value:
            return lines + _description_lines(answer.json())
        return lines + _bounded(
            names.hidden(json_text(value)), kind, lambda: [names.hidden(each) for each in _json_summary(value)]
        )
    if kind == "text/html":
        text = names.hidden(page_text(answer.text, whole="whole" in shows))
        return lines + _bounded(text, kind, lambda: _page_summary(text))
    if kind == "application/x-tar":
        return lines + _bounded("\n".join(_member_lines(answer.content, names)), kind, lambda: [])
    try:
        text = _rounded(names.hidden(answer.content.decode()))
    except UnicodeDecodeError:
        return [*lines, f"{HASH}of binary content: {len(answer.content):,} bytes"]
    if text.startswith("# HELP"):
        return lines + _family_lines(text)
    return lines + _bounded(text, kind, lambda: _text_summary(text))


def _family_lines(text):
    """Return the names and types of what is counted, for no two processes have equal counts and times."""
    families = re.findall(r"(?m)^# TYPE (\S+(?<!_created)) (\w+)$", text)
    return _filled([f"{name} {kind}" for name, kind in families], "").split("\n")


def _member_lines(archive, names):
    """Return the names of the files of an archive, a folder a line."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        members = [PurePosixPath(names.hidden(member.name)) for member in opened if member.isfile()]
    folders = groupby(sorted(members, key=lambda file: (file.parent, file.name)), key=lambda file: file.parent)
    return [f"{folder}: {' '.join(file.name for file in files)}" for folder, files in folders]


def _description_lines(description):
    """Return a hash of each operation and schema, so that a change shows where it is."""
    lines = [f"everything else: {_short({**description, 'paths': 0, 'components': 0})}"]
    for path, operations in description["paths"].items():
        lines += [f"{method.upper()} {path}: {_short(operation)}" for method, operation in operations.items()]
    schemas = [f"{name} {_short(schema)}" for name, schema in description["components"]["schemas"].items()]
    return [*lines, "schemas:", *_filled(schemas, " ").split("\n")]


def _short(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]


def help_lines(texts):
    """Return a hash of each command's help."""
    return [f"{ANSWER}exit 0", *(f"{name}: {len(text.splitlines())} lines, {_short(text)}" for name, text in texts)]


def command_lines(code, shown, said):
    """Return the lines of an entry for a command: its exit code, what it printed, and what it said about that."""
    lines = [f"{ANSWER}exit {code}"]
    if shown.strip():
        text = _rounded(shown)
        lines += _bounded(text, "text/plain", lambda: _text_summary(text))
    return lines + [f"! {line}".rstrip() for line in said.rstrip("\n").split("\n") if line]


def _bounded(text, kind, summary):
    lines = [line.rstrip() for line in text.rstrip("\n").split("\n")]
    lines = [f"\\{line}" if line.startswith("=== ") else line for line in lines]
    if len(lines) <= MOST_LINES.get(kind, 40) and max(map(len, lines)) <= 2_000:
        return lines
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return [f"{HASH}{digest[:16]} of {len(lines)} lines", *(each[:WIDTH] for each in summary()[:MOST_SUMMARY])]


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
    def __init__(self, whole):
        super().__init__(convert_charrefs=True)
        self.lines, self._line = [], ""
        self._whole, self._in_main, self._hidden, self._figure, self._link = whole, whole, 0, [], []
        self._is_title = False
        self._choices = None

    def end_line(self):
        """Begin a new line."""
        self.lines.append(" ".join(self._line.split()).strip("| "))
        self._line = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if self._figure:
            self._drawn.update(f"{tag} {attrs}".encode())
        if tag == "title" and not self._figure:
            self._is_title = True
        if tag in _HIDDEN or (tag == "body" and not self._whole):
            self._hidden += tag != "body"
        if tag == "main":
            self._in_main = True
        if tag == "svg":
            self._figure.append(given.get("aria-label") or "")
            self._drawn = hashlib.sha256(str(attrs).encode())
        if not self._is_read:
            return
        if tag in _BLOCKS:
            self.end_line()
        if tag in ("td", "th"):
            self._line += " | "
        elif tag[:1] == "h" and tag[1:].isdigit():
            self._line += "#" * int(tag[1]) + " "
        elif tag == "li":
            self._line += "- "
        elif tag == "a":
            self._link.append(given.get("href"))
        elif tag == "form":
            self._line += f"[form {given.get('method', 'get')} {given.get('action', '')}]"
            self.end_line()
        elif tag in ("input", "textarea", "button"):
            if given.get("type") == "hidden" and given.get("name") == "csrf":
                return
            told = [given.get("type", tag), f"{given.get('name', '')}={given.get('value', '') or ''}"]
            told += [each for each in ("checked", "disabled", "required", "min", "max", "pattern") if each in given]
            self._line += f" [{' '.join(told)}] "
        elif tag == "select":
            self._line += f" [select {given.get('name', '')}: "
        elif tag == "option":
            self._line += f" {'*' if 'selected' in given else ''}{given.get('value', '')}="
        elif tag == "img":
            self._line += f" (image {given.get('src', '')}: {given.get('alt', '')}) "
        if given.get("title") and tag != "svg":
            self._line += f" ({given['title']}) "

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
        if not self._is_read:
            return
        if tag == "a" and self._link:
            href = self._link.pop()
            self._line += f" <{href}>" if href else ""
        elif tag == "select":
            self._line += "] "
        if tag in _BLOCKS:
            self.end_line()
        if tag == "main" and not self._whole:
            self._in_main = False

    def handle_data(self, data):
        if self._is_title:
            self.lines.append(f"(title: {' '.join(data.split())})")
        elif self._figure:
            self._figure.append(data)
        elif self._is_read:
            self._line += data

    @property
    def _is_read(self):
        return self._in_main and not self._hidden and not self._figure
