"""Ways to download hidden judgments through scores, as a participant would go them.

    python -m tests.trust.attacks

says what share of the levels each recovers under an open policy and under the default one, and what the scores
that the default gives away can be made to tell at the most (`tests.trust.weighing`).
"""

import math
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.trust.target import WIDE_OPEN, Target
from tests.world.servers import new_settings, serving

GAINS = (0, 1, 3, 5)
"""By level. No single ratio of two of them is another's, so a scale can be told from the gains found."""
SETTING = "5:3:1"
TOP = 3
PRESET = "nDCG(base=1.5,gains=5:3:1)@3"
"""The fixed metric of the fourth attack: the three ranks weigh differently, and no two sums of gains are equal."""


def gains_and_cutoffs(target, deep=50):
    """The gain at a rank is the difference of cumulative gains at two cut-offs."""
    rankings = _ordinary(target, deep)
    target.submit(rankings, "cutoffs")
    asked = {rank: f"CG(gains={SETTING})@{rank}" for rank in range(1, deep + 1)}
    found = target.scores("cutoffs", list(asked.values()), topics="all")
    guesses = {}
    for topic, documents in rankings.items() if found else ():
        gains = np.diff([0.0, *(found[asked[rank]][topic] for rank in asked)])
        guesses |= {(topic, each): _level(gain) for each, gain in zip(documents, gains, strict=True)}
    return target.judge(guesses, _all(rankings))


def gains_and_bases(target, deep=50):
    """Between two whole numbers, nDCG is (C + T ln b) / (I + J ln b): three bases of each interval tell the ratios."""
    rankings = _ordinary(target, deep)
    target.submit(rankings, "bases")
    bases = [[rank + part for part in (0.1, 0.5, 0.9)] for rank in range(1, deep)]
    asked = [[f"nDCG(base={base!r},gains={SETTING})@{deep}" for base in three] for three in bases]
    found = target.scores("bases", [each for three in asked for each in three], topics="all")
    guesses = {}
    for topic, documents in rankings.items() if found else ():
        curve = np.array([[found[each][topic] for each in three] for three in asked], dtype=float)
        gains = _gains_behind(curve, np.log(bases))
        guesses |= {(topic, each): _level(gain) for each, gain in zip(documents, gains, strict=False)}
    return target.judge(guesses, [each for each in _all(rankings) if target.truth[each] > 0])


def _gains_behind(curve, logs):
    """The gains at ranks 1, 2, ... of nDCG at three bases [intervals, 3] with these logarithms."""
    if np.isnan(curve).any():
        return []
    # n (1 + q x) = c + t x, with c = C/I, t = T/I, q = J/I: linear in the three.
    matrix = np.stack((np.ones_like(logs), logs, -curve * logs), axis=-1)
    # Beyond the last relevant document nothing depends on b, and the least of all solutions is the right one.
    c, _, q = (np.linalg.pinv(matrix, rcond=1e-14) @ curve[..., None])[..., 0].T
    ideal = [1.0]
    for rank in range(2, len(c) + 1):
        # J falls by i / ln(rank) from one interval to the next and I grows by i: that tells the ideal gain i.
        step = ideal[-1] * (q[rank - 2] - q[rank - 1]) / (1 / math.log(rank) + q[rank - 1])
        ideal.append(ideal[-1] + step)
    gains = np.diff([0.0, *(c * ideal)])
    scales = [gain for gain in GAINS if gain]
    return list(gains * min(scales, key=lambda scale: _off(gains * scale) - 1e-6 * scale))


def _off(gains):
    return float(sum(min(abs(gain - each) for each in GAINS) for gain in gains))


def means_of_one_topic(target, deep=50, topics=3):
    """The mean of a run that covers one topic is that topic's score, over a number of topics that is constant."""
    rankings = dict(list(_ordinary(target, deep).items())[:topics])
    asked = [f"P@{rank}" for rank in range(1, deep + 1)]
    guesses = {}
    for topic, documents in rankings.items():
        target.submit({topic: documents}, f"only-{topic}")
        if found := target.scores(f"only-{topic}", asked):
            counts = np.array([found[each] * rank for rank, each in enumerate(asked, start=1)]) * len(target.topics)
            relevant = np.diff([0.0, *counts]).round().astype(int).tolist()
            guesses |= {(topic, each): one for each, one in zip(documents, relevant, strict=True)}
    return target.judge(guesses, _all(rankings), binary=True)


def crafted_run(target):
    """Three documents under a metric whose ranks weigh differently: the score of a topic names their three levels."""
    rankings = _ordinary(target, TOP)
    target.submit(rankings, "crafted")
    found = target.scores("crafted", [PRESET], topics="all").get(PRESET, {})
    weights = np.array([1 / max(1.0, math.log(rank, 1.5)) for rank in (1, 2, 3)])
    ideal = GAINS[-1] * weights.sum()  # as long as a topic has three documents of the highest level
    tuples = {
        levels: float(weights @ [GAINS[each] for each in levels]) / ideal for levels in product(range(4), repeat=3)
    }
    guesses = {}
    for topic, documents in rankings.items() if found else ():
        levels = min(tuples, key=lambda each: abs(tuples[each] - found[topic]))
        guesses |= {(topic, each): level for each, level in zip(documents, levels, strict=True)}
    return target.judge(guesses, _all(rankings))


def means_over_groups(target, deep=50, topics=3):
    """The mean over a group of one topic is that topic's score, and the run covers all topics."""
    rankings, asked = _grouped(target, deep, topics, "of-groups")
    guesses = {}
    for topic, documents in rankings.items():
        if found := target.scores("of-groups", asked, topics=f"only-{topic}"):
            precisions = [found[each][topic] for each in asked]
            guesses |= {(topic, each): one for each, one in zip(documents, _relevant(precisions), strict=True)}
    return target.judge(guesses, _all(rankings), binary=True)


def columns_of_groups(target, deep=50, topics=3):
    """A board with a column for each group has the same means."""
    rankings, asked = _grouped(target, deep, topics, "of-columns")
    guesses = {}
    for row in target.board("of-columns", asked, by_group="all"):
        for topic, documents in rankings.items():
            precisions = [row["by_group"][f"only-{topic}"][each] for each in asked]
            guesses |= {(topic, each): one for each, one in zip(documents, _relevant(precisions), strict=True)}
    return target.judge(guesses, _all(rankings), binary=True)


def _grouped(target, deep, topics, name):
    """Some rankings of a run on all topics, with a group for each, and the metrics that tell of a rank each."""
    rankings = _ordinary(target, deep)
    target.submit(rankings, name)
    wanted = dict(list(rankings.items())[:topics])
    for topic in wanted:
        target.group(f"only-{topic}", [topic])
    return wanted, [f"P@{rank}" for rank in range(1, deep + 1)]


def _relevant(precisions):
    counts = [precision * rank for rank, precision in enumerate(precisions, start=1)]
    return [round(count - before) for before, count in zip([0.0, *counts], counts, strict=False)]


ATTACKS = {
    "gains and cut-offs, by topic": gains_and_cutoffs,
    "gains and log bases, by topic": gains_and_bases,
    "means only, runs of one topic": means_of_one_topic,
    "one metric, by topic, a crafted run": crafted_run,
    "means over groups of one topic": means_over_groups,
    "columns of groups of one topic": columns_of_groups,
}


def _ordinary(target, deep):
    return {topic: target.documents(topic, deep) for topic in target.topics}


def _all(rankings):
    return [(topic, each) for topic, documents in rankings.items() for each in documents]


def _level(gain):
    return min(range(len(GAINS)), key=lambda level: abs(GAINS[level] - gain))


def main():
    from tests.trust.weighing import weigh  # noqa: PLC0415 - it needs SciPy

    with TemporaryDirectory() as folder, serving(new_settings(Path(folder))) as service:
        policies = {"open": WIDE_OPEN, "default": {"presets": [PRESET, "P@10"]}}
        for title, attack in ATTACKS.items():
            for name, policy in policies.items():
                found = attack(Target.of(service, policy, topics=50, pool=300))
                print(f"{title}; {name}: {found.share:.1%} of {found.documents} levels, guessing {found.guess:.1%}")
        # With one preset, the whole budget goes to one metric: each run is charged for all presets.
        target = Target.of(service, {"presets": ["P@10"]}, topics=50, pool=300)
        found, answers = weigh(target, answers=200, documents=400)
        whole = target.judge({}, list(target.truth), binary=True)
        print(
            f"sums over random halves of {found.documents} chosen documents; default: {found.share:.1%} of their "
            f"binary relevance with {answers} answers, guessing {found.guess:.1%}; "
            f"of the whole pool of {whole.documents} that is {found.gained * found.documents / whole.documents:+.2%}"
        )


if __name__ == "__main__":
    main()
