"""Registry of measures: every file that defines one has a line in the import below, which registers its classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Union, get_args

import pydantic

from backwater.experiment.measures import (  # noqa: F401 - see above
    analysis,
    flows,
    ingress,
    jobs,
    load_balancers,
    pauses,
    queues,
    relayed,
    reordering,
    requests,
    run_file,
    samples,
    throughput,
)
from backwater.experiment.measures.measure import Measure


def _registered(base: type[Measure]) -> Iterator[tuple[str, type[Measure]]]:
    """Yields the subclasses with a `kind`."""
    for model in base.__subclasses__():
        if "kind" in model.model_fields:
            yield get_args(model.model_fields["kind"].annotation)[0], model
        yield from _registered(model)


MEASURES: Final = dict(sorted(_registered(Measure)))
# Any measure, selected by its `kind`.
AnyMeasure = Annotated[
    Measure,
    pydantic.GetPydanticSchema(
        lambda _, handler: handler(Annotated[Union[*MEASURES.values()], pydantic.Field(discriminator="kind")])
    ),
]
