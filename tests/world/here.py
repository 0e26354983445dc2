"""Jobs in this process: another one takes 1.5 s of CPU to start. What it is for, tests of `gainboard.jobs` show."""

from threading import Thread
from unittest.mock import patch

from gainboard.evaluation.workspace import Workspace
from gainboard.jobs import process, worker_process
from gainboard.jobs.worker import Worker


class WorkingHere(worker_process.WorkerProcess):
    """In place of a process of jobs, a thread."""

    _thread = _worker = None

    def _hand_over(self, claim):
        self._worker = self._worker or Worker(Workspace(self._database))
        self._thread = Thread(target=self._work, args=(claim, self._worker), daemon=True)
        self._thread.start()

    def _work(self, claim, worker):
        reply = process._answer(worker, claim)
        if self.claim is claim:
            self._reply = reply
        self._wake()

    def kill(self):
        """Waits for the end of a chunk that nobody needs: it ends with its next note of progress."""
        self.claim = None
        if self._thread is not None:
            self._thread.join()


def working_here():
    """As long as this lasts, applications are made whose jobs are worked by threads."""
    return patch.object(worker_process, "WorkerProcess", WorkingHere)
