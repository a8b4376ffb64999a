"""Tables of several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import polars as pl

from backwater import style, tables
from backwater.directory import ResultDirectory
from backwater.settings import flat
from backwater.views.view import View, shown


def comparison(results: Mapping[str, ResultDirectory]) -> list[View]:
    """Verdicts and costs, then one table per statistic of the flow completion times, a column per run."""
    facts = [
        {fact.label: fact.value for fact in (*result.summary.verdicts(), *result.summary.costs())}
        for result in results.values()
    ]
    # Mechanisms count different things.
    labels = dict.fromkeys(label for column in facts for label in column)
    views = [
        View("Runs", ("", *results), [(label, *(column.get(label, "") for column in facts)) for label in labels]),
    ]
    by_size = {label: tables.fct_by_size(result.flows) for label, result in results.items()}
    by_role = {label: tables.fct_by_role(result.flows) for label, result in results.items()}
    for column, title in (
        ("mean_us", "Mean flow completion time (µs)"),
        ("p99_us", "99th percentile of the flow completion time (µs)"),
        ("slowdown_p50", "Median slowdown"),
        ("slowdown_p99", "99th percentile of the slowdown"),
    ):
        views.append(_compared(by_size, column, title, {"tag": "traffic", "size": "flow size"}))
        if any(frame.height for frame in by_role.values()):
            views.append(_compared(by_role, column, f"{title} by role", {"role": "role"}))
    return views


def _compared(frames: Mapping[str, pl.DataFrame], column: str, title: str, groups: Mapping[str, str]) -> View:
    """One statistic of every group, a column per run; `groups` are the columns that name a group, and their headers."""
    keys = pl.concat([frame.select(*groups) for frame in frames.values()]).unique().sort(*groups)
    values = [
        keys.join(frame, on=list(groups), how="left", maintain_order="left")[column].to_list()
        for frame in frames.values()
    ]
    write = style.microseconds if column.endswith("_us") else style.ratio
    rows = [
        (*key, *_against_first([series[index] for series in values], write))
        for index, key in enumerate(keys.iter_rows())
    ]
    return View(title, (*groups.values(), *frames), rows, text_columns=len(groups))


def _against_first(values: Sequence[float | None], write: Callable[[float | None], str]) -> Iterable[str]:
    first = values[0]
    yield write(first)
    for value in values[1:]:
        change = f" ({value / first - 1:+.0%})" if value is not None and first else ""
        yield write(value) + change


def differences(results: Mapping[str, ResultDirectory]) -> View:
    """The values in force in which the scenarios differ."""
    flat = [
        flat(result.summary.scenario) | {path: shown(value) for path, value in result.summary.effective.items()}
        for result in results.values()
    ]
    paths = list(dict.fromkeys(path for values in flat for path in values))
    rows = [
        (path, *(values.get(path, "–") for values in flat))
        for path in paths
        if len({values.get(path) for values in flat}) > 1
    ]
    note = "" if rows else "The scenarios are the same."
    return View("Differences of the scenarios", ("value", *results), rows, text_columns=1 + len(results), note=note)
