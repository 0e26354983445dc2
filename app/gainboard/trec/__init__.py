"""Readers of run and qrels files: bytes in, typed arrays and a complete list of faults and warnings out.

Those of score matrices and of topic groups are in modules of their own.
"""

from gainboard.trec.bodies import decompress_body, is_compressed
from gainboard.trec.compiled_pass import READING, Joined, judged_documents, read_joined
from gainboard.trec.findings import FileLimits, FileWarning
from gainboard.trec.intents import INTENT_LAYOUT, IntentQrels, TopicIntents, read_intent_qrels
from gainboard.trec.judgments import JudgedDocuments, PackedJudgments
from gainboard.trec.qrels import QrelsFile, read_qrels
from gainboard.trec.runs import Ranking, RunReader, single_precision
from gainboard.trec.topics import TopicsInterleaved
from gainboard.vocabulary import OrderBy

__all__ = [
    "INTENT_LAYOUT",
    "READING",
    "FileLimits",
    "FileWarning",
    "IntentQrels",
    "Joined",
    "JudgedDocuments",
    "OrderBy",
    "PackedJudgments",
    "QrelsFile",
    "Ranking",
    "RunReader",
    "TopicIntents",
    "TopicsInterleaved",
    "decompress_body",
    "is_compressed",
    "judged_documents",
    "read_intent_qrels",
    "read_joined",
    "read_qrels",
    "single_precision",
]
