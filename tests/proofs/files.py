"""Reads generated files: valid ones, and ones with a single known fault.

    python -m tests.proofs.files --files 200000

A valid file must be read without a fault, with the warnings and contents that it was made with, by the plain reader
and, where the compiled one takes it, to the bit alike. A run must come out in the order of trec_eval. In a faulty file
exactly the planted fault must be found: its code, its line, its topic. What is wrong is printed with the number of the
file, by which `--only NUMBER` makes it again, and the exit code is 1.
"""

import gzip
import io
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from random import Random
from unittest.mock import patch

import pytrec_eval

from gainboard.errors import FaultyFile
from gainboard.trec import READING, FileLimits, RunReader, TopicsInterleaved, compiled_pass, decompressed, read_qrels
from gainboard.trec.zstd import compress
from tests.proofs import asked
from tests.proofs.generated import RUN, draw_qrels, draw_run, is_in_blocks, judgments_of, rankings_of, single, written
from tests.proofs.planted import Planted, plant
from tests.trec.readers import by_line, compiled

BATCH = 500
SHOWN = 20


class Checked:
    """One generated file, what it must be read as, and what was wrong or counted about it."""

    def __init__(self, number, seed):
        self.draw = Random(f"{seed}-{number}")
        self.file = (draw_run if self.draw.random() < 0.6 else draw_qrels)(self.draw)
        self.planted = plant(self.draw, self.file) if self.draw.random() < 0.6 else None
        self.data, self.warnings = written(self.draw, self.file)
        self.counts = Counter([f"{self.file.kind}: {self.planted.code if self.planted else 'valid'}"])
        self.wrong = []

    def check(self):
        chunks = self._chunks()
        if self.file.kind == RUN:
            self._check_run(chunks)
        else:
            self._check_qrels(chunks)
        if self.draw.random() < 0.05:
            self._check_compressed()

    def _chunks(self):
        size = self.draw.choice([1 << 20, 1 << 20, 64, 7])
        return [self.data[at : at + size] for at in range(0, len(self.data), size)]

    def _check_run(self, chunks):
        form = self.file.form
        plain = _run_outcome(RunReader([self.data], **form, gather=True, plain=True))
        blocks = _run_outcome(RunReader(chunks, **form))
        if blocks == ("interleaved",):
            self.counts["run: interleaved"] += 1
            self._want("topics in blocks", False, is_in_blocks(self.file))
            blocks = _run_outcome(RunReader(chunks, **form, gather=True))
        self._want("plain reader", plain, self._expected_run())
        self._want("reader of blocks", blocks, plain)
        self._check_compiled(chunks, plain)
        if self.planted is None:
            self._check_order(plain[1])

    def _check_compiled(self, chunks, plain):
        buffer, piece = self.draw.choice([1 << 18, 100, 1]), self.draw.choice([1 << 15, 100, 1])
        try:
            with patch.object(compiled_pass, "BUFFER", buffer), patch.object(compiled_pass, "PIECE", piece):
                found = compiled(chunks, **self.file.form)
        except FaultyFile as error:
            self.counts["run: refused by the compiled reader"] += 1
            self._want("compiled reader", _faults(error), plain)
            return
        if found is None:
            return
        self.counts["run: read by the compiled reader"] += 1
        run, codes = found
        starts = [0, *run.retrieved.cumsum().tolist()]
        scores = [run.score[a:b].tolist() for a, b in pairwise(starts)]
        read = (run.tag, _by_code(run.warnings), run.topics, scores, run.level.tolist())
        if plain[0] != "read":
            self._want("compiled reader", read, "a fault")
            return
        _, rankings, warnings, tag = plain
        its_scores = [[score for _, score in ranked] for _, ranked in rankings]
        levels = [codes[topic][document] for topic, ranked in rankings for document, _ in ranked]
        expected = (tag, warnings, [topic for topic, _ in rankings], its_scores, levels)
        self._want("compiled reader", repr(read), repr(expected))  # to the bit

    def _expected_run(self):
        if self.planted:
            return _refused(self.planted)
        rankings, warnings = rankings_of(self.file)
        return "read", rankings, warnings | self.warnings, self.file.data()[0][1][5].decode()

    def _check_order(self, rankings):
        """Compares the order with trec_eval's, which compares scores in single precision."""
        if self.file.form["order_by"] == "rank":
            return
        for topic, ranked in rankings:
            rows = [row for _, row in self.file.data() if row[0].decode() == topic]
            scores = {row[2].decode(): float(row[4]) for row in rows}
            near = len(set(map(single, scores.values()))) < len(set(scores.values()))
            if near and self.file.form["order_by"] == "score":
                continue  # documented: trec_eval ties what double precision separates
            self.counts["topic: in the order of trec_eval"] += 1
            order = [document.decode() for document, _ in ranked]
            self._want("trec_eval's order", order, trec_eval_order(scores)[: len(order)])

    def _check_qrels(self, chunks):
        form = self.file.form
        if self.planted:
            expected = _refused(self.planted)
        else:
            judgments, warnings = judgments_of(self.file)
            expected = ("read", judgments, warnings | self.warnings, self.file.layout)
        self._want("reader", _qrels_outcome(lambda: read_qrels(chunks, **form)), expected)

    def _check_compressed(self):
        """Compresses the file, reads it again, and damages it."""
        squeezes = [gzip.compress, compress]
        squeeze = self.draw.choice(squeezes)
        body = squeeze(self.data)
        if self.draw.random() < 0.5:
            at = self.draw.randint(0, len(self.data))
            body = squeeze(self.data[:at]) + squeeze(self.data[at:])
        self.counts["body: compressed"] += 1
        self._want("decompression", _decompressed(body), self.data)
        damaged = self.draw.choice([body[:-1], body + b"x", body + bytes(9), body[:-3], body[:5]])
        self.counts["body: bad-compression"] += 1
        self._want("damaged body", _decompressed(damaged), _refused(Planted("bad-compression")))

    def _want(self, what, found, expected):
        if found != expected:
            self.wrong.append(f"{what}: {found} and not {expected}; {self.planted} in {self.file.form} {self.data!r}")


def trec_eval_order(scores):
    """Return the documents in the order of trec_eval: in a topic for each of them, only this one is relevant."""
    qrels = {document: {document: 1} for document in scores}
    found = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(dict.fromkeys(qrels, scores))
    return sorted(scores, key=lambda document: found[document]["recip_rank"], reverse=True)


def _refused(planted):
    return "refused", 1, [tuple(planted)]


def _faults(error):
    faults = by_line(error.faults)
    return "refused", error.total, [(fault.code, fault.line, fault.topic, fault.lines) for fault in faults]


def _run_outcome(reader):
    try:
        rankings = list(reader)
    except TopicsInterleaved:
        return ("interleaved",)
    except FaultyFile as error:
        return _faults(error)
    found = [(each.topic, list(zip(each.documents, each.scores.tolist(), strict=True))) for each in rankings]
    return "read", found, _by_code(reader.warnings), reader.tag


def _qrels_outcome(read):
    try:
        found = read()
    except FaultyFile as error:
        return _faults(error)
    return "read", dict(found.judgments), _by_code(found.warnings), found.columns


def _decompressed(body):
    try:
        return b"".join(decompressed(io.BytesIO(body), None, FileLimits()))
    except FaultyFile as error:
        return _faults(error)


def _by_code(warnings):
    return {warning.code: warning.count for warning in warnings}


def check_batch(seed, numbers):
    """Check these files, and return what was counted and what is wrong."""
    READING.load()
    counts, wrong = Counter(), []
    for number in numbers:
        checked = Checked(number, seed)
        try:
            checked.check()
        except Exception as error:  # noqa: BLE001 (a reader that raises anything else is wrong, and the rest goes on)
            checked.wrong.append(f"{error!r}; {checked.planted} in {checked.file.form} {checked.data!r}")
        counts.update(checked.counts)
        wrong += [f"--seed {seed} --only {number}: {each}" for each in checked.wrong]
    return counts, wrong


def check_files(files, seed=0, processes=1):
    """Yield what was counted and what is wrong, batch by batch."""
    batches = [range(start, min(start + BATCH, files)) for start in range(0, files, BATCH)]
    check = partial(check_batch, seed)
    if processes == 1:
        yield from map(check, batches)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(check, batches)


def main():
    parsed = asked(__doc__, files=200_000, seed=0, only=-1, processes=os.cpu_count() or 1)
    began, counts, wrong = time.monotonic(), Counter(), []
    if parsed.only >= 0:
        counts, wrong = check_batch(parsed.seed, range(parsed.only, parsed.only + 1))
    else:
        for done, (counted, found) in enumerate(check_files(parsed.files, parsed.seed, parsed.processes), start=1):
            counts.update(counted)
            wrong += found
            if done % 40 == 0:
                print(f"{done * BATCH:,} files, {len(wrong)} wrong, {time.monotonic() - began:.0f} s", flush=True)
    print(*(f"{count:8,}  {what}" for what, count in sorted(counts.items())), sep="\n")
    print(*wrong[:SHOWN], sep="\n", end="\n" if wrong else "")
    print(f"{len(wrong)} wrong in {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
