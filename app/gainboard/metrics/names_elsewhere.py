"""The names that other programs print for metrics, and what they are called here: for messages about unknown names.

They come from MTEB (`ndcg_at_10`), BEIR (`Hole@10`), sentence-transformers (`cosine_accuracy@1`), scikit-learn
(`ndcg_score`), ranx (`hit_rate@5`), PyTerrier and torchmetrics (`RetrievalMAP`). Names are not read, because programs
mean different things by one name: ranx counts with `hits@10` what others only notice.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class _Meaning(NamedTuple):
    """The expressions for a name: with a cut-off in place of `{}`, and without one. The best comes first."""

    cut: tuple[str, ...]
    whole: tuple[str, ...]


def _all(names: str, cut: str, whole: str) -> dict[str, _Meaning]:
    return dict.fromkeys(names.split(), _Meaning(tuple(cut.split()), tuple(whole.split())))


MEANINGS: Final = {
    **_all("r recall rec recallat sensitivity truepositiverate", "Recall@{}", "setRecall Recall@100"),
    **_all("p precision prec precisionat positivepredictivevalue", "P@{}", "setP P@10"),
    **_all(
        "accuracy acc topkaccuracy topaccuracy categoricalaccuracy topkcategoricalaccuracy", "Success@{}", "Success@1"
    ),
    **_all("hit hitrate hitratio hr success successrate hitrateat", "Success@{}", "Success@10"),
    **_all("hits", "Success@{} P@{}", "Success@10 P@10"),
    **_all("ndcg normalizeddcg normaliseddcg", "ndcg_cut_{} nDCG@{}", "MSnDCG nDCG"),
    **_all(
        "normalizeddiscountedcumulativegain normaliseddiscountedcumulativegain", "ndcg_cut_{} nDCG@{}", "MSnDCG nDCG"
    ),
    **_all("ndcgcut mainscore", "ndcg_cut_{} nDCG@{}", "ndcg_cut_10 nDCG@10"),
    **_all("ndcgburges ndcgexp", "MSnDCG(gains=exp)@{}", "MSnDCG(gains=exp)"),
    **_all("dcg discountedcumulativegain", "DCG@{}", "DCG"),
    **_all("dcgburges", "DCG(gains=exp)@{}", "DCG(gains=exp)"),
    **_all("map ap averageprecision avgprecision meanaverageprecision meanap mapcut", "AP@{}", "AP"),
    **_all("labelrankingaverageprecision lrap", "AP@{}", "AP"),
    **_all("mrr rr reciprocalrank meanreciprocalrank reciprank recipranks reciprankcut", "RR@{}", "RR"),
    **_all("rprecision rprec precisionatr", "Rprec", "Rprec"),
    **_all("rcap recallcap caprecall cappedrecall recallcapped", "R_cap@{}", "R_cap@100"),
    **_all("f f1 fscore f1score fmeasure fbeta fbetascore f1measure", "setF P@{} Recall@{}", "setF"),
    **_all("hole holes holerate unjudged", "Unjudged@{}", "Unjudged@10"),
    **_all("judged judgedrate", "Judged@{}", "Judged@10"),
    **_all("rbp rankbiasedprecision", "RBP@{}", "RBP"),
    **_all("err expectedreciprocalrank", "ERR@{}", "ERR"),
    **_all("bpref binarypreference auc auroc rocauc", "bpref", "bpref"),
    **_all("interpolatedprecision iprec 11ptavg", "AP11pt", "AP11pt"),
}
_SIMILARITIES: Final = frozenset(["cosine", "cos", "dot", "euclidean", "manhattan", "hamming", "jaccard", "maxsim"])
_DECORATIONS: Final = _SIMILARITIES.union(
    (
        "sim",
        "score",
        "max",
        "eval",
        "evaluation",
        "val",
        "valid",
        "validation",
        "test",
        "dev",
        "train",
        "mean",
        "avg",
        "cv",
    ),
    ("average", "macro", "micro", "samples", "weighted", "retrieval", "metric", "at", "cut", "std", "base"),
)
"""Words around a name that say where it was computed, and not what."""
_CUTOFF: Final = re.compile(
    r"(?P<stem>.+?)(?:[@_. -]+(?:at[@_. -]*)?(?P<cutoff>\d{1,9}k?|k|n)|(?P<bare>\d{1,9}))(?P<rest>\D*)"
)
_TOP: Final = re.compile(r"top[@_. -]?(?P<cutoff>\d{1,9}|k|n)[@_. -]?(?P<stem>acc.*)")


_LONGEST: Final = 100
"""The most characters of an expression that are looked at. No program prints longer names."""


def name_here(expression: str) -> list[str]:
    """Return our expressions for a name that another program prints, the best first; empty if it is unknown.

    A letter in place of a cut-off, as in `map@k`, becomes 10. Parameters, as in `R(rel=2)@100`, are kept.
    """
    named = re.sub(r"\(k=([0-9]+)\)", r"@\1", expression.strip()[:_LONGEST])
    arguments = re.search(r"\([^()=]+=[^()]*\)", named)
    found = _without_arguments(re.sub(r"\(.*?\)", "", named.lower()))
    if arguments is None:
        return found
    return [re.sub(r"^([A-Za-z]+)(@|$)", rf"\g<1>{arguments[0]}\g<2>", each) for each in found]


def _without_arguments(text: str) -> list[str]:
    value = re.fullmatch(r"rbp[@_. -]?0?(\.[0-9]+)", text)
    if value:
        return [f"RBP(p=0{value[1]})"]
    if (meaning := _find(text)) is not None:
        return list(meaning.whole)
    for form in (_TOP, _CUTOFF):
        if (found := form.fullmatch(text)) is None:
            continue
        groups = found.groupdict()
        if (meaning := _find(groups["stem"] + groups.get("rest", ""))) is not None:
            cutoff = re.sub(r"(?<=\d)k$", "000", groups["cutoff"] or groups["bare"])  # R@1k of MS MARCO
            return [each.format(cutoff if cutoff.isdigit() else 10) for each in meaning.cut]
    return []


def _find(name: str) -> _Meaning | None:
    """Return the meaning of a name, or of what is left of it without the words around it, the longest first."""
    words = [word for word in re.split(r"[^a-z0-9]+", name.removeprefix("retrieval")) if word]
    # Evaluators of sentence-transformers put the name of the data before the similarity: `NanoBEIR_mean_cosine_ndcg`.
    last = max((place for place, word in enumerate(words) if word in _SIMILARITIES), default=-1)
    parts = [(start, stop) for start in range(len(words)) for stop in range(start + 1, len(words) + 1)]
    for start, stop in sorted(parts, key=lambda part: part[0] - part[1]):
        around = [*words[max(last, 0) : start], *words[stop:]]
        around = [word for word in around if not re.fullmatch(r"nano\w+|r\d+", word)]  # of data, and of rerankers
        if (meaning := MEANINGS.get("".join(words[start:stop]))) and _DECORATIONS.issuperset(around):
            return meaning
    return None
