"""Executors by name."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from backwater.experiment.executors.executor import Executor, ExecutorError
from backwater.experiment.executors.local import Local


class Kind(StrEnum):
    """Kind of executor: this machine, a Ray cluster, or jobs of a batch system."""

    LOCAL = "local"
    RAY = "ray"
    SUBMITIT = "submitit"


def executor(kind: Kind, width: int | None = None, options: Mapping[str, str] | None = None) -> Executor:
    """Makes an executor.

    Args:
        kind: Kind of the executor.
        width: Number of parallel runs; by default the executor decides.
        options: Options of Ray's `init`, or of submitit's executor. Whole numbers are passed as numbers.

    Raises:
        ExecutorError: If the executor is not available, or if an option is unknown.
    """
    passed: dict[str, Any] = {key: int(text) if text.isdecimal() else text for key, text in (options or {}).items()}
    try:
        match kind:
            case Kind.LOCAL:
                if passed:
                    raise ExecutorError(f"the executor local has no options, remove {', '.join(passed)}")
                return Local(width)
            case Kind.RAY:
                from backwater.experiment.executors.ray_cluster import RayCluster  # noqa: PLC0415 - not always installed

                return RayCluster(width, passed)
            case Kind.SUBMITIT:
                from backwater.experiment.executors.slurm import Submitit  # noqa: PLC0415 - as above

                return Submitit(width, passed)
    except ModuleNotFoundError as error:
        raise ExecutorError(f"{error}: install it with pip install 'backwater[{kind}]'") from None
