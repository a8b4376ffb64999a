"""Comparison of runs: groups, labels, and statistics over seeds."""

import itertools
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import backwater
from backwater import report
from backwater.compare import groups, views
from backwater.compare.labels import LONGEST, labels, shortest_ends
from backwater.compare.pooled import seed_list
from backwater.compare.samples import Sample
from backwater.experiment.claims import Estimate
from conftest import command_line, in_page, rows
from small_result import END, US, seal, write_seeded

SEEDS = (1, 2, 3, 4, 5)
SCHEMES: dict[str, dict[str, Any]] = {
    "pfc": {"flow_control": {"kind": "pfc"}},
    "pyrrha": {"flow_control": {"kind": "pyrrha"}, "lossless": []},
    "none": {"flow_control": {"kind": "none"}},
}
STAR = {
    "run": {"until": "60 us"},
    "topology": {"kind": "star", "hosts": 5},
    "congestion_control": {"kind": "none"},
    "traffic": [
        {"kind": "poisson", "sizes": "30 KB", "load": 0.5},
        {"kind": "incast", "degree": 4, "size": "60 KB", "receivers": "h0"},
    ],
}
# Student's t for 95 % and 4 degrees of freedom, from a printed table.
STUDENT_4 = 2.776


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of three schemes with five seeds each, in one folder."""
    folder = tmp_path_factory.mktemp("three")
    for number, (name, switch) in enumerate(SCHEMES.items()):
        for seed in SEEDS:
            scenario = backwater.Scenario.from_dict(STAR | {"switch": {"buffer": "200 KB", **switch}}, seed=seed)
            backwater.run(scenario, folder / f"{number}-{name}-{seed}")
    return folder


def compared(*arguments: str | Path) -> dict[str, Any]:
    outcome = command_line("compare", *arguments, "--json")
    assert outcome.exit_code in {0, 8}, outcome.output
    document: dict[str, Any] = json.loads(outcome.stdout)
    return document


def labels_of(*directories: Path) -> list[str]:
    return [group.label for group in groups.load(directories).groups]


# --- statistics over seeds


def of_flows(document: dict[str, Any], statistic: str, **kind: str) -> list[dict[str, Any]]:
    [found] = [
        each
        for each in document["statistics"]
        if each["of"] == "flows" and each["statistic"] == statistic and kind.items() <= each.items()
    ]
    groups: list[dict[str, Any]] = found["groups"]
    return groups


def by_hand(folder: Path, number: int, name: str, of: pl.Expr) -> tuple[list[float], float, float]:
    """Returns the mean of an incast's statistic over seeds, and half the width of its confidence interval."""
    values = []
    for seed in SEEDS:
        flows = pl.read_parquet(folder / f"{number}-{name}-{seed}" / "flows.parquet")
        values.append(flows.filter(pl.col("tag").cast(pl.String) == "incast").select(of).item())
    of_seeds = pl.Series(values)
    deviation = of_seeds.std()
    mean = of_seeds.mean()
    assert isinstance(deviation, float)
    assert isinstance(mean, float)
    return values, mean, STUDENT_4 * deviation / math.sqrt(len(SEEDS))


@pytest.mark.parametrize(
    ("statistic", "of"),
    [
        ("mean_us", pl.col("fct_ps").mean() / US),
        ("p99_us", pl.col("fct_ps").quantile(0.99, "linear") / US),
        ("slowdown_p50", pl.col("slowdown").median()),
        ("slowdown_p99", pl.col("slowdown").quantile(0.99, "linear")),
    ],
)
def test_values_of_a_group_are_means_over_its_seeds(three: Path, statistic: str, of: pl.Expr) -> None:
    document = compared(three)
    assert [group["label"] for group in document["groups"]] == [*SCHEMES]
    assert [group["seeds"] for group in document["groups"]] == [[*SEEDS]] * 3
    assert [group["sample_size"] for group in document["groups"]] == [5] * 3
    for number, (name, found) in enumerate(zip(SCHEMES, of_flows(document, statistic, tag="incast"), strict=True)):
        values, mean, half_width = by_hand(three, number, name, of)
        assert found["values"] == pytest.approx(values)
        assert found["mean"] == pytest.approx(mean)
        assert found["half_width"] == pytest.approx(half_width)
        assert found["seeds"] == 5


def test_a_table_has_means_with_confidence_sample_sizes_and_changes(three: Path) -> None:
    output = command_line("compare", three).stdout
    [head, row] = [
        re.split(r"\s{2,}", line.strip())
        for line in output.partition("Mean flow completion time (µs)")[2].splitlines()[1:4]
        if "─" not in line
    ]
    assert head == ["traffic", "flow size", *(f"{name} (5 seeds)" for name in SCHEMES)]
    of = pl.col("fct_ps").mean() / US
    hand = [by_hand(three, number, name, of)[1:] for number, name in enumerate(SCHEMES)]
    figures = [re.findall(r"[\d,.]+|\([+-]\d+%\)", cell) for cell in row[2:]]
    for (mean, half_width), (mean_shown, half_width_shown, *change) in zip(hand, figures, strict=True):
        assert float(mean_shown.replace(",", "")) == pytest.approx(mean, rel=1e-3)
        assert float(half_width_shown.replace(",", "")) == pytest.approx(half_width, rel=2e-3)
        assert change == ([] if mean == hand[0][0] else [f"({mean / hand[0][0] - 1:+.0%})"])


def test_numbers_of_runs_are_there_for_machines(three: Path) -> None:
    document = compared(three)
    [pauses] = [each for each in document["statistics"] if each["statistic"] == "pause_frames"]
    runs = [json.loads((three / f"0-pfc-{seed}" / "run.json").read_text()) for seed in SEEDS]
    assert pauses["groups"][0]["values"] == [run["pause_frames"] for run in runs]
    assert pauses["groups"][0]["mean"] == sum(run["pause_frames"] for run in runs) / 5 > 0
    assert document["groups"][0]["runs"][2] == {
        "directory": str(three / "0-pfc-3"),
        "seed": 3,
        "outcome": "completed",
        "fingerprint": runs[2]["fingerprint"],
    }
    assert document["differences"]["switch.flow_control.kind"] == [*SCHEMES]
    assert document["differences"]["switch.flow_control.isolation_queues"] == [None, 100, None]
    assert "run.seed" not in document["differences"]


def test_a_seed_without_such_flows_is_left_out_with_a_note(tmp_path: Path) -> None:
    write_seeded(tmp_path / "1", 1, fct=(2,))
    write_seeded(tmp_path / "2", 2, fct=(None,))
    write_seeded(tmp_path / "3", 3, fct=(4,))
    write_seeded(tmp_path / "x", 1, {"network": {"mtu": "2000 B"}}, fct=(None,))
    grouped = groups.load([tmp_path])
    [mean] = [view for view in views.comparison(grouped) if view.title == "Mean flow completion time (µs)"]
    assert mean.headers == ("traffic", "flow size", "mtu 1000 B (3 seeds)", "mtu 2000 B (1 seed)")
    # The values 2 µs and 4 µs have a standard deviation of √2 µs. Half the width of the confidence
    # interval is 12.706 (t for 1 degree of freedom) · √2 µs / √2.
    assert [*mean.rows] == [("background", "≤ 10 KB", "3.000 ± 12.71 (2 of 3 seeds)", "–")]
    [of_machines, nothing] = of_flows(compared(tmp_path), "mean_us", tag="background")
    assert (of_machines["values"], of_machines["seeds"]) == ([2, None, 4], 2)
    assert nothing == {"mean": None, "half_width": None, "seeds": 0, "values": [None]}


def test_single_runs_have_no_interval_and_no_sample_size(tmp_path: Path) -> None:
    write_seeded(tmp_path / "a", 1, fct=(2,))
    write_seeded(tmp_path / "b", 1, {"network": {"mtu": "2000 B"}}, fct=(3,))
    grouped = groups.load([tmp_path / "a", tmp_path / "b"])
    [runs, mean, *_] = views.comparison(grouped)
    assert mean.headers == ("traffic", "flow size", "mtu 1000 B", "mtu 2000 B")
    assert [*mean.rows] == [("background", "≤ 10 KB", "2.000", "3.000 (+50%)")]
    assert (runs.note, dict(zip(runs.headers, runs.rows[0], strict=True))["mtu 1000 B"]) == ("", "completed")
    assert [row[0] for row in views.differences(grouped).rows] == ["network.mtu"]


# --- outcomes and costs


def test_outcomes_are_counted_and_costs_are_added(tmp_path: Path) -> None:
    late, early = ({"onset_ps": onset * US, "cycle": []} for onset in (30, 20))
    write_seeded(tmp_path / "1", 1, counters={"merges": 4}, drops={"buffer-full": 2, "headroom": 0}, pause_frames=10)
    write_seeded(tmp_path / "2", 2, outcome="deadlock", deadlock=late, drops={"buffer-full": 3}, pause_frames=20)
    write_seeded(tmp_path / "3", 3, peak_queues=7, peak_filled_queues=5, memory_bytes=90_000_000, pause_frames=30)
    violated = {"verdict": "violated", "violations": ["bytes are missing"]}
    write_seeded(tmp_path / "5", 5, audit=violated, unpromised_drops=1, outcome="deadlock", deadlock=early)
    grouped = groups.load([tmp_path])
    [group] = grouped.groups
    facts = {fact.label: (fact.value, fact.state) for fact in (*group.verdicts(), *group.costs())}
    assert facts["Outcome"] == ("2 completed, 2 deadlock", "bad")
    assert facts["Audit"] == ("violated in 1 of 4 runs", "bad")
    assert facts["Drops"] == ("5 (buffer-full 5)", "bad")
    assert facts["Lossless"][0].startswith("1 dropped")
    assert facts["Deadlock"] == ("in 2 of 4 runs, the earliest at 20 µs", "bad")
    assert facts["Unfinished flows"] == ("4 of 24", "warning")
    # The standard deviation of 10, 20, 30 and 3 is 11.7863. Half the width of the confidence
    # interval is 3.182 (t for 3 degrees of freedom) · 11.7863 / √4.
    assert facts["PAUSE frames"][0] == "15.8 ± 18.8"
    # A missing counter is 0. The standard deviation of 4, 0, 0 and 0 is 2, and 3.182 · 2 / √4 =
    # 3.18.
    assert facts["Merges"][0] == "1 ± 3.18"
    assert facts["Peak added queues"][0] == "7 per port (with packets: 5)"
    assert facts["CPU time"][0] == "2.0 s"
    assert facts["Memory"][0] == "90 MB (process 30 MB)"
    assert facts["Seed"][0] == "1–3, 5"
    assert facts["Version"][0] == "0.1.0 (0123456789, release)"
    assert group.alarms()[0].startswith("Seed 2: Deadlock since 30 µs")
    assert group.alarms()[1] == "Seed 5: Audit: bytes are missing"
    assert "sums" in views.comparison(grouped)[0].note


def test_0_is_a_value() -> None:
    assert Sample([0.0, None, 3.0]).estimate == Estimate.of([0.0, 3.0])


def test_settings_that_look_the_same_are_shown_in_full(tmp_path: Path) -> None:
    ports = [{f"s{number}": 4 for number in range(9)}, {f"s{number}": 4 + number // 8 for number in range(9)}]
    grouped = groups.load(
        [write_seeded(tmp_path / str(n), 1, effective={"ports": each}) for n, each in enumerate(ports)]
    )
    [(path, *shown)] = views.differences(grouped).rows
    assert (path, [json.loads(text) for text in shown]) == ("ports", ports)


def test_a_good_group_is_green(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_seeded(tmp_path / str(seed), seed, flows={"total": 4, "finished": 4, "unfinished": 0, "endless": 0})
    [group] = groups.load([tmp_path]).groups
    assert [(fact.value, fact.state) for fact in group.verdicts()] == [
        ("2 completed", "good"),
        ("ok", "good"),
        ("0", "good"),
        ("none", "good"),
        ("0 of 8", "good"),
        ("3 ± 0", "plain"),
    ]


@given(st.sets(st.integers(0, 30), min_size=1))
def test_seeds_are_listed_with_their_ranges(seeds: set[int]) -> None:
    listed = seed_list(sorted(seeds))
    ends = [part.split("–") for part in listed.split(", ")]
    assert sorted(seeds) == [seed for end in ends for seed in range(int(end[0]), int(end[-1]) + 1)]
    assert all(int(low[-1]) + 1 < int(high[0]) for low, high in itertools.pairwise(ends))


# --- groups


def test_runs_that_differ_in_seed_name_and_shards_alone_are_one_group(tmp_path: Path) -> None:
    names = [{"name": name} for name in ("a", "b")]
    one = write_seeded(tmp_path / "one", 2, names[0], effective={"name": "a", "run.shards": 1})
    two = write_seeded(tmp_path / "two", 1, names[1], effective={"name": "b", "run.shards": 4})
    [group] = groups.load([one, two]).groups
    assert group.seeds == [1, 2]


@pytest.mark.parametrize(
    ("run", "path", "label"),
    [
        ({"effective": {"switch.headroom.headroom": "2 KB"}}, "switch.headroom.headroom", None),
        ({"version": "0.2.0"}, "version", "version 0.2.0"),
        ({"commit": "fedcba"}, "commit", "commit fedcba"),
        ({"plug_ins": {"flow_control.on-off": "0.3.0"}}, "plug_ins.flow_control.on-off", None),
    ],
)
def test_groups_differ_in_effective_values_and_versions(
    tmp_path: Path, run: dict[str, Any], path: str, label: str | None
) -> None:
    grouped = groups.load([write_seeded(tmp_path / "a", 1), write_seeded(tmp_path / "b", 2, **run)])
    assert grouped.differing == [path]
    # A group that lacks the setting has no text for it. Directories are the labels then.
    assert grouped.groups[1].label == (label or "b")


def load(value: float) -> dict[str, Any]:
    return {"traffic": [{"kind": "poisson", "load": value}]}


def test_a_kind_is_enough_and_its_options_are_left_out(tmp_path: Path) -> None:
    pfc = {"switch": {"flow_control": {"kind": "pfc", "quanta": 3}, "lossless": [3]}}
    pyrrha = {"switch": {"flow_control": {"kind": "pyrrha", "queues": 4}, "lossless": []}}
    many = {"switch": {"flow_control": {"kind": "pyrrha", "queues": 9}, "lossless": []}}
    a, b = write_seeded(tmp_path / "a", 1, pfc), write_seeded(tmp_path / "b", 1, pyrrha)
    assert labels_of(a, b) == ["pfc", "pyrrha"]
    c = write_seeded(tmp_path / "c", 1, many)
    assert labels_of(a, b, c) == ["pfc", "pyrrha, queues 4", "pyrrha, queues 9"]
    d = write_seeded(tmp_path / "d", 1, pfc | load(0.7))
    assert labels_of(a, b, d) == ["pfc, load 0.5", "pyrrha, load 0.5", "pfc, load 0.7"]


def test_written_settings_precede_derived_settings_in_labels(tmp_path: Path) -> None:
    first = [
        write_seeded(tmp_path / f"a{each}", 1, load(each), effective={"rate": 1, "each": each}) for each in (0.5, 0.7)
    ]
    last = write_seeded(tmp_path / "b", 1, {"network": {"mtu": "2 KB"}}, effective={"rate": 2, "each": 0.9})
    assert labels_of(*first, last) == ["mtu 1000 B, load 0.5", "mtu 1000 B, load 0.7", "mtu 2 KB, load 0.5"]


def test_settings_of_one_name_are_distinguished_by_their_paths(tmp_path: Path) -> None:
    parts = [[{"load": x}, {"load": y}] for x, y in ((1, 1), (1, 2), (2, 1))]
    directories = [write_seeded(tmp_path / str(number), 1, {"traffic": each}) for number, each in enumerate(parts)]
    assert labels_of(*directories) == [
        "traffic[0].load 1, traffic[1].load 1",
        "traffic[0].load 1, traffic[1].load 2",
        "traffic[0].load 2, traffic[1].load 1",
    ]


def test_long_labels_give_way_to_directories(tmp_path: Path) -> None:
    long = [write_seeded(tmp_path / name, 1, {"network": {"mtu": name * LONGEST}}) for name in ("a", "b")]
    assert labels_of(*long) == ["a", "b"]
    more = [write_seeded(tmp_path / name, 2, {"network": {"mtu": name[0] * LONGEST}}) for name in ("a2", "b2")]
    assert labels_of(*long, *more) == ["a and 1 more", "b and 1 more"]
    seeds = [
        write_seeded(tmp_path / name / "3", 3, {"network": {"mtu": name[-1] * LONGEST}}) for name in ("x/a", "x/b")
    ]
    seeds += [
        write_seeded(tmp_path / name / "4", 4, {"network": {"mtu": name[-1] * LONGEST}}) for name in ("x/a", "x/b")
    ]
    assert labels_of(*seeds) == ["a", "b"]


def test_a_single_group_goes_by_its_directory(tmp_path: Path) -> None:
    assert labels_of(write_seeded(tmp_path / "only", 1)) == ["only"]
    assert labels_of(write_seeded(tmp_path / "x" / "1", 1), write_seeded(tmp_path / "x" / "2", 2)) == ["x"]


SETTINGS = st.dictionaries(
    st.sampled_from(["switch.flow_control.kind", "load", "mtu", "ecn.kmin", "ecn.rate"]),
    st.sampled_from(["a", "b", 1, 2, True, None, [1, 2]]),
)


@given(st.lists(SETTINGS, min_size=1, max_size=6, unique_by=lambda each: json.dumps(each, sort_keys=True)))
# Two settings distinguish the first group from the last. The order of paths differs between groups.
@example(
    [
        {"switch.flow_control.kind": "a", "load": "a", "ecn.kmin": "a", "mtu": "a"},
        {"mtu": "a"},
        {"switch.flow_control.kind": "a", "load": "a"},
    ]
)
def test_labels_are_distinct_short_and_deterministic(settings: list[dict[str, Any]]) -> None:
    directories = [[Path(f"/results/{number}")] for number in range(len(settings))]
    found = labels(settings, {"switch.flow_control.kind", "load"}, directories)
    assert len(set(found)) == len(settings)
    assert all(0 < len(label) <= LONGEST for label in found)
    # The order of groups does not change labels, except if the labels are the directories, because
    # this test assigns directories to groups by position.
    backwards = labels(settings[::-1], {"switch.flow_control.kind", "load"}, directories[::-1])
    assert sorted(backwards) == sorted(found) or {*found} != {str(number) for number in range(len(settings))}


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), unique_by=tuple, min_size=1, max_size=6))
def test_ends_of_paths_are_distinct_and_as_short_as_possible(paths: list[list[str]]) -> None:
    ends = shortest_ends(paths)
    assert len(set(ends)) == len(paths)
    longest = max(map(len, ends))
    assert all(path[-longest:] == [*end] for path, end in zip(paths, ends, strict=True))
    assert longest == 1 or len({tuple(path[1 - longest :]) for path in paths}) < len(paths)


# --- copies of runs, and results that differ without a recorded cause


def test_the_same_run_counts_once_with_a_note(tmp_path: Path) -> None:
    directories = [write_seeded(tmp_path / name, seed, fct=(seed,)) for name, seed in (("a", 1), ("b", 2), ("copy", 1))]
    grouped = groups.load(directories)
    [group] = grouped.groups
    assert (group.seeds, group.size) == ([1, 2], "2 seeds")
    [note] = grouped.notes
    assert f"{tmp_path / 'a'} and {tmp_path / 'copy'} are the same run" in note
    assert "are counted once" in note
    command_line("compare", *directories, "-o", tmp_path / "page.html", error="are the same run")
    assert "are the same run" in (tmp_path / "page.html").read_text()
    assert compared(*directories)["notes"] == [note]


def test_different_runs_of_one_seed_are_separate_groups(tmp_path: Path) -> None:
    old, new = (write_seeded(tmp_path / name, 1, fingerprint=name) for name in ("old", "new"))
    grouped = groups.load([old, new])
    assert [group.label for group in grouped.groups] == ["old", "new"]
    [note] = grouped.notes
    assert f"{old} and {new} have the same settings and seed 1, but different results." in note
    assert "Possible causes are" in note
    assert views.differences(grouped).note == "The scenarios are the same."


def test_folders_keep_together_what_agrees(tmp_path: Path) -> None:
    for name in ("old", "new"):
        for seed in (1, 2, 3):
            write_seeded(tmp_path / name / str(seed), seed, fingerprint=f"{name}{seed}")
    grouped = groups.load([tmp_path / "old", tmp_path / "new"])
    assert [(group.label, group.seeds) for group in grouped.groups] == [("old", [1, 2, 3]), ("new", [1, 2, 3])]
    assert "(and others of 2 more seeds)" in grouped.notes[0]
    # A run that is in both folders is in both groups.
    shutil.rmtree(tmp_path / "new" / "3")
    write_seeded(tmp_path / "new" / "3", 3, fingerprint="old3")
    grouped = groups.load([tmp_path / "old", tmp_path / "new"])
    assert [(group.label, group.seeds) for group in grouped.groups] == [("old", [1, 2, 3]), ("new", [1, 2, 3])]
    assert "(and others of 1 more seed)" in grouped.notes[0]
    # A folder with two different runs of one seed is no group, so each run is a group of its own.
    # The copy counts once.
    other = write_seeded(tmp_path / "new" / "again", 1, fingerprint="again")
    grouped = groups.load([tmp_path / "old", tmp_path / "new"])
    assert (len(grouped.groups), grouped.copies) == (6, 1)
    assert [group.label for group in groups.load([tmp_path / "new" / "1", other]).groups] == ["1", "again"]


# --- arguments


def test_folders_and_stores_mean_their_results(tmp_path: Path) -> None:
    for seed, name in ((2, "b"), (1, "a")):
        write_seeded(tmp_path / "store" / "points" / name, seed)
    write_seeded(tmp_path / "store" / "failed" / "c", 3)
    (tmp_path / "store" / "lock").touch()
    write_seeded(tmp_path / "folder" / "x", 5)
    (tmp_path / "folder" / "notes").mkdir()
    assert groups.results_in(tmp_path / "store") == [tmp_path / "store/points/a", tmp_path / "store/points/b"]
    [group] = groups.load([tmp_path / "store", tmp_path / "folder"]).groups
    assert group.seeds == [1, 2, 5]


def test_a_part_of_a_result_in_a_folder_is_not_left_out_silently(tmp_path: Path) -> None:
    write_seeded(tmp_path / "folder" / "a", 1)
    (tmp_path / "folder" / "b").mkdir()
    (tmp_path / "folder" / "b" / "run.json.partial").touch()
    command_line("compare", tmp_path / "folder", code=2, error="holds an incomplete result")


def test_duplicate_and_empty_directories_are_refused(tmp_path: Path) -> None:
    folder = write_seeded(tmp_path / "folder" / "a", 1).parent
    command_line("compare", folder, folder / "a", code=2, error="the same result directory is given twice")
    (tmp_path / "empty").mkdir()
    command_line("compare", tmp_path / "empty", code=2, error="not a result directory")


# --- the page


def test_lines_of_a_page_cover_all_runs_of_a_group(tmp_path: Path) -> None:
    for seed, fct in ((1, 2), (2, 4)):
        write_seeded(tmp_path / str(seed), seed, fct=(fct,))
    # The second run sends three times as much, fills five times as much buffer, is never paused,
    # and lasts twice as long.
    second = tmp_path / "2"
    ports = pl.read_parquet(second / "ports.parquet").with_columns(pl.col("tx_bytes") * 3)
    ports.write_parquet(second / "ports.parquet")
    buffers = pl.read_parquet(second / "buffers.parquet").with_columns(pl.col("used_bytes") * 5)
    buffers.write_parquet(second / "buffers.parquet")
    pl.read_parquet(second / "pauses.parquet").clear().write_parquet(second / "pauses.parquet")
    scenario = json.loads((second / "run.json").read_text())["scenario"]
    seal(second, scenario=scenario, seed=2, fingerprint="2", simulated_ps=2 * END)
    write_seeded(tmp_path / "other", 1, {"network": {"mtu": "9 KB"}}, fct=(3,))
    grouped = groups.load([tmp_path])
    of_size, slowdown, throughput, occupancy, paused = in_page(report.comparison(grouped))
    of_group = [row for row in rows(slowdown) if row["series"] == "mtu 1000 B"]
    assert [(row["value"], row["fraction"]) for row in of_group] == [(2, 0), (2, 0.5), (4, 1)]
    assert rows(of_size)
    assert throughput["title"]["text"] == "Throughput received by all hosts, mean of the runs"
    # In 10 µs, 62,500 B are 50 Gb/s. The second run sends 150 Gb/s, so the mean is 100 Gb/s.
    received = {(row["series"], row["time"]): row["bps"] for row in rows(throughput)}
    assert received["mtu 1000 B", 10] == 100
    assert received["mtu 9 KB", 10] == 50
    assert occupancy["title"]["text"] == "Buffer occupancy, largest of the runs"
    held = {(row["series"], row["time"]): row["value"] for row in rows(occupancy)}
    assert (held["mtu 1000 B", 20], held["mtu 9 KB", 20]) == (15_000, 3_000)
    closed = {(row["series"], row["time"]): row["queues"] for row in rows(paused)}
    assert closed["mtu 9 KB", 50] == 1
    # At 50 µs, one of the two runs has a paused queue. The first run ends at 100 µs and counts as 0
    # from then on.
    assert [closed["mtu 1000 B", time] for time in (50, 150)] == [0.5, 0]
    assert {row["time"] for row in rows(throughput) if row["series"] == "mtu 1000 B"} >= {10, 200}
    html = report.comparison(grouped)
    assert "mtu 1000 B (2 seeds)" in html
    assert "2 completed" in html


def test_deadlocks_of_a_group_are_marked_with_their_seeds(tmp_path: Path) -> None:
    onset = {"onset_ps": 30 * US, "cycle": []}
    write_seeded(tmp_path / "1", 1)
    write_seeded(tmp_path / "2", 2, outcome="deadlock", deadlock=onset)
    write_seeded(tmp_path / "x", 2, {"network": {"mtu": "9 KB"}}, outcome="deadlock", deadlock=onset)
    paused = in_page(report.comparison(groups.load([tmp_path])))[-1]
    assert [mark["mark"] for mark in rows(paused, 1)] == [
        "deadlock of mtu 1000 B, seed 2 at 30 µs",
        "deadlock of mtu 9 KB at 30 µs",
    ]
