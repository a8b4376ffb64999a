"""Progress of a sweep, whichever processes run it."""

from __future__ import annotations

import time
from collections.abc import Callable

from backwater import style
from backwater.experiment.store import LOG_FILE, Store
from backwater.experiment.study import Study
from backwater.style import counted
from backwater.views.view import View


def status(study: Study, store: Store, now: Callable[[], float] = time.time) -> tuple[str, View]:
    """Returns a sentence with the numbers of finished, running, failed and waiting runs, and a table of some of them.

    The table has the running and failed runs. No result is read.
    """
    jobs = {job.key: job for job in study.jobs.values()}
    done, running, failed, waiting = 0, [], [], 0
    for job in jobs.values():
        if store.has(job):
            done += 1
        elif (claim := store.claim_of(job)) is not None:
            shard = f", shard {claim.shard}" if claim.shard else ""
            since = style.duration(max(0.0, now() - claim.since) * style.PS_PER_SECOND)
            running.append((job.name, "running", f"{claim.host}, process {claim.pid}{shard}, for {since}"))
        elif (directory := store.failed(job)) is not None:
            failed.append((job.name, "failed", str(directory / LOG_FILE)))
        else:
            waiting += 1
    sentence = (
        f"{study.experiment.name}, {study.scale}: of {counted(len(jobs), 'run')}, {done} have a result in "
        f"{store.directory}, {len(running)} are running, {len(failed)} failed, {waiting} have not started."
    )
    return sentence, View("Runs without a result", ("run", "state", "where"), [*running, *failed], text_columns=3)
