"""Readers of nuggets and of what judges say of answers, both as JSON Lines; every fault of them by line.

A nugget is a fact that a good answer to a topic has. Nuggets are lines `{"qid", "nuggets": [{"text", "importance"}]}`,
and assignments, which say whether a run's answer has them, are lines `{"qid", "run_id", "nuggets": [{"text",
"importance", "assignment"}]}`, as nuggetizer writes them (Pradeep et al., The great nugget recall, SIGIR 2025).
Verdicts on citations are lines `{"qid", "run_id", "answer": [{"text", "citations", "support"}]}`, or those of the
support evaluation of TREC RAG 2024, which has `topic_id`, `support_eval` and `eval_scores` in their place.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gainboard.trec.csv_files import topic_problem
from gainboard.trec.findings import SHOWN_CHARACTERS, Faults, FileLimits, quoted
from gainboard.trec.lines import Text, unreadable
from gainboard.vocabulary import Stray

VITAL, OKAY, STRAY = "0", "1", "2"
"""The importance of a nugget, as a digit. A stray one counts for metrics over all nuggets alone."""
IMPORTANCE: Final = {"vital": VITAL, "okay": OKAY}
ASSIGNMENTS: Final = {"not_support": "0", "partial_support": "1", "support": "2"}
"""The verdicts on a nugget, as digits, as are those on a citation. A stray label is `NO_VERDICT`."""
SUPPORT: Final = {
    **dict.fromkeys(("none", "ns", "no support"), "0"),
    **dict.fromkeys(("partial", "ps", "partial support"), "1"),
    **dict.fromkeys(("full", "fs", "full support"), "2"),
}
NO_VERDICT: Final = "3"
LONGEST_LINE: Final = 1 << 20
"""Bytes of a line: those of TREC's support evaluation repeat the segments that an answer cites."""
Digits = Mapping[str, str]
"""The digits of each topic: one for each of its nuggets, in their order."""


@dataclass(frozen=True)
class NuggetSet:
    """The nuggets of each topic, as texts, and their importance as digits; topics are in byte order."""

    texts: Mapping[str, list[str]]
    importance: Digits
    strays: int = 0
    """The number of nuggets with another importance than vital and okay."""

    def refit(self, earlier: NuggetSet, answered: Digits) -> tuple[dict[str, str], int]:
        """Return what a run was given by an earlier set in the order of this set, and how many nuggets lack a verdict.

        Topics of which any nugget lacks one are left out.
        """
        fitting, lacking = {}, 0
        for topic, digits in answered.items():
            verdict = dict(zip(earlier.texts[topic], digits, strict=True))
            texts = self.texts.get(topic, [])
            lacking += (absent := sum(text not in verdict for text in texts))
            if texts and not absent:
                fitting[topic] = "".join(verdict[text] for text in texts)
        return fitting, lacking


@dataclass(frozen=True)
class VerdictsFile:
    """The verdicts of a judge on answers, by run and topic: digits for nuggets, and for the citations of each sentence.

    `strays` is the number of labels that are none of the known ones.
    """

    nuggets: dict[str, dict[str, str]] = field(default_factory=dict)
    support: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    strays: int = 0

    @property
    def runs(self) -> list[str]:
        """The names of the runs, in the order of the file, those with nuggets first."""
        return list(dict.fromkeys((*self.nuggets, *self.support)))


def read_nuggets(
    chunks: Iterable[bytes], limits: FileLimits, topics: Collection[str] | None = None, stray: Stray = "refuse"
) -> NuggetSet:
    """Return the nuggets of a file. Raise FaultyFile with all faults; a topic must be one of `topics`, unless None."""
    faults, texts, importance, lines = Faults(limits.faults), {}, {}, dict[str, int]()
    known = None if topics is None else frozenset(topics)
    for number, record in _records(chunks, limits, faults):
        topic = _topic(record, number, faults, known)
        if topic is None or _is_repeated(topic, lines, number, faults):
            continue
        labels: dict[str, str] = {}
        for nugget in _objects(record, "nuggets", number, topic, faults):
            text, label = _text(nugget, number, topic, faults), nugget.get("importance")
            if text in labels:
                problem = f"the nugget {quoted(text)} of topic {quoted(topic)} is there twice. Keep one of the two"
                faults.add("duplicate-nugget", problem, number, topic=topic.encode())
            elif text is not None:
                labels[text] = IMPORTANCE.get(str(label), STRAY)
                if labels[text] == STRAY and stray == "refuse":
                    _add_stray(f"importance of {quoted(text)}", label, IMPORTANCE, number, topic, faults)
        texts[topic], importance[topic] = list(labels), "".join(labels.values())
    if not texts and not faults:
        faults.add("empty-file", "The file has no nuggets. A line has the nuggets of a topic")
    if faults:
        raise faults.error()
    order = sorted(texts, key=str.encode)
    strays = sum(digits.count(STRAY) for digits in importance.values())
    return NuggetSet({topic: texts[topic] for topic in order}, {topic: importance[topic] for topic in order}, strays)


def read_verdicts(
    chunks: Iterable[bytes],
    limits: FileLimits,
    nuggets: NuggetSet | None,
    topics: Collection[str] | None = None,
    stray: Stray = "refuse",
) -> VerdictsFile:
    """Return what a judge says of the answers of one or more runs: assignments of `nuggets`, verdicts on citations.

    Topics with nuggets are those of `nuggets`; others must be one of `topics`, unless None. Raise FaultyFile with all
    faults. A file of which any line is faulty has no verdict.
    """
    faults, file, strays = Faults(limits.faults), VerdictsFile(), 0
    lines: dict[tuple[str, ...], int] = {}
    known = frozenset(nuggets.texts) if nuggets else frozenset()
    declared = None if topics is None else frozenset(topics)
    for number, record in _records(chunks, limits, faults):
        is_support = "nuggets" not in record
        if not is_support and nuggets is None:
            faults.add("unknown-nugget", "there are no nuggets that this line could assign. Publish them first", number)
            continue
        topic, run = _topic(record, number, faults, declared if is_support else known), record.get("run_id")
        if not isinstance(run, str) or not run:
            faults.add("unknown-run", 'the line names no run. Name the run whose answer it is: "run_id"', number)
        elif topic is not None and not _is_repeated(topic, lines, number, faults, run, str(is_support)):
            if is_support:
                sentences, others = _read_sentences(record, number, topic, stray, faults)
                file.support.setdefault(run, {})[topic] = sentences
            else:
                assert nuggets is not None
                digits, others = _read_assignments(record, number, topic, nuggets, stray, faults)
                file.nuggets.setdefault(run, {})[topic] = digits
            strays += others
    if not lines and not faults:
        faults.add("empty-file", "The file has no verdicts. A line has those on a run's answer to a topic")
    if faults:
        raise faults.error()
    return replace(file, strays=strays)


def _read_assignments(
    record: Mapping[str, Any], number: int, topic: str, nuggets: NuggetSet, stray: Stray, faults: Faults
) -> tuple[str, int]:
    """Return the digits of a topic's nuggets in the order of their set, and the number of stray labels."""
    importance = dict(zip(nuggets.texts[topic], nuggets.importance[topic], strict=True))
    verdict: dict[str, str] = {}
    before = faults.total
    for nugget in _objects(record, "nuggets", number, topic, faults):
        text, label = _text(nugget, number, topic, faults), nugget.get("assignment")
        if text is None:
            continue
        if text not in importance:
            problem = f"topic {quoted(topic)} has no nugget {quoted(text)}. Copy its text from the nuggets as it is"
            faults.add("unknown-nugget", problem, number, topic=topic.encode())
        elif text in verdict:
            problem = f"the nugget {quoted(text)} of topic {quoted(topic)} is there twice. Keep one of the two"
            faults.add("duplicate-nugget", problem, number, topic=topic.encode())
        elif (
            IMPORTANCE.get(str(claimed := nugget.get("importance")), STRAY) != importance[text] and claimed is not None
        ):
            problem = f"the importance of {quoted(text)} is {quoted(str(claimed))} here, but another one in the nuggets"
            faults.add("other-importance", problem, number, topic=topic.encode())
        else:
            verdict[text] = ASSIGNMENTS.get(str(label), NO_VERDICT)
            if verdict[text] == NO_VERDICT and stray == "refuse":
                _add_stray(f"assignment of {quoted(text)}", label, ASSIGNMENTS, number, topic, faults)
    absent = [text for text in importance if text not in verdict]
    if absent and faults.total == before:  # an unknown nugget is often a missing one in other words
        problem = f"{len(absent)} nuggets of topic {quoted(topic)} have no assignment, such as {quoted(absent[0])}"
        faults.add("missing-nugget", f"{problem}. Assign each of them, not_support as well", number)
    return "".join(verdict.get(text, NO_VERDICT) for text in importance), list(verdict.values()).count(NO_VERDICT)


def _read_sentences(
    record: Mapping[str, Any], number: int, topic: str, stray: Stray, faults: Faults
) -> tuple[list[str], int]:
    """Return the digits of the citations of each sentence, and the number of stray labels."""
    sentences, strays = [], 0
    for sentence in _objects(record, "support_eval" if "support_eval" in record else "answer", number, topic, faults):
        labels = sentence.get("support", sentence.get("eval_scores", []))
        citations = sentence.get("citations", labels)
        if not isinstance(labels, list) or not isinstance(citations, list) or len(labels) > len(citations):
            problem = "a sentence has a list of citations, and a list with at most one verdict for each of them"
            faults.add("bad-support", f'{problem}: "citations": [0, 3], "support": ["full", "none"]', number)
            continue
        # The tools write null where a model gave no verdict, which is not `none`.
        digits = "".join(SUPPORT.get(json.dumps(label).strip('"').lower(), NO_VERDICT) for label in labels)
        strays += digits.count(NO_VERDICT)
        for label, digit in zip(labels, digits, strict=True) if stray == "refuse" else ():
            if digit == NO_VERDICT:
                _add_stray("support", label, ("full", "partial", "none"), number, topic, faults)
        sentences.append(digits)
    return sentences, strays


def _records(chunks: Iterable[bytes], limits: FileLimits, faults: Faults) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line. What is no object becomes a fault, and blank lines are skipped."""
    wide = replace(limits, line_bytes=max(limits.line_bytes, LONGEST_LINE))
    # With line numbers, which it reads for a part of a file, `Text` does not refuse JSON as a strange format of runs.
    text = Text(chunks, wide, range(1, sys.maxsize - 1), faults)
    for block in text.blocks():
        for number, line in zip(block.numbers, block.data[:-1].split(b"\n"), strict=True):
            if problem := unreadable(line := line.removesuffix(b"\r")):
                faults.add("bad-encoding", problem, number)
            elif line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    faults.add("bad-json", f"the line is not JSON: {str(error)[:SHOWN_CHARACTERS]}", number)
                    continue
                if isinstance(record, dict):
                    yield number, record
                else:
                    faults.add("bad-json", 'the line is not an object of a topic: {"qid": "51", ...}', number)


def _topic(record: Mapping[str, Any], number: int, faults: Faults, known: frozenset[str] | None) -> str | None:
    """Return the topic of a line; None if it is faulty."""
    named = record.get("qid", record.get("topic_id"))
    topic = str(named) if isinstance(named, str | int) and not isinstance(named, bool) else ""
    code, problem = topic_problem(topic, None)
    if not code and known is not None and topic not in known:
        code, problem = "unknown-topic", f"there is no topic {quoted(topic)}, such as {quoted(min(known, default=''))}"
    if code:
        faults.add(code, problem, number, topic=topic.encode())
    return None if code else topic


def _is_repeated(topic: str, lines: dict[Any, int], number: int, faults: Faults, *of_run: str) -> bool:
    """Return whether an earlier line is of the same topic, and of the same run if there is one; then it is a fault."""
    first = lines.setdefault((topic, *of_run), number)
    if first != number:
        whose = f" of run {quoted(of_run[0])}" if of_run else ""
        problem = f"topic {quoted(topic)}{whose} is on line {first} already. Keep one of the two lines"
        faults.add("duplicate-topic", problem, first, number, topic=topic.encode())
    return first != number


def _objects(record: Mapping[str, Any], name: str, number: int, topic: str, faults: Faults) -> list[dict[str, Any]]:
    """Return the objects of a list of a line, which may be empty for answers; what is none becomes a fault."""
    listed = record.get(name)
    if not isinstance(listed, list) or not all(isinstance(member, dict) for member in listed):
        faults.add("bad-json", f"`{name}` is not a list of objects", number, topic=topic.encode())
        return []
    if not listed and name == "nuggets":
        faults.add("missing-nugget", f"topic {quoted(topic)} has no nuggets. Leave the line out", number)
    return listed


def _text(nugget: Mapping[str, Any], number: int, topic: str, faults: Faults) -> str | None:
    text = nugget.get("text")
    if isinstance(text, str) and text:
        return text
    faults.add("bad-json", 'a nugget has no text: {"text": "Established in 2004"}', number, topic=topic.encode())
    return None


def _add_stray(name: str, label: object, known: Iterable[str], number: int, topic: str, faults: Faults) -> None:
    """Note the fault of a label that is none of the known ones, which models write: `failed`, or free text."""
    problem = f"the {name} is {quoted(str(label))}, none of {', '.join(known)}. Correct it, or count it as nothing"
    faults.add("stray-label", f"{problem}: stray=count", number, topic=topic.encode())
