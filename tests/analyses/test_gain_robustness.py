"""gain-robustness, against the jobs that it is made of."""

import pytest

SETTINGS = ["3:2:1", "1:1:1", "10:5:1", "adjust(3:2:1)"]
ASKED = {"metrics": ["Q", "nDCG@10"], "trials": 50, "seed": 3}
LABELS = [
    f"{name},gains={gains}){cut}" for name, cut in (("Q(beta=1", ""), ("nDCG(base=2", "@10")) for gains in SETTINGS
]


@pytest.mark.parametrize(
    ("more", "seeds"), [({}, {}), ({}, {"seeds": 3}), ({"per_pair": True, "fuzziness": [0.05]}, {})]
)
def test_stability_and_swap_rates_are_those_of_their_own_jobs(answer, more, seeds):
    found, own = answer("gain-robustness", **ASKED, **more, **seeds), ASKED | {"metrics": LABELS}
    stability = answer("stability", **own, **more)
    assert found["stability"]["metrics"] == stability["metrics"]
    assert found["swap_rate"]["metrics"] == answer("swap-rate", **own, **seeds)["metrics"]
    for name in ("topics", "topics_left_out", "left_out_because", "trials", "seed", "subset_size", "runs"):
        assert found[name] == stability[name]


def test_rankings_are_correlated_with_that_of_the_first_setting(answer):
    found = answer("gain-robustness", **ASKED)["rank_correlation"]
    for one, labels in zip(found, (LABELS[:4], LABELS[4:]), strict=True):
        own = answer("rank-correlation", metrics=labels, against=labels[0])
        assert one == {name: own[name] for name in one}
        assert {"coefficients", "swops", "means", "runs"} <= set(one)


def test_the_papers_settings_are_the_defaults(answer):
    found = answer("gain-robustness", **ASKED)
    assert found["settings"] == SETTINGS
    assert found["metrics"] == [
        {"metric": "Q(beta=1)", "labels": LABELS[:4]},
        {"metric": "nDCG(base=2)@10", "labels": LABELS[4:]},
    ]
