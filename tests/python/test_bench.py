"""The comparison of results on several numbers of threads: benches/bench.py."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench import contents, differences

from small_result import reseal, write_result


def written(directory: Path, shards: int, **changes: Any) -> Path:  # noqa: ANN401 - any value of run.json
    return write_result(directory, effective={"run.shards": shards, "run.seed": 1}, **changes)


def test_shards_and_expenses_are_no_difference(tmp_path: Path) -> None:
    one = written(tmp_path / "one", 1, cpu_seconds=1.0, wall_seconds=1.0, peak_rss_bytes=1)
    two = written(tmp_path / "two", 2, cpu_seconds=2.0, wall_seconds=2.0, peak_rss_bytes=2)
    assert differences(contents(one), contents(two)) == []


@pytest.mark.parametrize("change", [{"fingerprint": "0"}, {"effective": {"run.shards": 2, "run.seed": 2}}])
def test_other_values_of_the_summary_are_a_difference(tmp_path: Path, change: dict[str, Any]) -> None:
    one, two = written(tmp_path / "one", 1), written(tmp_path / "two", 2)
    reseal(two, **change)
    assert differences(contents(one), contents(two)) == ["run.json"]


def test_another_row_is_a_difference(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", 1), written(tmp_path / "two", 2)
    file = two / "pauses.parquet"
    pl.read_parquet(file).head(-1).write_parquet(file)
    assert differences(contents(one), contents(two)) == ["pauses.parquet"]
    reseal(two)
    assert differences(contents(one), contents(two)) == ["pauses.parquet", "run.json"]


def test_a_missing_file_is_a_difference(tmp_path: Path) -> None:
    one, two = written(tmp_path / "one", 1), written(tmp_path / "two", 2)
    (two / "topology.json").unlink()
    assert differences(contents(one), contents(two)) == ["topology.json"]
