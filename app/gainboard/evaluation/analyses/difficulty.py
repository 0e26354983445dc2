"""Difficulty: topics by mean, spread and discrimination, and the variance components of runs and topics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gainboard.evaluation.analyses.analysis import Analysis, Arrays
from gainboard.evaluation.analyses.common import MOST_PAIRS, common_topics, refuse, require_at_most
from gainboard.evaluation.matrices import Floats, Matrices
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.standardised import Standardisation, standardised
from gainboard.statistics.subsampling import taus_with
from gainboard.statistics.variance_components import VarianceComponents, discriminations, variance_components

SECONDS_A_SCORE = 5e-8
LEAST_REFERENCE = 2


class Difficulty(Analysis):
    """Each metric's topics one by one, and how much of the variance is the runs', the topics', and neither's."""

    compares_pairs = True
    """Components are not of pairs, but a run that is there twice counts twice, and makes runs look more alike."""

    def __init__(
        self,
        matrices: Matrices,
        metrics: Sequence[str],
        *,
        standardise: Standardisation | None = None,
        reference: Sequence[str] | None = None,
    ) -> None:
        super().__init__(matrices)
        self.metrics, self.standardise, self._named = metrics, standardise, reference
        self.topics = common_topics(matrices, metrics)
        require_at_most(MOST_PAIRS, self.topics.count * len(metrics), "topics over all metrics", "metrics")
        if reference is not None and len(set(reference)) < LEAST_REFERENCE:
            message = f"A spread needs at least {LEAST_REFERENCE} reference runs. Name more, or leave `reference` out."
            raise refuse("reference", "too-few-runs", message)
        if standardise is not None:
            self._require_selected(reference or ())
            scores = matrices.run_count * self.topics.count * len(metrics)
            require_at_most(MOST_PAIRS, scores, "standardised scores", "standardise")

    def _require_selected(self, reference: Sequence[str]) -> None:
        selected = {run.name for run in self.matrices.runs} if reference else set()
        if missing := [name for name in reference if name not in selected]:
            message = f"{missing[0]!r} is not among the selected runs. Select it with `runs`, or leave it out."
            raise refuse("reference", "unknown-run", message)

    @cached_property
    def reference(self) -> list[str]:
        """The names of the reference runs, in the order of the answer."""
        selected = [run.name for run in self.matrices.runs]
        return selected if self._named is None else [name for name in selected if name in self._named]

    def parts(self) -> list[float]:
        return [self.matrices.run_count * self.topics.count * SECONDS_A_SCORE] * len(self.metrics)

    def work(self, part: int) -> Arrays:
        scores = self.topics.scores(self.metrics[part])
        found = variance_components(scores)
        numbers = (found.runs, found.topics, found.residual)
        shares = (found.generalisability, found.low, found.high, found.dependability)
        return {
            **self._standardised(scores),
            "mean": scores.mean(axis=0),
            "spread": scores.std(axis=0, ddof=1),
            "discrimination": discriminations(scores),
            "components": np.array([*numbers, *shares]),
            "negative": np.array(found.is_negative),
        }

    def _standardised(self, scores: Floats) -> Arrays:
        """Return the standardised scores, and the means [2, runs]: of scores and standardised, on the same topics."""
        if self.standardise is None:
            return {}
        named = set(self.reference)
        places = np.array([place for place, run in enumerate(self.matrices.runs) if run.name in named], np.intp)
        table = standardised(scores, places, self.standardise)
        known = ~np.isnan(table[0])
        means = [each[:, known].mean(axis=1) if known.any() else np.full(len(each), np.nan) for each in (scores, table)]
        return {"standardised": table, "means": np.array(means)}

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        return {
            **self.topics.described(),
            "standardise": self.standardise,
            "reference": self.reference if self.standardise is not None else None,
            "metrics": [self._metric(label, each) for label, each in zip(self.metrics, found, strict=True)],
        }

    def _metric(self, label: str, found: Arrays) -> dict[str, Any]:
        runs, topics, residual, *shares = found["components"].tolist()
        components = VarianceComponents(runs, topics, residual, tuple(found["negative"].tolist()), *shares)
        return {
            "metric": label,
            "by_topic": self._by_topic(label, found),
            "components": {"runs": runs, "topics": topics, "residual": residual},
            "shares": components.shares(),
            "negative_components": [
                name
                for name, is_negative in zip(("runs", "topics"), components.is_negative, strict=True)
                if is_negative
            ],
            "generalisability": components.generalisability,
            "generalisability_interval": [components.low, components.high],
            "dependability": components.dependability,
            "standardised": self._show_standardised(found) if self.standardise is not None else None,
        }

    def _show_standardised(self, found: Arrays) -> dict[str, Any]:
        table, (means, own) = found["standardised"], found["means"]
        topics = [self.matrices.topics[place] for place in np.flatnonzero(self.topics.defined)]
        ranks = zip(competition_ranks(means).tolist(), competition_ranks(own).tolist(), strict=True)
        return {
            "topics_left_out": [topics[place] for place in np.flatnonzero(np.isnan(table[0]))],
            "tau": float(taus_with(means, own[np.newaxis])[0]),
            "runs": [
                {
                    "run": run.name,
                    "mean": mean,
                    "mean_standardised": standard,
                    "rank": rank,
                    "rank_standardised": new,
                    "scores": row,
                }
                for run, mean, standard, (rank, new), row in zip(
                    self.matrices.runs, means.tolist(), own.tolist(), ranks, table.tolist(), strict=True
                )
            ],
        }

    def _by_topic(self, label: str, found: Arrays) -> list[dict[str, Any]]:
        rel = self.matrices.metric(label).parameters["rel"]
        relevant = self.matrices.judgments.level_counts[self.topics.defined, rel:].sum(axis=1)
        names = np.flatnonzero(self.topics.defined)
        columns = [relevant.tolist(), *(found[name].tolist() for name in ("mean", "spread", "discrimination"))]
        return [
            {
                "topic": self.matrices.topics[place],
                "relevant": count,
                "mean": mean,
                "standard_deviation": spread,
                "discrimination": discrimination,
            }
            for place, count, mean, spread, discrimination in zip(names, *columns, strict=True)
        ]
