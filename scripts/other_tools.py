"""Writes the tables of docs/other-tools.md anew from what the code has: `python -m scripts.other_tools`.

A name of a vocabulary (`metrics/vocabularies.py`), a line of `ELSEWHERE` and a tool of `TOOLS` (`metrics/tools.py`)
come into the page by themselves. `OPTIONS` are examples of options, whose labels are worked out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gainboard.metrics import Scale, resolve
from gainboard.metrics.tools import BOTH, ELSEWHERE, IDS, QRELS, RELEVANT, SINGLE, TOOLS
from gainboard.metrics.vocabularies import VOCABULARIES, Word
from gainboard.vocabulary import Names

PAGE = Path(__file__).parents[1] / "docs" / "other-tools.md"
SCALE = Scale(3, intents=True)
PRINTED: Mapping[Names, str] = {
    "ir_measures": "ir_measures",
    "trec_eval": "trec_eval",
    "ntcireval": "NTCIREVAL",
    "ndeval": "ndeval",
}
"""The tools with a vocabulary, as the page calls them."""
OPTIONS: Mapping[Names, Sequence[str]] = {
    "ir_measures": ("AP(judged_only=True)", "RBP(rel=2,p=0.5)", "SetF(beta=0.5)"),
    "trec_eval": ("set_F_0.5",),
    "ntcireval": ("AP(j=true)", "Q-measure(beta=10)@0010", "nDCG(logb=5)@10", "RBP(rbp=0.5)"),
    "ndeval": ("NRBP(beta=0.8)",),
}
IN_C = ("bpref", "NCUrb,IE", "nRBP", "EBR", "nEBR", "iRBU", "niRBU", "I-rec", "D-nDCG", "D-Q", "D#-nDCG", "D#-Q")
"""The names of NTCIREVAL that its program in Python does not have."""
COMPARED = ("Gainboard", "trec_eval 9", "trec_eval 10", "ir_measures", "ranx", "trectools")


def named(names: Names) -> Iterator[tuple[str, str, str]]:
    """Yield each name of a vocabulary once, with the cut-off 10 if it takes one: the word, the name and our label."""
    vocabulary, seen = VOCABULARIES[names], list[Word]()
    for name, word in vocabulary.words.items():
        if word not in seen:
            seen.append(word)
            # Of names that may have a cut-off, the page shows those with one that mean something else then.
            is_cut = word.cutoff == "must" or (word.cutoff == "may" and (word.cut or word.ours == "MSnDCG"))
            end = vocabulary.at_ten[0] + ("0.10" if word.number else "10") if is_cut else ""
            written = f"{name}({word.needs}=1)" if word.needs else name + end
            yield name, written, label(names, written)
    for written in OPTIONS[names]:
        yield re.split("[(@]", written)[0], written, label(names, written)


def label(names: Names, written: str) -> str:
    """Return our label for a name of a vocabulary."""
    return resolve(VOCABULARIES[names].translate(written), SCALE).label


def spelled_otherwise() -> Iterator[Sequence[str]]:
    """Yield the names that are no labels of ours, without those that only NTCIREVAL in C has."""
    for names, tool in PRINTED.items():
        for word, written, ours in named(names):
            # Tools print the logarithm of a geometric mean by topic, so the test of this table cannot compare it.
            if written != ours and "geometric" not in ours and not (names == "ntcireval" and word in IN_C):
                yield tool, f"`{written}`", f"`{ours}`"


def only_in_c() -> Iterator[Sequence[str]]:
    """Yield the names of NTCIREVAL in C, with cut-offs as it prints them."""
    for word, written, ours in named("ntcireval"):
        if word in IN_C:
            yield f"`{written.replace('@10', '@0010')}`", f"`{ours}`"


def elsewhere() -> Iterator[Sequence[str]]:
    """Yield the names of tools without a vocabulary."""
    for tool, theirs, ours in ELSEWHERE:
        yield tool, f"`{theirs.format(10)}`", f"`{resolve(ours.format(10), SCALE).label}`"


def situations() -> Iterator[Sequence[str]]:
    """Yield what the tools do where they differ."""
    tools = [tool for name in COMPARED for tool in TOOLS if tool.name == name]
    unjudged, missing = {RELEVANT: "left out"}, {BOTH: "left out"}
    assert all(tool.topics in (RELEVANT, BOTH, QRELS) for tool in tools)
    yield "a topic without relevant documents", *(unjudged.get(tool.topics, "0") for tool in tools)
    yield "a topic that the run lacks", *(missing.get(tool.topics, "0") for tool in tools)
    yield "equal scores", *(IDS if tool.order == SINGLE else tool.order.removeprefix("the ") for tool in tools)
    yield "scores that differ in the ninth digit", *("tied" if tool.order == SINGLE else "told apart" for tool in tools)


TABLES = {"tools": spelled_otherwise, "ntcireval in C": only_in_c, "same": elsewhere, "situations": situations}


def with_tables(text: str) -> str:
    """Return the page with the rows of its tables as the code has them. The heads of the tables stay."""
    for mark, rows in TABLES.items():
        lines = "".join(f"| {' | '.join(row)} |\n" for row in rows()).replace("\\", r"\\")
        text, count = re.subn(rf"(<!-- {mark} -->\n\|.*\n\| ---.*\n)(?:\|.*\n)*", rf"\g<1>{lines}", text)
        if count != 1:
            raise SystemExit(f"{PAGE.name} has {count} tables with the mark <!-- {mark} -->, and needs one.")
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
