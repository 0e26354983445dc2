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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from gainboard.trec.csv_files import topic_problem
from gainboard.trec.findings import SHOWN_CHARACTERS, Faults, FileLimits, quoted
from gainboard.trec.lines import Text, unreadable
from gainboard.vocabulary import Stray

VITAL, OKAY, STRAY, FORMER = "0", "1", "2", "-"
"""The importance of a nugget, as a digit. A stray one counts for metrics over all nuggets alone; `FORMER` is for one
that a judge was asked about, and that is no longer among the nuggets."""
IMPORTANCE: Final = {"vital": VITAL, "okay": OKAY}
ASSIGNMENTS: Final = {"not_support": "0", "partial_support": "1", "support": "2"}
"""The verdicts on a nugget, as digits, as are those on a citation. A stray label is `NO_VERDICT`."""
SUPPORT: Final = {
    **dict.fromkeys(("none", "ns", "no support"), "0"),
    **dict.fromkeys(("partial", "ps", "partial support"), "1"),
    **dict.fromkeys(("full", "fs", "full support"), "2"),
}
NO_VERDICT, NOT_ASKED = "3", "-"
LONGEST_LINE: Final = 1 << 20
"""Bytes of a line: those of TREC's support evaluation repeat the segments that an answer cites."""
Nuggets = Mapping[str, Mapping[str, str]]
"""The importance of each nugget, as a digit, by topic and text; topics are in byte order."""


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of a judge on the answers of runs: on their nuggets or, without `nuggets`, on their citations.

    `runs` has by run and topic a digit for each of the topic's nuggets, in their order, or the digits of the citations
    of each sentence. It is empty where the run has no answer. Nothing is said of other topics, but that all runs that
    are not `sampled` have no answer where the citations of any run were judged.
    """

    runs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    nuggets: Nuggets = field(default_factory=dict)
    sampled: Sequence[str] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    """The system of each run that is a replicate. Where another one of its system has an answer, an answer that it
    lacks is no failure, as generations are rarely of one number on all topics: nothing is said of it."""

    @cached_property
    def in_use(self) -> Nuggets:
        """The nuggets that count: all but former ones."""
        kinds = ((topic, {t: kind for t, kind in of.items() if kind != FORMER}) for topic, of in self.nuggets.items())
        return {topic: of_topic for topic, of_topic in kinds if of_topic}

    @cached_property
    def topics(self) -> list[str]:
        """The topics of the nuggets in use or, of citations, those on which any run was judged."""
        cited = {topic for of_run in self.runs.values() for topic in of_run}
        return list(self.in_use) if self.nuggets else sorted(cited, key=str.encode)

    @cached_property
    def answered(self) -> set[tuple[str, str]]:
        """The systems with replicates, and the topics that any of these answers."""
        replicates = ((system, self.runs.get(run, {})) for run, system in self.systems.items())
        return {(system, topic) for system, of_run in replicates for topic, verdict in of_run.items() if verdict}

    def of_run(self, run: str) -> dict[str, Any]:
        """Return what counts of the verdicts on a run: without former nuggets, and topics where any lacks a verdict."""
        system = self.systems.get(run)
        if not self.nuggets:
            asked = [] if run in self.sampled else self.topics
            empty = [topic for topic in asked if (system, topic) not in self.answered]
            return {**dict.fromkeys(empty, ()), **self.runs[run]}
        counting = {}
        for topic in self.in_use.keys() & self.runs[run].keys():
            digits, kinds = self.runs[run][topic], self.nuggets[topic].values()
            if digits:
                digits = "".join(digit for kind, digit in zip(kinds, digits, strict=True) if kind != FORMER)
            if NOT_ASKED not in digits and (digits or (system, topic) not in self.answered):
                counting[topic] = digits
        return counting

    def renamed(self, names: Mapping[str, str]) -> Verdicts:
        """Return the verdicts under other names of runs, without the runs that have none."""
        runs = {names[run]: verdicts for run, verdicts in self.runs.items() if run in names}
        return replace(self, runs=runs, sampled=[names[run] for run in self.sampled if run in names])

    def over(self, nuggets: Nuggets) -> Verdicts:
        """Return the verdicts over other nuggets, of which those with the same text keep theirs. None is lost."""
        if not nuggets:
            return self
        both = {}
        for topic in sorted({*self.nuggets, *nuggets}, key=str.encode):
            current = nuggets.get(topic, {})
            both[topic] = {**current, **dict.fromkeys(self.nuggets.get(topic, ()), FORMER), **current}

        def moved(topic: str, digits: str) -> str:
            by_text = dict(zip(self.nuggets[topic], digits, strict=False))
            return digits and "".join(by_text.get(text, NOT_ASKED) for text in both[topic])

        runs = {run: {topic: moved(topic, of[topic]) for topic in of} for run, of in self.runs.items()}
        return replace(self, runs=runs, nuggets=both)

    def updated(self, newer: Verdicts) -> Verdicts:
        """Return the verdicts with newer ones in place of those on the same runs, over the newer ones' nuggets."""
        base = self.over(newer.nuggets)
        runs = {**base.runs, **newer.over(base.nuggets).runs}
        sampled = sorted({*self.sampled} - newer.runs.keys() | {*newer.sampled})
        return replace(base, runs=dict(sorted(runs.items())), sampled=sampled)


class NuggetsFile(NamedTuple):
    """The nuggets of a file, and the number of those with another importance than vital and okay."""

    nuggets: Nuggets
    strays: int


class VerdictsFile(NamedTuple):
    """The verdicts of a file on nuggets and on citations, and the number of labels that are none of the known ones."""

    nuggets: Verdicts
    support: Verdicts
    strays: int
    replicates: Mapping[str, tuple[str, str]]
    """The system and the replicate of each run that is one, such as one of several generations: `SYSTEM@REPLICATE`."""


def read_nuggets(
    chunks: Iterable[bytes], limits: FileLimits, topics: Collection[str] | None = None, stray: Stray = "refuse"
) -> NuggetsFile:
    """Return the nuggets of a file. Raise FaultyFile with all faults; a topic must be one of `topics`, unless None."""
    file, by_topic = _File(Faults(limits.faults), stray), dict[str, dict[str, str]]()
    for _ in file.lines(chunks, limits):
        if topic := file.find_topic(topics):
            by_topic[topic] = {text: digit for text, digit, _ in file.nuggets("importance", IMPORTANCE, STRAY)}
    file.raise_faults("The file has no nuggets. A line has the nuggets of a topic")
    return NuggetsFile({topic: by_topic[topic] for topic in sorted(by_topic, key=str.encode)}, file.strays)


def read_verdicts(
    chunks: Iterable[bytes],
    limits: FileLimits,
    nuggets: Nuggets,
    topics: Collection[str] | None = None,
    stray: Stray = "refuse",
    sample: bool = False,
) -> VerdictsFile:
    """Return what a judge says of the answers of one or more runs: assignments of `nuggets`, verdicts on citations.

    Topics with nuggets are those of `nuggets`; others must be one of `topics`, unless None. Where a run has no line, it
    has no answer; in a `sample`, it was not judged. Raise FaultyFile with all faults.
    """
    file = _File(Faults(limits.faults), stray)
    replicates = dict[str, tuple[str, str]]()
    assigned, cited = dict[str, dict[str, str]](), dict[str, dict[str, list[str]]]()
    for record in file.lines(chunks, limits):
        is_support, run = "nuggets" not in record, record.get("run_id")
        if isinstance(replicate := record.get("replicate", ""), bool) or not isinstance(replicate, str | int | None):
            file.faults.add("bad-replicate", "the replicate is neither a text nor a whole number", file.number)
        if isinstance(run, str) and replicate not in (None, ""):
            run, system = f"{run}@{replicate}", run
            replicates[run] = system, str(replicate)
        if not is_support and not nuggets:
            file.fault("unknown-nugget", "there are no nuggets that this line could assign. Publish them first")
        elif not isinstance(run, str) or not run:
            file.fault("unknown-run", 'the line names no run. Name the run whose answer it is: "run_id"')
        elif is_support and (topic := file.find_topic(topics, run, "support")):
            cited.setdefault(run, {})[topic] = file.sentences()
        elif not is_support and (topic := file.find_topic(nuggets, run)):
            every = {} if sample else dict.fromkeys(nuggets, "")
            assigned.setdefault(run, every)[topic] = file.assignments(nuggets[topic])
    file.raise_faults("The file has no verdicts. A line has those on a run's answer to a topic")
    of_nuggets = Verdicts(assigned, nuggets if assigned else {}, [*assigned] if sample else ())
    return VerdictsFile(of_nuggets, Verdicts(cited, sampled=[*cited] if sample else ()), file.strays, replicates)


@dataclass
class _File:
    """A file that is read, with its current line, whose faults name the topic that it is about."""

    faults: Faults
    stray: Stray
    strays: int = 0
    line_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    """The number of the line of each topic, or topic and run."""
    number: int = 0
    record: dict[str, Any] = field(default_factory=dict)
    topic: str = ""

    def lines(self, chunks: Iterable[bytes], limits: FileLimits) -> Iterator[dict[str, Any]]:
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
                        self.record = json.loads(line)
                        problem = "" if isinstance(self.record, dict) else "the line is not an object of a topic: {...}"
                    except (ValueError, RecursionError) as error:
                        problem = f"the line is not JSON: {str(error)[:SHOWN_CHARACTERS]}"
                    if problem:
                        self.faults.add("bad-json", problem, number)
                        continue
                    self.number, self.topic = number, ""
                    yield self.record

    def raise_faults(self, empty: str) -> None:
        """Raise FaultyFile if there is any fault, or no line."""
        if not self.line_of and not self.faults:
            self.faults.add("empty-file", empty)
        if self.faults:
            raise self.faults.error()

    def fault(self, code: str, problem: str, *earlier: int) -> None:
        """Add a fault of the line, and of an earlier one."""
        self.faults.add(code, problem, *earlier, self.number, topic=self.topic.encode())

    def find_topic(self, known: Collection[str] | None, *of_run: str) -> str | None:
        """Return the topic; None if it is faulty: unknown, or there already, of the same run if there is one."""
        topic = self.record.get("qid", self.record.get("topic_id"))
        self.topic = str(topic) if isinstance(topic, str | int) and not isinstance(topic, bool) else ""
        code, problem = topic_problem(self.topic, None)
        if not code and known is not None and self.topic not in known:
            example = quoted(min(known, default=""))
            code, problem = "unknown-topic", f"there is no topic {quoted(self.topic)}, such as {example}"
        if code:
            self.fault(code, problem)
            return None
        first = self.line_of.setdefault((self.topic, *of_run), self.number)
        if first == self.number:
            return self.topic
        whose = f" of run {quoted(of_run[0])}" if of_run else ""
        problem = f"topic {quoted(self.topic)}{whose} is on line {first} already. Keep one of the two lines"
        self.fault("duplicate-topic", problem, first)
        return None

    def objects(self, name: str) -> list[dict[str, Any]]:
        """Return the objects of a list, which may be empty for answers; what is none becomes a fault."""
        listed = self.record.get(name)
        if not isinstance(listed, list) or not all(isinstance(member, dict) for member in listed):
            self.fault("bad-json", f"`{name}` is not a list of objects")
            return []
        if not listed and name == "nuggets":
            self.fault("missing-nugget", f"topic {quoted(self.topic)} has no nuggets. Leave the line out")
        return listed

    def digit(self, name: str, label: object, known: Mapping[str, str], other: str, names: Iterable[str] = ()) -> str:
        """Return the digit of a label, or `other` for what models write as well: `failed`, or free text."""
        digit = known.get(str(label), other)
        if digit == other:
            self.strays += 1
            if self.stray == "refuse":
                problem = f"the {name} is {quoted(str(label))}, none of {', '.join(names or known)}"
                self.fault("stray-label", f"{problem}. Correct it, or count it as nothing: stray=count (--stray count)")
        return digit

    def nuggets(self, name: str, known: Mapping[str, str], other: str) -> Iterator[tuple[str, str, object]]:
        """Yield the text of each nugget once, the digit of its label of this name, and the importance that it says."""
        texts = set()
        for nugget in self.objects("nuggets"):
            text = nugget.get("text")
            if not isinstance(text, str) or not text:
                self.fault("bad-json", 'a nugget has no text: {"text": "Established in 2004"}')
            elif text in texts:
                problem = f"the nugget {quoted(text)} of topic {quoted(self.topic)} is there twice. Keep one of the two"
                self.fault("duplicate-nugget", problem)
            else:
                texts.add(text)
                digit = self.digit(f"{name} of {quoted(text)}", nugget.get(name), known, other)
                yield text, digit, nugget.get("importance")

    def assignments(self, importance: Mapping[str, str]) -> str:
        """Return the digits of the nuggets of a topic in their order."""
        topic, verdict, before = quoted(self.topic), dict[str, str](), self.faults.total
        for text, verdict[text], claimed in self.nuggets("assignment", ASSIGNMENTS, NO_VERDICT):
            if text not in importance:
                problem = f"topic {topic} has no nugget {quoted(text)}. Copy its text from the nuggets as it is"
                self.fault("unknown-nugget", problem)
            elif claimed is not None and IMPORTANCE.get(str(claimed), STRAY) != importance[text]:
                problem = f"the importance of {quoted(text)} is {quoted(str(claimed))} here"
                self.fault("other-importance", f"{problem}, but another one in the nuggets")
        absent = [text for text in importance if text not in verdict]
        if absent and self.faults.total == before:  # an unknown nugget is often a missing one in other words
            problem = f"{len(absent)} nuggets of topic {topic} have no assignment, such as {quoted(absent[0])}"
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
