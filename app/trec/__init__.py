"""Runs and qrels: bytes in, typed arrays and a complete list of problems out."""

from app.trec.bodies import decompressed
from app.trec.findings import FileWarning
from app.trec.limits import Limits
from app.trec.qrels import QrelsFile, read_qrels
from app.trec.rankings import OrderBy, Ranking
from app.trec.runs import RunReader
from app.trec.topics import TopicsInterleaved

__all__ = [
    "FileWarning",
    "Limits",
    "OrderBy",
    "QrelsFile",
    "Ranking",
    "RunReader",
    "TopicsInterleaved",
    "decompressed",
    "read_qrels",
]
