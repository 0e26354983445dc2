"""ir_metadata: what is said of a run, as YAML (Breuer et al., SIGIR 2022).

It is in comments at the beginning of the run's file, or in a file beside it, as tirex-tracker writes it.

# ir_metadata.start
# schema-version: 0.1
# method:
#   automatic: true
# ir_metadata.end
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from gainboard.trec.findings import FileWarning

START, END = "ir_metadata.start", "ir_metadata.end"
GENERAL: Final = ("schema-version", "run-version", "tag")
SECTIONS: Final = ("platform", "research goal", "implementation", "method", "actor", "data", "resources", "metadata")
"""The parts of the schema, version 0.1: general ones, and the six components of PRIMAD; and two of tirex-tracker's."""
DEEPEST: Final = 100
"""The most levels of values. JSON is written of some more."""
HEADER, FILE = "The header of ir_metadata", "The file of ir_metadata"


@dataclass(frozen=True)
class RunMetadata:
    """Metadata: the text without comment signs, its values (None if they cannot be read), and what is wrong with it."""

    text: str
    values: Mapping[str, Any] | None
    faults: Sequence[str]

    def warnings(self) -> list[FileWarning]:
        """Return a warning for each fault. A run is stored all the same: the header says nothing about its ranking."""
        return [FileWarning("bad-metadata", fault) for fault in self.faults]


def read_metadata(head: bytes, tag: str) -> RunMetadata | None:
    """Return the header at the beginning of a file, of which `head` has the first bytes; None without one.

    A longer header has no end. `tag` is the run tag of the file's lines, which the header should have, too.
    """
    lines = head.decode(errors="replace").splitlines()
    begin = next((number for number, line in enumerate(lines) if line.strip()), None)
    if begin is None or _uncomment(lines[begin]).strip() != START or not lines[begin].startswith("#"):
        return None
    inside: list[str] = []
    for line in lines[begin + 1 :]:
        if not line.startswith("#"):
            break
        if _uncomment(line).strip() == END:
            return _read("\n".join(inside), begin + 1, tag, HEADER)
        inside.append(_uncomment(line))
    where = f"within the first {len(head):,} bytes"
    return RunMetadata("\n".join(inside), None, [f"{HEADER} has no line `# {END}` {where}"])


def read_metadata_file(content: bytes, tag: str) -> RunMetadata:
    """Return the metadata of a file beside a run. tirex-tracker puts its two lines around them without signs."""
    lines = content.decode(errors="replace").splitlines()
    begin = 1 if lines and lines[0].strip() == START else 0
    end = -1 if lines and lines[-1].strip() == END else None
    return _read("\n".join(lines[begin:end]), begin, tag, FILE)


def _uncomment(line: str) -> str:
    return line.removeprefix("#").removeprefix(" ")


def _read(text: str, before: int, tag: str, where: str) -> RunMetadata:
    try:
        loaded = _as_json_value(yaml.load(text, _Loader))
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f" in line {before + 1 + error.problem_mark.line}"
        return RunMetadata(text, None, [_escape_surrogates(f"{where} is not YAML{line}: {error.problem}")])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else type(error).__name__
        return RunMetadata(text, None, [_escape_surrogates(f"{where} is not YAML: {why}")])
    if not isinstance(loaded, dict):
        return RunMetadata(text, None, [f"{where} is not a mapping of keys such as `method:`"])
    return RunMetadata(text, loaded, list(_faults(loaded, tag)))


def _faults(values: Mapping[str, Any], tag: str) -> Iterator[str]:
    parts = (*GENERAL, *SECTIONS)
    for written, value in values.items():
        # tirex-tracker writes `schema version`.
        key = named if (named := written.replace(" ", "-")) in GENERAL else written
        if key not in parts:
            yield f"ir_metadata has no part {key!r}. Its parts are {', '.join(parts)}"
        elif key in SECTIONS and not isinstance(value, dict):
            yield f"The part {key!r} of ir_metadata is not a mapping"
        elif key in GENERAL and isinstance(value, dict | list):
            yield f"The part {key!r} of ir_metadata is not a single value"
    if (tag_there := values.get("tag")) is not None and str(tag_there) != tag:
        yield f"ir_metadata has the tag {str(tag_there)!r}, but the lines of the run have {tag!r}"


def _as_json_value(value: Any, depth: int = 0) -> Any:
    """Return a value that JSON has. Dates become text. Raise ValueError if it is too deep."""
    if depth > DEEPEST:
        raise ValueError(f"values are nested more than {DEEPEST} times")
    if isinstance(value, dict):
        return {_escape_surrogates(str(key)): _as_json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_as_json_value(item, depth + 1) for item in value]
    is_finite = isinstance(value, float) and math.isfinite(value)
    return value if value is None or isinstance(value, bool | int) or is_finite else _escape_surrogates(str(value))


def _escape_surrogates(text: str) -> str:
    """Return the text with escapes for halves of characters, which UTF-8 cannot have, and YAML's escapes can make."""
    return text.encode(errors="backslashreplace").decode()


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # of a module without types
    """A loader of plain values. A few aliases of aliases would stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(None, None, "aliases are not read", self.peek_event().start_mark)
        return super().compose_node(parent, index)

    def construct_scalar_or_text(self, node: yaml.ScalarNode) -> Any:
        """Return the value of a number, truth value, time or binary, or its text if it is none that JSON has."""
        try:
            value = yaml.SafeLoader.yaml_constructors[node.tag](self, node)
        except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError):  # of `!!int ""`, `!!bool maybe`
            return node.value
        is_too_large = isinstance(value, int) and not -(1 << 63) <= value < 1 << 64
        return node.value if is_too_large else value


for _tag in ("bool", "int", "float", "timestamp", "binary"):
    _Loader.add_constructor(f"tag:yaml.org,2002:{_tag}", _Loader.construct_scalar_or_text)
