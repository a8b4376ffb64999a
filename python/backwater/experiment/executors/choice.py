"""The executors, by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from backwater.experiment.executors.executor import Executor, ExecutorError
from backwater.experiment.executors.local import Local


class Kind(StrEnum):
    """Where runs take place: on this machine, on a Ray cluster, or as jobs of a batch system."""

    LOCAL = "local"
    RAY = "ray"
    SUBMITIT = "submitit"


def executor(kind: Kind, width: int | None = None, options: Mapping[str, str] | None = None) -> Executor:
    """Makes an executor.

    Args:
        kind: Which one.
        width: How many runs at once; by default what the executor finds.
        options: What is passed on to Ray's `init`, or to submitit's executor; whole numbers are passed as such.

    Raises:
        ExecutorError: If it cannot be had, or there is no such option.
    """
    passed: dict[str, Any] = {key: int(text) if text.isdecimal() else text for key, text in (options or {}).items()}
    try:
        match kind:
            case Kind.LOCAL:
                if passed:
                    raise ExecutorError(f"the executor local has no options, but {', '.join(passed)} is given")
                return Local(width)
            case Kind.RAY:
                from backwater.experiment.executors.ray_cluster import RayCluster  # noqa: PLC0415 - not always there

                return RayCluster(width, passed)
            case Kind.SUBMITIT:
                from backwater.experiment.executors.slurm import Submitit  # noqa: PLC0415 - as above

                return Submitit(width, passed)
    except ModuleNotFoundError as error:
        raise ExecutorError(f"{error}: pip install 'backwater[{kind}]' installs it") from None
