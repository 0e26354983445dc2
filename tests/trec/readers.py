"""A reader in the place of `RunReader` that reads each file a second time, compiled, and wants the same of it."""

from dataclasses import replace

from gainboard.errors import GainboardError
from gainboard.trec import RunReader, TopicsInterleaved, judged_documents, read_joined
from gainboard.trec.findings import DEFAULT_LIMITS
from gainboard.trec.judgments import PackedTopic

LOWEST = -127
CODES = 255


def by_line(faults):
    """The faults with one for each line: successive lines with the same fault are told as one."""
    return [
        replace(fault, line=line, last_line=None)
        for fault in faults
        for line in ([fault.line] if fault.line is None else range(fault.line, (fault.last_line or fault.line) + 1))
    ]


class Replayed:
    """Chunks that can be read again; those not asked for yet are taken from where they come only then."""

    def __init__(self, chunks):
        self._coming = iter(chunks)
        self._seen = []

    def __iter__(self):
        yield from self._seen
        for chunk in self._coming:
            self._seen.append(chunk)
            yield chunk

    @property
    def seen(self):
        return b"".join(self._seen)


class EitherReader(RunReader):
    """A `RunReader`. Before it yields anything, it compares what the compiled pass makes of the same file."""

    def __init__(
        self,
        chunks,
        *,
        order_by="score",
        ignore_identical_ids=False,
        depth=1000,
        limits=DEFAULT_LIMITS,
        gather=False,
        plain=False,
    ):
        self._replayed = Replayed(chunks)
        self._form = {
            "order_by": order_by,
            "ignore_identical_ids": ignore_identical_ids,
            "depth": depth,
            "limits": limits,
        }
        super().__init__(self._replayed, **self._form, gather=gather, plain=plain)

    def __iter__(self):
        found = None
        refused = None
        try:
            found = compiled(self._replayed, **self._form)
        except GainboardError as error:
            refused = error
        try:
            rankings = list(super().__iter__())
        except GainboardError as error:
            plainly = told(error)
            assert found is None, "a faulty file was read"
            assert refused is None or told(refused) == plainly
            raise
        assert refused is None, f"a valid file was refused: {refused}"
        if found is not None:
            joined, codes = found
            assert (joined.tag, joined.warnings, joined.topics) == (self.tag, self.warnings, names(rankings))
            assert joined.retrieved.tolist() == [len(ranking.documents) for ranking in rankings]
            assert joined.score.tobytes() == b"".join(ranking.scores.tobytes() for ranking in rankings)
            assert joined.rank.tolist() == [rank + 1 for each in rankings for rank in range(len(each.documents))]
            assert joined.level.tolist() == [codes[each.topic][id] for each in rankings for id in each.documents]
        yield from rankings


def names(rankings):
    return [ranking.topic for ranking in rankings]


def told(error):
    return type(error), str(error), error.details, getattr(error, "faults", ())


def compiled(chunks, **form):
    """What the compiled pass makes of a file all of whose documents are judged, and their levels; None if nothing."""
    chunks = Replayed(chunks)
    codes = {}
    nothing = judged_documents([])
    if nothing is None or read_gathering(chunks, nothing, {}, **form) is None:
        return None
    for topic, _, document, *_ in map(bytes.split, chunks.seen.splitlines()):
        its = codes.setdefault(topic.decode(), {})
        its[document] = LOWEST + len(its) % CODES
    documents = judged_documents([PackedTopic.of(levels) for levels in codes.values()])
    joined = read_gathering(chunks, documents, {topic: row for row, topic in enumerate(codes)}, **form)
    return joined, codes


def read_gathering(chunks, *known, **form):
    """The same as `read_joined`; a file whose topics interleave is read again."""
    try:
        return read_joined(chunks, *known, **form)
    except TopicsInterleaved:
        return read_joined(chunks, *known, **form, gather=True)
