"""The kernels of the jobs beside plain ways of computing the same, and each kind of job over HTTP."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Row, Target, at_least, costs, cpu_timed, speed, timed
from benchmarks.upload import COLLECTION
from benchmarks.waiting import whole_result
from gainboard.statistics.bootstrap import paired_bootstrap
from gainboard.statistics.corrected_means import LEAST_TRUSTED
from gainboard.statistics.correlation import kendall_matrix
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import pair_count, pair_differences
from gainboard.statistics.significance import SignificanceSettings, find_test
from gainboard.statistics.stability import stability_counts, swap_counts

Floats = NDArray[np.float64]
METRICS, RUNS, TOPICS = 43, 45, 50
MANY_METRICS, MANY_RUNS, MANY_TOPICS = 10, 200, 100
AT_ONCE = 500
"""Pairs in one array of plain NumPy, as fast as it gets here."""
TRIALS, RESAMPLES, TUKEY = 1000, 1000, 5000
FUZZINESS = [hundredths / 100 for hundredths in range(1, 11)]
SAMPLE = 20
"""Pairs of which a plain loop is timed, to be multiplied by the number of all; of Tukey's resamples, as many."""
GRADED = [f"{name}@{cutoff}" for name in ("nCG", "AnCG", "nDCG", "AnDCG") for cutoff in (10, 100, 1000)]
PAPER = ["AP", "Rprec", "P@10", "P@100", "P@1000", *(f"{name}(rel=2)" for name in ("AP", "Rprec"))]
PAPER += [*(f"P(rel=2)@{cutoff}" for cutoff in (10, 100, 1000)), "Q", "Rmeasure", *GRADED]
"""The 24 metrics of Sakai's paper on the reliability of graded ones."""


def score_tables(seed: int) -> Floats:
    """Return scores, float64 [43, 45, 50], in tenths, so that there are ties.

    Topics differ more than runs, as in real campaigns.
    """
    random = np.random.default_rng(seed)
    hardness, skill = random.normal(size=TOPICS), random.normal(scale=0.4, size=(RUNS, 1))
    tables = hardness + skill + random.normal(scale=0.7, size=(METRICS, RUNS, TOPICS))
    return np.asarray(np.round(1 / (1 + np.exp(-tables)), 1))


def measure_kernels(seed: int, repetitions: int) -> Iterator[Row]:
    """Yield each kernel beside the plain way, in turn; the plain loops go over a sample and are multiplied."""
    tables = score_tables(seed)
    scores = tables[0]
    yield from _bootstrap(scores, repetitions)
    yield _swaps(scores, repetitions)
    yield _minority(scores, repetitions)
    yield _tukey(scores, repetitions)
    yield _kendall(tables.mean(axis=2), repetitions)
    yield from _beside_arrays(seed, max(1, repetitions // 3))


def _bootstrap(scores: Floats, repetitions: int) -> list[Row]:
    counts = resample_counts(Draws(0, "benchmark").resamples(RESAMPLES, TOPICS), TOPICS)
    differences = pair_differences(scores)
    centred = np.ascontiguousarray((differences - differences.mean(axis=1, keepdims=True)).T)
    squares = centred * centred

    def products() -> tuple[Floats, Floats]:
        return counts @ centred, counts @ squares

    what = f"bootstrap of {pair_count(RUNS)} pairs, {RESAMPLES} resamples"
    counted, bare = _in_turn(lambda: paired_bootstrap(differences, counts), products, repetitions)
    full, again = _in_turn(lambda: paired_bootstrap(differences, counts, (0.05, 0.01)), products, repetitions)
    return [
        costs(f"{what} / two bare products", counted, bare, Target(1.25)),
        costs("the same with estimated differences at two levels", full, again),
    ]


def _minority(scores: Floats, repetitions: int) -> Row:
    subsets = Draws(0, "benchmark").subsets(TRIALS, TOPICS, TOPICS // 2)

    def plain() -> None:
        for x, y in itertools.islice(itertools.combinations(range(RUNS), 2), SAMPLE):
            for subset in subsets:
                first, second = scores[x, subset].mean(), scores[y, subset].mean()
                for fuzziness in FUZZINESS:
                    _ = abs(first - second) < fuzziness * max(first, second)

    ours, theirs = _in_turn(lambda: stability_counts(scores, subsets, FUZZINESS), plain, repetitions)
    return speed(f"minority rate, {TRIALS} trials, 10 fuzziness / loop", ours, _all(theirs), at_least(800))


def _swaps(scores: Floats, repetitions: int) -> Row:
    both = Draws(0, "benchmark").subsets(TRIALS, TOPICS, TOPICS // 2 * 2)
    halves = both[:, : TOPICS // 2], both[:, TOPICS // 2 :]

    def plain() -> None:
        for x, y in itertools.islice(itertools.combinations(range(RUNS), 2), SAMPLE):
            for one, other in zip(*halves, strict=True):
                first = scores[x, one].mean() - scores[y, one].mean()
                second = scores[x, other].mean() - scores[y, other].mean()
                _ = int(abs(first) * 100), first * second < 0

    ours, theirs = _in_turn(lambda: swap_counts(scores, *halves), plain, repetitions)
    return speed(f"swap rate, {TRIALS} trials / loop", ours, _all(theirs), at_least(1500))


def _tukey(scores: Floats, repetitions: int) -> Row:
    random = np.random.default_rng(0)
    # Another seed each time, or the permutations of the time before would still be there.
    seeds = itertools.count()

    def ours() -> None:
        find_test("randomised-tukey-hsd").decide(scores, SignificanceSettings(seed=next(seeds)))

    def plain() -> None:
        for _ in range(SAMPLE):
            means = np.array([random.permutation(scores[:, topic]) for topic in range(TOPICS)]).mean(axis=0)
            _ = means.max() - means.min()

    mine, theirs = _in_turn(ours, plain, repetitions)
    whole = [seconds * TUKEY / SAMPLE for seconds in theirs]
    return speed(f"randomised Tukey HSD, {TUKEY} resamples / loop of rng.permutation", mine, whole, at_least(7))


def _kendall(means: Floats, repetitions: int) -> Row:
    from scipy.stats import kendalltau  # noqa: PLC0415 (it takes a second that other rows need not wait for)

    def plain() -> None:
        for x, y in itertools.combinations(means, 2):
            kendalltau(x, y)

    ours, theirs = _in_turn(lambda: kendall_matrix(means), plain, repetitions)
    return speed(f"Kendall matrix of {METRICS} metrics / scipy.stats.kendalltau", ours, theirs, at_least(400))


def _beside_arrays(seed: int, repetitions: int) -> Iterator[Row]:
    """Yield the tests of many runs beside the shortest NumPy that answers their main question, array by array."""
    random = np.random.default_rng(seed)
    metrics = MANY_METRICS if repetitions > 1 else 1
    tables = random.beta(2, 3, size=(metrics, MANY_RUNS, MANY_TOPICS)).round(4)
    first, second = np.triu_indices(MANY_RUNS, 1)
    counts = resample_counts(Draws(0, "benchmark").resamples(RESAMPLES, MANY_TOPICS), MANY_TOPICS)
    both = Draws(0, "benchmark").subsets(TRIALS, MANY_TOPICS, MANY_TOPICS)
    halves = both[:, : MANY_TOPICS // 2], both[:, MANY_TOPICS // 2 :]
    one, other = (resample_counts(half, MANY_TOPICS) / half.shape[1] for half in halves)
    settings = SignificanceSettings(alphas=(0.05, 0.01), resamples=RESAMPLES)

    def bootstrap() -> None:
        for scores in tables:
            for start in range(0, len(first), AT_ONCE):
                z = scores[first[start : start + AT_ONCE]] - scores[second[start : start + AT_ONCE]]
                mean = z.mean(axis=1, keepdims=True)
                w = z - mean
                drawn, squares = w @ counts.T / MANY_TOPICS, (w * w) @ counts.T / MANY_TOPICS
                t = np.abs(drawn) / np.sqrt(squares - drawn**2)
                _ = (t >= np.abs(mean) / z.std(axis=1, keepdims=True)).mean(axis=1)

    def swaps() -> None:
        for scores in tables:
            means, others = scores @ one.T, scores @ other.T
            for start in range(0, len(first), AT_ONCE):
                x, y = first[start : start + AT_ONCE], second[start : start + AT_ONCE]
                gap = means[x] - means[y]
                bins = np.minimum(100 * np.abs(gap), 20).astype(np.intp).ravel()
                is_swap = (gap * (others[x] - others[y]) < 0).ravel()
                _ = np.bincount(bins, is_swap, 21), np.bincount(bins, minlength=21)

    def stability() -> None:
        for scores in tables:
            means = scores @ one.T
            for start in range(0, len(first), AT_ONCE):
                x, y = means[first[start : start + AT_ONCE]], means[second[start : start + AT_ONCE]]
                for fuzziness in FUZZINESS:
                    margin = fuzziness * np.maximum(x, y)
                    _ = (x - y >= margin).sum(axis=1), (y - x >= margin).sum(axis=1)

    def by_ours(count: Callable[[Floats], object]) -> Callable[[], object]:
        return lambda: [count(scores) for scores in tables]

    test = find_test("paired-bootstrap")
    for what, ours, plain, most in (
        ("bootstrap", by_ours(lambda scores: test.decide(scores, settings)), bootstrap, 2.0),
        ("swap rate", by_ours(lambda scores: swap_counts(scores, *halves)), swaps, 0.9),
        ("stability", by_ours(lambda scores: stability_counts(scores, halves[0], FUZZINESS)), stability, 0.9),
    ):
        of = f"{what} of {MANY_RUNS} runs x {metrics} metrics / plain NumPy"
        yield costs(of, *_in_turn(ours, plain, repetitions), Target(most))


def measure_jobs(client: httpx.Client, runs: int) -> Iterator[Row]:
    """Yield every kind of job on the stored runs: from the request to the whole of the result, nothing cached."""
    whole_result(client, COLLECTION, "stability", {"metrics": ["AP"], "trials": 10})  # a process is there from now on
    same = client.get(f"{COLLECTION}/qrels/1", headers={"Accept": "text/plain"}).raise_for_status().content
    client.put(f"{COLLECTION}/qrels", params={"judgments": "second"}, content=same).raise_for_status()
    lines = same.splitlines(keepends=True)
    topics = sorted({line.split()[0] for line in lines})
    some = b"".join(line for line in lines if line.split()[0] in topics[: len(topics) // 2])
    client.put(f"{COLLECTION}/qrels", params={"judgments": "people"}, content=some).raise_for_status()
    first, second, third = (
        run["name"] for run in client.get(f"{COLLECTION}/runs?limit=3").raise_for_status().json()["items"]
    )
    asked: dict[str, dict[str, Any]] = {
        "judge-agreement": {"metrics": PAPER, "sets": ["second"]},
        "corrected-means": {"metrics": PAPER, "trusted": "people", "sampled_at_random": True},
        "gain-vectors": {"cutoff": 1000},
        "judgments": {},
        "gain-robustness": {"metrics": ["Q", "Rmeasure", *GRADED]},
        "rank-correlation": {"metrics": PAPER, "accuracy": True},
        "leave-one-team-out": {"metrics": GRADED, "pool_depth": 100},
        "pool": {"depth": 100},
        "judge-validity": {"judges": ["official", "second"]},
        "reproduction": {"metrics": PAPER, "pairs": [{"original": first, "baseline": second, "reproduced": third}]},
    }
    # To judge is not to analyse: it would change the collection that the next rows are about. The campaign has neither
    # replicates nor judges of answers.
    left_out = {"judge", "rejudge", "noise", "answer-agreement"}
    if len(topics) < 2 * LEAST_TRUSTED:
        left_out.add("corrected-means")  # the short campaign has ten topics
    kinds = [kind["name"] for kind in client.get("/v1/job-kinds").json()["items"] if kind["name"] not in left_out]
    for kind in kinds:
        params = asked.get(kind, {"metrics": PAPER})
        metrics = f" x {len(params['metrics'])} metrics" if "metrics" in params else ""
        yield Row(f"job {kind}, {runs} runs{metrics}", timed(whole_result, client, COLLECTION, kind, params))
    tukey = {"metrics": PAPER, "test": "randomised-tukey-hsd"}
    yield Row(
        f"job {kinds[0]} by Tukey's test, {TUKEY} resamples", timed(whole_result, client, COLLECTION, kinds[0], tukey)
    )


def _in_turn(
    ours: Callable[[], object], theirs: Callable[[], object], repetitions: int
) -> tuple[list[float], list[float]]:
    if repetitions > 1:  # what is measured once need not be warm
        ours(), theirs()
    pairs = [(cpu_timed(ours), cpu_timed(theirs)) for _ in range(repetitions)]
    return [mine for mine, _ in pairs], [other for _, other in pairs]


def _all(sampled: list[float]) -> list[float]:
    return [seconds * pair_count(RUNS) / SAMPLE for seconds in sampled]
