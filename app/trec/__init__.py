"""Runs and qrels: bytes in, typed arrays and a complete list of problems out."""

from app.trec.bodies import decompressed
from app.trec.findings import FileWarning
from app.trec.joined import READING, Joined, judged_documents, read_joined
from app.trec.judged import JudgedDocuments
from app.trec.limits import Limits
from app.trec.qrels import QrelsFile, read_qrels
from app.trec.rankings import OrderBy, Ranking
from app.trec.runs import RunReader
from app.trec.topics import TopicsInterleaved

__all__ = [
    "READING",
    "FileWarning",
    "Joined",
    "JudgedDocuments",
    "Limits",
    "OrderBy",
    "QrelsFile",
    "Ranking",
    "RunReader",
    "TopicsInterleaved",
    "decompressed",
    "judged_documents",
    "read_joined",
    "read_qrels",
]
