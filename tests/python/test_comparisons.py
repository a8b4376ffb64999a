"""Tables that compare points of an experiment."""

from typing import Any

import pytest

from backwater.experiment import comparisons
from backwater.experiment.claims import Values
from backwater.experiment.format.content import Content
from backwater.experiment.grid import Point
from backwater.views.view import View

AXES: dict[str, dict[str, dict[str, object]]] = {
    "load": {"1": {}, "2": {}},
    "scheme": {"old": {}, "older": {}, "new": {}},
    "variant": {"base": {}, "old anew": {}, "never run": {}},
}
CONTENT = {
    "experiment": {"title": "t"},
    "scenario": {},
    "scales": {"small": {"seeds": [1]}},
    "axes": AXES,
    "measures": {"m": {"kind": "flows"}, "lost": {"kind": "flows", "value": "retransmitted"}},
}
AGAINST_OLD = {"at": {"scheme": "new"}, "to": {"scheme": "old"}}


def grid(
    variant: str = "base", seeds: int = 1, **of_schemes: tuple[float | None, float | None]
) -> dict[Point, dict[str, float | None]]:
    """Returns two measures at two loads: `m`, the given value plus the seed, and `lost`, a million times `m`."""
    return {
        Point({"load": load, "scheme": scheme, "variant": variant}, seed): {
            "m": None if value is None else value + seed,
            "lost": None if value is None else 1e6 * (value + seed),
        }
        for seed in range(seeds)
        for scheme, loads in of_schemes.items()
        for load, value in zip("12", loads, strict=True)
    }


def table(values: Values, **keys: Any) -> View:  # noqa: ANN401 - any TOML value
    content = Content.model_validate(
        {**CONTENT, "tables": [{"title": "t", "measures": "m", "rows": "variant", **keys}]}
    )
    return comparisons.view(content.tables[0], content, values)


def cells(values: Values, **keys: Any) -> list[str]:  # noqa: ANN401 - any TOML value
    """Returns the cells of the row `base`."""
    (row,) = [row for row in table(values, **keys).rows if row[0] == "base"]
    return [*row[1:]]


def test_a_row_lists_the_places_of_the_other_axes_in_the_order_of_the_file() -> None:
    found = table(grid(new=(10, 20)), at={"scheme": "new"})
    assert found.headers == ("variant", "m")
    assert found.rows == [("base", "10 µs, 20 µs"), ("old anew", "–, –"), ("never run", "–, –")]
    assert found.note == "in the order 1, 2"
    assert table(grid(new=(10, 20)), at={"scheme": "new", "load": "2"}).note == ""


@pytest.mark.parametrize(
    ("compare", "shown"),
    [("ratio", "0.25, 1.25"), ("reduction", "75, -25"), ("difference", "-30 µs, 4 µs")],
)
def test_comparisons(compare: str, shown: str) -> None:
    assert cells(grid(old=(40, 16), new=(10, 20)), compare=compare, **AGAINST_OLD) == [shown]


def test_a_column_for_every_measure_and_every_baseline() -> None:
    values = grid(old=(40, 16), older=(80, 80), new=(10, 20))
    against = {"at": {"scheme": "new"}, "to": {"scheme": ["old", "older"]}, "compare": "reduction"}
    found = table(values, **against)
    assert found.headers == ("variant", "old", "older")
    assert found.rows[0] == ("base", "75, -25", "88, 75")
    assert found.note == "in %; in the order 1, 2"
    both = table(values, measures=["m", "lost"], **against)
    assert both.headers == ("variant", "m, old", "m, older", "lost, old", "lost, older")
    one = table(values, measures=["m", "lost"], compare="ratio", **AGAINST_OLD)
    assert one.headers == ("variant", "m", "lost")
    assert cells(values, measures=["m", "lost"], at={"scheme": "new"}) == ["10 µs, 20 µs", "10 MB, 20 MB"]


def test_comparisons_are_made_seed_by_seed_and_then_averaged() -> None:
    # The ratios by seed are 10/40 and 11/41 at the first load, 20/16 and 21/17 at the second.
    values = grid(seeds=2, old=(40, 16), new=(10, 20))
    assert cells(values, compare="ratio", **AGAINST_OLD) == ["0.26 ± 0.12, 1.24 ± 0.09"]
    assert cells(values, compare="difference", **AGAINST_OLD) == ["-30 µs, 4 µs"]


def test_left_out_replaces_one_missing_side_but_not_both() -> None:
    values = {**grid(old=(40, 16), new=(10, 20)), **grid("old anew", old=(20, None))}
    keys = {**AGAINST_OLD, "compare": "reduction"}
    assert table(values, **keys).rows == [("base", "75, -25"), ("old anew", "–, –"), ("never run", "–, –")]
    instead = table(values, left_out={"variant": "base"}, **keys)
    assert instead.rows == [("base", "75, -25"), ("old anew", "50, –"), ("never run", "–, –")]


@pytest.mark.parametrize(("compare", "shown"), [("ratio", "–, 1.25"), ("difference", "10 µs, 4 µs")])
def test_nothing_is_divided_by_0(compare: str, shown: str) -> None:
    assert cells(grid(old=(0, 16), new=(10, 20)), compare=compare, **AGAINST_OLD) == [shown]
