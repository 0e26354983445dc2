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
            # A damaged row may have fewer digits, or another topic.
            verdict = dict(zip(earlier.texts.get(topic, ()), digits, strict=False))
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
    replicates: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The run and the replicate of each of the names that is a replicate, such as one of several generations."""

    @property
    def runs(self) -> list[str]:
        """The names of the runs, in the order of the file, those with nuggets first."""
        return list(dict.fromkeys((*self.nuggets, *self.support)))


def read_nuggets(
    chunks: Iterable[bytes], limits: FileLimits, topics: Collection[str] | None = None, stray: Stray = "refuse"
) -> NuggetSet:
    """Return the nuggets of a file. Raise FaultyFile with all faults; a topic must be one of `topics`, unless None."""
    file, by_topic = _File(Faults(limits.faults), stray), dict[str, dict[str, str]]()
    for line in file.lines(chunks, limits):
        if topic := line.topic(topics):
            by_topic[topic] = {text: digit for text, digit, _ in line.nuggets("importance", IMPORTANCE, STRAY)}
    file.raise_faults("The file has no nuggets. A line has the nuggets of a topic")
    ordered = [(topic, by_topic[topic]) for topic in sorted(by_topic, key=str.encode)]
    importance = {topic: "".join(labels.values()) for topic, labels in ordered}
    return NuggetSet({topic: list(labels) for topic, labels in ordered}, importance, file.strays)


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
    file, verdicts = _File(Faults(limits.faults), stray), VerdictsFile()
    for line in file.lines(chunks, limits):
        is_support, run = "nuggets" not in line.record, line.record.get("run_id")
        if isinstance(run, str) and (replicate := line.record.get("replicate")) not in (None, ""):
            run, name = f"{run}@{replicate}", run
            verdicts.replicates[run] = name, str(replicate)
        if not is_support and nuggets is None:
            line.fault("unknown-nugget", "there are no nuggets that this line could assign. Publish them first")
        elif not isinstance(run, str) or not run:
            line.fault("unknown-run", 'the line names no run. Name the run whose answer it is: "run_id"')
        elif is_support or nuggets is None:
            if topic := line.topic(topics, run, "support"):
                verdicts.support.setdefault(run, {})[topic] = line.sentences()
        elif topic := line.topic(nuggets.texts, run):
            verdicts.nuggets.setdefault(run, {})[topic] = line.assignments(nuggets)
    file.raise_faults("The file has no verdicts. A line has those on a run's answer to a topic")
    return replace(verdicts, strays=file.strays)


@dataclass
class _File:
    """A file that is read: its faults, the number of its stray labels, and the line of each topic, or topic and run."""

    faults: Faults
    stray: Stray
    strays: int = 0
    line_of: dict[tuple[str, ...], int] = field(default_factory=dict)

    def lines(self, chunks: Iterable[bytes], limits: FileLimits) -> Iterator[_Line]:
        """Yield the lines that are objects. What is none becomes a fault, and blank lines are skipped."""
        wide = replace(limits, line_bytes=max(limits.line_bytes, LONGEST_LINE))
        # With line numbers, which it reads for a part of a file, `Text` does not refuse JSON as a strange format of
        # runs.
        for block in Text(chunks, wide, range(1, sys.maxsize - 1), self.faults).blocks():
            for number, line in zip(block.numbers, block.data[:-1].split(b"\n"), strict=True):
                if problem := unreadable(line := line.removesuffix(b"\r")):
                    self.faults.add("bad-encoding", problem, number)
                elif line.strip():
                    try:
                        record = json.loads(line)
                    except (ValueError, RecursionError) as error:
                        problem = f"the line is not JSON: {str(error)[:SHOWN_CHARACTERS]}"
                    else:
                        if isinstance(record, dict):
                            yield _Line(self, number, record)
                            continue
                        problem = 'the line is not an object of a topic: {"qid": "51", ...}'
                    self.faults.add("bad-json", problem, number)

    def raise_faults(self, empty: str) -> None:
        """Raise FaultyFile if there is any fault, or no line."""
        if not self.line_of and not self.faults:
            self.faults.add("empty-file", empty)
        if self.faults:
            raise self.faults.error()


@dataclass
class _Line:
    """A line of a file: an object about a topic, which is named in its faults."""

    file: _File
    number: int
    record: dict[str, Any]
    named: str = ""

    def fault(self, code: str, problem: str, *earlier: int) -> None:
        """Add a fault of this line, and of an earlier one."""
        self.file.faults.add(code, problem, *earlier, self.number, topic=self.named.encode())

    def topic(self, known: Collection[str] | None, *of_run: str) -> str | None:
        """Return the topic; None if it is faulty: unknown, or there already, of the same run if there is one."""
        topic = self.record.get("qid", self.record.get("topic_id"))
        self.named = str(topic) if isinstance(topic, str | int) and not isinstance(topic, bool) else ""
        code, problem = topic_problem(self.named, None)
        if not code and known is not None and self.named not in known:
            example = quoted(min(known, default=""))
            code, problem = "unknown-topic", f"there is no topic {quoted(self.named)}, such as {example}"
        if code:
            self.fault(code, problem)
            return None
        first = self.file.line_of.setdefault((self.named, *of_run), self.number)
        if first == self.number:
            return self.named
        whose = f" of run {quoted(of_run[0])}" if of_run else ""
        problem = f"topic {quoted(self.named)}{whose} is on line {first} already. Keep one of the two lines"
        self.fault("duplicate-topic", problem, first)
        return None

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a list, which may be empty for answers; what is none becomes a fault."""
        listed = self.record.get(name)
        if not isinstance(listed, list) or not all(isinstance(member, dict) for member in listed):
            self.fault("bad-json", f"`{name}` is not a list of objects")
            return []
        if not listed and name == "nuggets":
            self.fault("missing-nugget", f"topic {quoted(self.named)} has no nuggets. Leave the line out")
        return listed

    def digit(self, name: str, label: object, known: Mapping[str, str], other: str, names: Iterable[str] = ()) -> str:
        """Return the digit of a label, or `other` for what models write as well: `failed`, or free text."""
        digit = known.get(str(label), other)
        if digit == other:
            self.file.strays += 1
            if self.file.stray == "refuse":
                problem = f"the {name} is {quoted(str(label))}, none of {', '.join(names or known)}"
                self.fault("stray-label", f"{problem}. Correct it, or count it as nothing: stray=count")
        return digit

    def nuggets(self, name: str, known: Mapping[str, str], other: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield the text of each nugget once, the digit of its label of this name, and the nugget."""
        texts = set()
        for nugget in self.objects("nuggets"):
            text = nugget.get("text")
            if not isinstance(text, str) or not text:
                self.fault("bad-json", 'a nugget has no text: {"text": "Established in 2004"}')
            elif text in texts:
                problem = f"the nugget {quoted(text)} of topic {quoted(self.named)} is there twice. Keep one of the two"
                self.fault("duplicate-nugget", problem)
            else:
                texts.add(text)
                yield text, self.digit(f"{name} of {quoted(text)}", nugget.get(name), known, other), nugget

    def assignments(self, nuggets: NuggetSet) -> str:
        """Return the digits of the nuggets in the order of their set."""
        topic, verdict, before = self.named, dict[str, str](), self.file.faults.total
        importance = dict(zip(nuggets.texts[topic], nuggets.importance[topic], strict=True))
        for text, digit, nugget in self.nuggets("assignment", ASSIGNMENTS, NO_VERDICT):
            verdict[text], claimed = digit, nugget.get("importance")
            if text not in importance:
                problem = f"topic {quoted(topic)} has no nugget {quoted(text)}. Copy its text from the nuggets as it is"
                self.fault("unknown-nugget", problem)
            elif claimed is not None and IMPORTANCE.get(str(claimed), STRAY) != importance[text]:
                problem = f"the importance of {quoted(text)} is {quoted(str(claimed))} here"
                self.fault("other-importance", f"{problem}, but another one in the nuggets")
        absent = [text for text in importance if text not in verdict]
        if absent and self.file.faults.total == before:  # an unknown nugget is often a missing one in other words
            problem = f"{len(absent)} nuggets of topic {quoted(topic)} have no assignment, such as {quoted(absent[0])}"
            self.fault("missing-nugget", f"{problem}. Assign each of them, not_support as well")
        return "".join(verdict.get(text, NO_VERDICT) for text in importance)

    def sentences(self) -> list[str]:
        """Return the digits of the citations of each sentence."""
        sentences = []
        for sentence in self.objects("support_eval" if "support_eval" in self.record else "answer"):
            labels = sentence.get("support", sentence.get("eval_scores", []))
            citations = sentence.get("citations", labels)
            if not isinstance(labels, list) or not isinstance(citations, list) or len(labels) > len(citations):
                problem = "a sentence has a list of citations, and a list with at most one verdict for each of them"
                self.fault("bad-support", f'{problem}: "citations": [0, 3], "support": ["full", "none"]')
                continue
            # The tools write null where a model gave no verdict, which is not `none`.
            texts = [json.dumps(label).strip('"').lower() for label in labels]
            names = ("full", "partial", "none")
            sentences.append("".join(self.digit("support", text, SUPPORT, NO_VERDICT, names) for text in texts))
        return sentences
