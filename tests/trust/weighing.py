"""What scores under the default policy can be made to tell: many runs, each a random half of some documents.

The mean of P@10 over 50 topics at three decimals is an exact count, so every answer is one linear equation in the
relevance of the documents that the run holds among junk. What bounds this is the budget, and nothing else.
"""

import random

import numpy as np
from scipy.optimize import linprog

DEEP = 10
METRIC = f"P@{DEEP}"


def weigh(target, answers, documents):
    """What is recovered of so many documents with so many answers, and how many were given."""
    a_topic = max(1, documents // len(target.topics))
    chosen = [(topic, each) for topic in target.topics for each in target.documents(topic, a_topic)]
    draw, rows, counts = random.Random(7), [], []
    for number in range(answers):
        half = [draw.random() < 0.5 for _ in chosen]
        taken = [each for each, is_taken in zip(chosen, half, strict=True) if is_taken]
        if not target.submit(_padded(target, taken, number), f"w{number}"):
            break
        if not (found := target.scores(f"w{number}", [METRIC])):
            break
        rows.append(half)
        counts.append(round(found[METRIC] * DEEP * len(target.topics)))
    guesses = _solved(np.array(rows, dtype=float), counts) if rows else []
    named = dict(zip(chosen, guesses, strict=False))
    return target.judge(named, chosen, binary=True), len(rows)


def _padded(target, taken, number):
    """A run that covers every topic, as a score takes, with junk in place of what is not taken."""
    own = {topic: [each for other, each in taken if other == topic] for topic in target.topics}
    return {topic: [*found, *(f"junk{number}-{n}" for n in range(DEEP - len(found)))] for topic, found in own.items()}


def _solved(rows, counts):
    """The fewest relevant documents that explain the counts: a linear programme, for relevance is rare."""
    unknowns = rows.shape[1]
    found = linprog(np.ones(unknowns), A_eq=rows, b_eq=counts, bounds=(0, 1), method="highs")
    return [] if found.x is None else [int(each > 0.5) for each in found.x]
