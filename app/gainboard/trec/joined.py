"""Fast reading of a run: one compiled pass reads the run and joins it with judgments. `RunReader` defines the result.

The pass handles the common case: ASCII, six columns, either spaces or tabs. It gives up on any other file. The plain
reader then starts at the beginning of the file.

Lines with faults are no reason to give up. `RunReader` reads them with the lines around them, and notes the faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gainboard.acceleration import OptionalKernel
from gainboard.trec.compiled_pass import Joined, Pass, ReadingKernels
from gainboard.trec.findings import DEFAULT_LIMITS, FileLimits
from gainboard.trec.grouping import BeyondLimit, GatheredFile, GroupedLines, Unusual
from gainboard.trec.judgments import JudgedDocuments, PackedTopic
from gainboard.trec.rankings import OrderBy


def _load() -> ReadingKernels:
    from gainboard.trec import kernels  # noqa: PLC0415 (it imports the compiler)

    loaded = ReadingKernels(kernels.fill, kernels.tokenise, kernels.join, kernels.group)
    documents = JudgedDocuments.of([PackedTopic.of({b"d": 1})], loaded.fill)
    assert documents is not None
    Pass(loaded, documents, {"1": 0}, "rank", 1, DEFAULT_LIMITS).read([b"1 0 d 1 1 t\n"])
    GroupedLines.of(b"1 0 d 1 1 t\n", loaded.group)
    return loaded


READING = OptionalKernel("reading", _load)
"""The compiled functions, if the `fast` extra is installed."""


def judged_documents(judgments: Sequence[PackedTopic]) -> JudgedDocuments | None:
    """Return the hash tables for `read_joined`.

    Return None if the compiled functions are missing, or if a topic has too many judged documents (16 MiB of text).
    """
    kernels = READING.get()
    return JudgedDocuments.of(judgments, kernels.fill) if kernels else None


def read_joined(
    chunks: Iterable[bytes],
    documents: JudgedDocuments,
    rows: Mapping[str, int],
    *,
    order_by: OrderBy = "score",
    depth: int = 1000,
    limits: FileLimits = DEFAULT_LIMITS,
    gather: bool = False,
) -> Joined | None:
    """Return the run joined with `documents`. `rows` maps each topic id to its index in `documents`.

    The other arguments and the errors are those of `RunReader`. Return None if the compiled functions are missing, or
    if the plain reader must read the file.
    """
    kernels = READING.get()
    if kernels is None:
        return None
    form = kernels, documents, rows, order_by, depth, limits
    try:
        if not gather:
            return Pass(*form).read(chunks)
        file = GatheredFile.of(chunks, kernels.group, limits)
        return Pass(*form, lambda places: file.numbers[places]).read(file.by_topic())
    except (Unusual, BeyondLimit):
        return None
