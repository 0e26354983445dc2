"""Measures whether the time of an answer tells a hidden name from an absent one.

    python -m tests.proofs.timing --rounds 1500

Both are asked for in turn, and each line has the medians in microseconds with the standard error of their difference.
"""

import random
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from gainboard.settings import Settings
from tests.proofs import asked
from tests.world.campaigns import judged
from tests.world.servers import ADMIN, serving

PARTS = 10


def microseconds(client, paths, rounds):
    """The times of two addresses, asked for in a drawn order. Their statuses and types must be the same."""
    times = {path: [] for path in paths}
    for _ in range(rounds):
        answers = []
        for path in random.sample(paths, 2):
            start = time.perf_counter()
            answers.append(client.get(path))
            times[path].append(1e6 * (time.perf_counter() - start))
        first, second = ((each.status_code, each.json()["type"]) for each in answers)
        assert first == second, paths
    return times[paths[0]], times[paths[1]]


def main():
    rounds = asked(__doc__, rounds=1500).rounds
    with TemporaryDirectory() as folder, serving(Settings.read({}, data=Path(folder), admin_token=ADMIN)) as service:
        campaign = judged(service, name="hidden")
        campaign.put_qrels(judgments="second")
        own, path = campaign.client("participant", "own"), campaign.path
        for name, client, there, absent in (
            ("a hidden collection", service.anonymous, path, path.replace("hidden", "absent")),
            ("a rival's run", own, f"{path}/runs/tag", f"{path}/runs/tog"),
            ("a rival's team", own, f"{path}/teams/lemur", f"{path}/teams/lemor"),
            ("a hidden judgment set", own, f"{path}/qrels?judgments=second", f"{path}/qrels?judgments=secomd"),
            ("a rival's scores", own, f"{path}/scores?metric=AP&run=tag", f"{path}/scores?metric=AP&run=tog"),
        ):
            both = microseconds(client, (there, absent), rounds)
            hidden, missing = (statistics.median(each) for each in both)
            parts = [
                statistics.median(both[0][part::PARTS]) - statistics.median(both[1][part::PARTS])
                for part in range(PARTS)
            ]
            error = statistics.stdev(parts) / PARTS**0.5
            print(f"{name:22} {hidden:6.0f} {missing:6.0f}  difference {hidden - missing:5.1f} +- {error:.1f}")


if __name__ == "__main__":
    main()
