"""Readers of run and qrels files: bytes in, typed arrays and a complete list of faults and warnings out."""

from gainboard.trec.bodies import decompressed, is_compressed
from gainboard.trec.compiled_pass import READING, Joined, judged_documents, read_joined
from gainboard.trec.findings import FileLimits, FileWarning
from gainboard.trec.intents import INTENT_LAYOUT, IntentQrels, TopicIntents, read_intent_qrels
from gainboard.trec.judgments import JudgedDocuments, PackedJudgments
from gainboard.trec.qrels import QrelsFile, read_qrels
from gainboard.trec.rankings import OrderBy, Ranking, single_precision
from gainboard.trec.runs import RunReader
from gainboard.trec.score_matrices import Expected, MatrixFile, MatrixForm, Missing, read_score_matrix
from gainboard.trec.topic_groups import COLUMNS as GROUP_COLUMNS
from gainboard.trec.topic_groups import RESERVED_GROUP, read_topic_groups, topic_problem
from gainboard.trec.topics import TopicsInterleaved

__all__ = [
    "GROUP_COLUMNS",
    "INTENT_LAYOUT",
    "READING",
    "RESERVED_GROUP",
    "Expected",
    "FileLimits",
    "FileWarning",
    "IntentQrels",
    "Joined",
    "JudgedDocuments",
    "MatrixFile",
    "MatrixForm",
    "Missing",
    "OrderBy",
    "PackedJudgments",
    "QrelsFile",
    "Ranking",
    "RunReader",
    "TopicIntents",
    "TopicsInterleaved",
    "decompressed",
    "is_compressed",
    "judged_documents",
    "read_intent_qrels",
    "read_joined",
    "read_qrels",
    "read_score_matrix",
    "read_topic_groups",
    "single_precision",
    "topic_problem",
]
