"""Readers of run and qrels files: bytes in, typed arrays and a complete list of faults and warnings out."""

from gainboard.trec.bodies import decompressed
from gainboard.trec.compiled_pass import Joined
from gainboard.trec.findings import FileWarning, Limits
from gainboard.trec.joined import READING, judged_documents, read_joined
from gainboard.trec.judgment_tables import JudgedDocuments
from gainboard.trec.judgments import PackedJudgments
from gainboard.trec.qrels import QrelsFile, read_qrels
from gainboard.trec.rankings import OrderBy, Ranking
from gainboard.trec.runs import RunReader
from gainboard.trec.topics import TopicsInterleaved

__all__ = [
    "READING",
    "FileWarning",
    "Joined",
    "JudgedDocuments",
    "Limits",
    "OrderBy",
    "PackedJudgments",
    "QrelsFile",
    "Ranking",
    "RunReader",
    "TopicsInterleaved",
    "decompressed",
    "judged_documents",
    "read_joined",
    "read_qrels",
]
