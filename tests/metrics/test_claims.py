"""Claims of the papers that fail on real data: docs/choosing-a-metric.md has the counts, and this counts again."""

import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from gainboard.metrics import JudgedRuns, Scale, resolve, score_all
from gainboard.statistics.agreement import discordant_pairs
from tests import real
from tests.world.pages import rows

from .judged import Qrels, Ranking, joined, judgments

pytestmark = pytest.mark.outer  # 37 runs are read and joined by plain loops
RUNS, TOPICS = 37, 43


@dataclass(frozen=True)
class RealRuns:
    """The real runs as dictionaries, and joined with the qrels."""

    qrels: Qrels
    rankings: list[Mapping[str, Ranking]]
    joined: JudgedRuns

    def scores(self, expression):
        return np.asarray(score_all([resolve(expression, Scale(3))], self.joined)[0])

    def scores_by(self, formula):
        """Scores by a formula of a ranking's levels and of the ideal ranking's levels: [runs, topics]."""
        ideal = {topic: sorted(levels.values(), reverse=True) for topic, levels in self.qrels.items()}
        return np.array(
            [
                [
                    formula([levels.get(document, 0) for document in run.get(topic, ())], ideal[topic])
                    for topic, levels in self.qrels.items()
                ]
                for run in self.rankings
            ]
        )


@pytest.fixture(scope="module")
def runs():
    folder = real.folder()
    qrels = {}
    for line in (folder / "qrels.dl19-passage.txt").read_text().splitlines():
        topic, _, document, level = line.split()
        qrels.setdefault(topic, {})[document] = int(level)
    rankings = [ranked(gzip.decompress(path.read_bytes()).decode()) for path in sorted(folder.glob("runs/*.gz"))]
    runs = JudgedRuns.of([joined(qrels, run) for run in rankings], judgments(qrels))
    return RealRuns(qrels, rankings, runs)


def ranked(text):
    """The documents of each topic, highest score first, equal scores in descending order of ids."""
    found = {}
    for line in text.splitlines():
        topic, _, document, _, score, _ = line.split()
        found.setdefault(topic, []).append((float(score), document))
    return {topic: [document for _, document in sorted(scored, reverse=True)] for topic, scored in found.items()}


@pytest.mark.parametrize(("lower", "upper", "gains", "count"), rows("choosing-a-metric.md", "counts: bounds"))
def test_a_bound_of_the_papers_fails_as_often_as_the_page_says(runs, lower, upper, gains, count):
    below, above = (runs.scores(f"{name}(gains={gains})") for name in (lower, upper))
    assert below.shape == (RUNS, TOPICS)
    assert int((below > above + 1e-12).sum()) == int(count)


def q_without_bonus_at_gain_0(levels, ideal):
    """Q-measure with the gains 2:1:0 and the bonused gain of reliability-of-q-measure: g(r) + 1 only if g(r) > 0."""
    gains = (0, 0, 1, 2)
    total, cumulative, best = 0.0, 0.0, 0.0
    for rank, level in enumerate(levels, 1):
        gain = gains[level]
        cumulative += gain + 1 if gain > 0 else 0
        best += gains[ideal[rank - 1]] if rank <= len(ideal) else 0
        total += cumulative / (best + rank) if level > 0 else 0
    return total / sum(level > 0 for level in ideal)


def ndcg_divided_at_every_rank(base):
    """nDCG@10 with the gains 3:2:1, divided by the logarithm of every rank but the first, where that is 0."""

    def dcg(levels):
        return sum(level / (math.log(rank, base) if rank > 1 else 1) for rank, level in enumerate(levels[:10], 1))

    return lambda levels, ideal: dcg(levels) / dcg(ideal)


OTHERS = {
    "Q(gains=2:1:0)": q_without_bonus_at_gain_0,
    "nDCG(base=2,gains=3:2:1)@10": ndcg_divided_at_every_rank(2),
    "nDCG(base=10,gains=3:2:1)@10": ndcg_divided_at_every_rank(10),
}


@pytest.mark.parametrize(
    ("expression", "definition", "scores", "pairs"), rows("choosing-a-metric.md", "counts: definitions")
)
def test_a_definition_of_another_paper_differs_as_often_as_the_page_says(runs, expression, definition, scores, pairs):
    ours, other = runs.scores(expression), runs.scores_by(OTHERS[expression])
    assert int((abs(ours - other) > 1e-12).sum()) == int(scores)
    assert len(discordant_pairs(ours.mean(axis=1), other.mean(axis=1)).pairs) == int(pairs)


def test_the_page_has_every_other_definition():
    assert {row[0] for row in rows("choosing-a-metric.md", "counts: definitions")} == {*OTHERS}
