"""Figures of a single run, as the measures of an experiment define them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

import polars as pl

from backwater import _core, tables, units
from backwater.experiment.format.measures import (
    AnalysisMeasure,
    BalancingMeasure,
    FlowMeasure,
    IngressMeasure,
    Measure,
    PathDelaysMeasure,
    PausedLinksMeasure,
    PausesMeasure,
    PauseValue,
    QueueMeasure,
    RelayedMeasure,
    ReorderingMeasure,
    RequestsMeasure,
    RequestValue,
    RunMeasure,
    SampleMeasure,
    SettlingMeasure,
    ThroughputMeasure,
    UnfinishedMeasure,
)
from backwater.experiment.format.selection import (
    Balancing,
    FlowFilter,
    FlowValue,
    Ingress,
    IngressValue,
    PausedLinks,
    Queue,
    Throughput,
    Window,
)
from backwater.experiment.format.values import port_parts
from backwater.result import RUN_FILE, Result, ResultError, Topology

MeasureOfRun = (
    FlowMeasure
    | UnfinishedMeasure
    | RequestsMeasure
    | RunMeasure
    | SampleMeasure
    | IngressMeasure
    | ThroughputMeasure
    | PausesMeasure
    | PausedLinksMeasure
    | BalancingMeasure
    | PathDelaysMeasure
    | QueueMeasure
    | SettlingMeasure
    | ReorderingMeasure
    | RelayedMeasure
)
_NO_SAMPLES: Final = pl.DataFrame(schema={"time_ps": pl.Int64})
# How a value of flows follows from flows.parquet, and its unit.
_FLOW_VALUES: Final[Mapping[FlowValue, tuple[pl.Expr, str]]] = {
    "fct": (pl.col("fct_ps") / tables.PS_PER_US, "µs"),
    "slowdown": (pl.col("slowdown"), ""),
    "bytes": (pl.col("bytes"), "B"),
    "paused": (pl.col("paused_ps") / tables.PS_PER_US, "µs"),
    "blocked": (pl.col("blocked_ps") / tables.PS_PER_US, "µs"),
    "retransmitted": (pl.col("retransmitted_bytes"), "B"),
    "goodput": (pl.col("bytes") * (tables.BITS_PER_BYTE * 1000) / pl.col("fct_ps"), "Gb/s"),
    "arrived": (pl.col("arrived_packets"), "packets"),
    "disordered": (pl.col("disordered_packets"), "packets"),
    "degree": (pl.col("largest_degree"), "packets"),
}
# A request finishes with the last of its flows, and has the bytes of all.
_REQUEST_VALUES: Final[Mapping[RequestValue, tuple[pl.Expr, str]]] = {
    "goodput": _FLOW_VALUES["goodput"],
    "time": _FLOW_VALUES["fct"],
}
# The same for a value of stops.parquet or headroom.parquet.
_PER_WINDOW: Final = tables.BITS_PER_BYTE * 1000 / pl.col("window_ps")
_INGRESS_VALUES: Final[Mapping[IngressValue, tuple[pl.Expr, str]]] = {
    "headroom": (pl.col("headroom_bytes"), "B"),
    "stopped-at-port": (pl.col("stopped_at_port"), ""),
    "stopped-at-switch": (pl.col("stopped_at_switch"), ""),
    "arrival-rate": (pl.col("arrived_bytes") * _PER_WINDOW, "Gb/s"),
    "departure-rate": (pl.col("departed_bytes") * _PER_WINDOW, "Gb/s"),
    "switch-headroom": (pl.col("headroom_bytes"), "B"),
    "switch-stopped": (pl.col("stopped"), ""),
}
# The same for a value of pauses.parquet, null where it is not known.
_PAUSE_VALUES: Final[Mapping[PauseValue, tuple[pl.Expr, str]]] = {
    "hops": (pl.col("hops"), ""),
    "duration": ((pl.col("end_ps") - pl.col("start_ps")) / tables.PS_PER_US, "µs"),
}


# Units of kinds of measures that are of one thing.
_UNITS: Final = {
    "settling": "µs",
    "reordering": "packets",
    "paused-links": "links",
    "balancing": "",
    "path-delays": "µs",
}
# Statistics whose unit is not that of the value.
_STATISTIC_UNITS: Final = {"count": "", "share": "", "rate": "1/s"}


def unit(measure: Measure) -> str:
    """The unit of a measure; empty for a plain number."""
    if (stat := getattr(measure, "stat", "")) in _STATISTIC_UNITS:
        return _STATISTIC_UNITS[stat]
    match measure:
        case UnfinishedMeasure() | AnalysisMeasure() | RelayedMeasure():
            found = ""
        case PausesMeasure(value=value):
            found = _PAUSE_VALUES[value][1]
        case IngressMeasure(value=value):
            found = _INGRESS_VALUES[value][1]
        case FlowMeasure(value=value):
            found = _FLOW_VALUES[value][1]
        case RequestsMeasure(value=value):
            found = _REQUEST_VALUES[value][1]
        case RunMeasure():
            found = measure.unit or _run_unit(measure)
        case SampleMeasure() | QueueMeasure():
            found = "B"
        case ThroughputMeasure():
            found = "" if measure.as_ == "share" else "Gb/s"
        case SettlingMeasure() | ReorderingMeasure() | PausedLinksMeasure() | BalancingMeasure() | PathDelaysMeasure():
            found = _UNITS[measure.kind]
        case _:
            assert_never(measure)
    return found


def _run_unit(measure: RunMeasure) -> str:
    match measure.path.endswith("_ps"), (measure.per or "").endswith("_ps"):
        case True, False:
            return "µs"
        case False, True:
            return "1/µs"
    return ""


def flow_axis(value: FlowValue) -> str:
    """Title of an axis with a value of flows."""
    name, of = value.replace("fct", "flow completion time"), _FLOW_VALUES[value][1]
    return f"{name} ({of})" if of else name


def ingress_axis(value: IngressValue) -> str:
    """Title of an axis with a value of ingress queues."""
    name, of = value.replace("-", " "), _INGRESS_VALUES[value][1]
    return f"{name} ({of})" if of else name


def select(flows: pl.DataFrame, which: FlowFilter) -> pl.DataFrame:
    """The measured flows that a filter lets through, finished or not."""
    wanted = tables.measured(flows)
    for column in ("role", "tag"):
        if (name := getattr(which, column)) is not None:
            wanted = wanted.filter(pl.col(column).cast(pl.String) == name)
    for column in ("src", "dst"):
        if (names := getattr(which, column)) is not None:
            wanted = _named(wanted, column, names)
    if which.above is not None:
        wanted = wanted.filter(pl.col("bytes") > units.size(which.above))
    if which.up_to is not None:
        wanted = wanted.filter(pl.col("bytes") <= units.size(which.up_to))
    return wanted


def _named(frame: pl.DataFrame, column: str, names: Sequence[str]) -> pl.DataFrame:
    """The rows whose node in a column has one of the names, or fits one of the patterns."""
    node = pl.col(column).cast(pl.String)
    known = frame.select(node.unique()).to_series().to_list()
    return frame.filter(node.is_in(_core.chosen_names([*names], known)))


def flow_values(flows: pl.DataFrame, which: FlowFilter, value: FlowValue) -> pl.Series:
    """A value of the finished flows that a filter lets through."""
    return _of_flows(tables.finished(select(flows, which)), value)


def _of_flows(flows: pl.DataFrame, value: FlowValue) -> pl.Series:
    return flows.select(_FLOW_VALUES[value][0].cast(pl.Float64).alias(value)).to_series()


def ingress_values(result: Result, which: Ingress) -> pl.Series:
    """A value of the stops of ingress queues, or of the local maxima of the headroom that switches used."""
    warmup = units.picoseconds(result.summary.scenario["run"]["warmup"])
    if which.value.startswith("switch-"):
        seen = result.headroom.filter(pl.col("time_ps") >= warmup)
    else:
        wanted = "window_ps" if which.value.endswith("-rate") else "headroom_bytes"
        seen = result.stops.filter(pl.col("start_ps") >= warmup, pl.col(wanted) > 0)
    if which.nodes is not None:
        seen = _named(seen, "node", which.nodes)
    return seen.select(_INGRESS_VALUES[which.value][0].cast(pl.Float64).alias(which.value)).to_series()


def _statistic(values: pl.Series, stat: str) -> float | None:
    match stat:
        case "count":
            return float(len(values))
        case "mean" | "min" | "max":
            found = getattr(values, stat)()
        case "std":
            found = values.std(ddof=0)
        case "sum":
            found = values.sum() if len(values) else 0.0
        case "share":
            found = (values > 0).sum() / len(values) if len(values) else None
        case _:
            found = values.quantile(float(stat.removeprefix("p")) / 100, "linear")
    return None if found is None else float(found)


def _of_counts(values: pl.Series, counts: pl.Series, stat: str) -> float | None:
    """A statistic of values that are in ascending order, each so many times."""
    number = int(counts.sum())
    if stat in ("mean", "sum"):
        total = float((values * counts).sum())
        return total if stat == "sum" else total / number if number else None
    if not re.fullmatch(r"p[\d.]+", stat):
        return float(number) if stat == "count" else _statistic(values, stat)
    if not number:
        return None
    up_to = counts.cum_sum()

    def value_at(place: int) -> float:
        return float(values[int(up_to.search_sorted(place, side="right"))])

    place = float(stat.removeprefix("p")) / 100 * (number - 1)
    below = value_at(math.floor(place))
    return below + (value_at(math.ceil(place)) - below) * (place % 1)


def ends(window: Window, simulated_ps: int) -> tuple[int, int]:
    """Beginning and end of a window in ps."""
    return units.picoseconds(window.from_), simulated_ps if window.to is None else units.picoseconds(window.to)


def throughput(result: Result, which: Throughput, window: Window) -> pl.DataFrame:
    """Rates over time, or shares of links' rates: `time_ps` (end of the sample interval) and `gbps` or `share`.

    There is a row for every interval of the window.
    """
    sampled = _payload(result, which) if which.of_flows else _frames(result, which)
    if which.as_ == "share":
        shares = sampled.group_by("time_ps").agg(share=_share(result).sum() / _senders(result.topology, which).height)
        return _at_every_sample(result, shares, window).select("time_ps", "share")
    sums = sampled.group_by("time_ps").agg(pl.col("bytes").sum())
    rate = pl.col("bytes") * (tables.BITS_PER_BYTE * 1000 / result.summary.sample_interval_ps)
    return _at_every_sample(result, sums, window).select("time_ps", gbps=rate)


def _share(result: Result) -> pl.Expr:
    """What the bytes of a sample interval are of what the link can carry in it."""
    interval = result.summary.sample_interval_ps / tables.PS_PER_SECOND
    return pl.col("bytes") * tables.BITS_PER_BYTE / (pl.col("rate_bps") * interval)


def _of_ports(result: Result, measure: ThroughputMeasure) -> pl.Series:
    """The mean during the window of the rate of each port, or of its share of that of its link."""
    ports, samples = _senders(result.topology, measure), _at_every_sample(result, _NO_SAMPLES, measure)
    frames = _frames(result, measure).join(samples, on="time_ps", how="semi")
    rate = pl.col("bytes") * (tables.BITS_PER_BYTE * 1000 / result.summary.sample_interval_ps)
    value = _share(result) if measure.as_ == "share" else rate
    sums = frames.group_by("node", "port").agg(value=value.sum())
    # Without a sample there is no mean.
    mean = pl.col("value").fill_null(0.0) / (samples.height or None)
    return ports.join(sums, on=["node", "port"], how="left").select(mean).to_series().drop_nulls()


def queue(result: Result, which: Queue, window: Window) -> pl.DataFrame:
    """The length of a queue over time: `time_ps`, `bytes`, for every sample of the window."""
    chosen = chosen_ports(result.topology, which.ports).select("node", pl.col("port").cast(pl.UInt16))
    sampled = result.queues.select("time_ps", pl.col("node").cast(pl.String), "port", "bytes")
    longest = sampled.join(chosen, on=["node", "port"], how="semi").group_by("time_ps").agg(pl.col("bytes").max())
    return _at_every_sample(result, longest, window)


def balancing(result: Result, which: Balancing, window: Window) -> pl.DataFrame:
    """How much the load balancers of some switches hold together: `time_ps`, `count`, at every sample of a window."""
    held = result.balancing.filter(pl.col("what").cast(pl.String) == which.what)
    chosen = held if which.nodes is None else _named(held, "node", which.nodes)
    return _at_every_sample(result, chosen.group_by("time_ps").agg(pl.col("count").sum()), window)


def _path_delays(result: Result, which: PathDelaysMeasure) -> pl.Series:
    """Delays of paths at the samples of a window, in µs."""
    begin, end = ends(which, result.summary.simulated_ps)
    known = result.paths.filter(pl.col("delay_ps") > 0, pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    chosen = known if which.nodes is None else _named(known, "node", which.nodes)
    return chosen["delay_ps"] / tables.PS_PER_US


def paused_links(result: Result, which: PausedLinks, window: Window) -> pl.DataFrame:
    """Paused egress ports over time: `time_ps` (end of the interval), `links`, for every interval of the window."""
    interval = result.summary.sample_interval_ps if which.interval is None else units.picoseconds(which.interval)
    end = pl.col("end_ps").fill_null(result.summary.simulated_ps)
    pauses = result.pauses.with_columns(pl.col("node").cast(pl.String), end=end)
    if which.of == "switches":
        switches = result.topology.nodes.filter(pl.col("kind") == "switch")["name"]
        pauses = pauses.filter(pl.col("node").is_in(switches.to_list()))
    # An interval has its beginning and not its end, as a pause has.
    first, behind = pl.col("start_ps") // interval, -(-pl.col("end") // interval)
    numbers = pl.int_ranges(first, pl.max_horizontal(behind, first + 1))
    ports = pauses.select("node", "port", number=numbers).explode("number").unique()
    counts = ports.group_by(time_ps=(pl.col("number") + 1) * interval).agg(links=pl.len())
    return _at_every(interval, result, counts, window)


def _at_every_sample(result: Result, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The samples of a window, with 0 where nothing was recorded."""
    return _at_every(result.summary.sample_interval_ps, result, sampled, window)


def _at_every(interval: int, result: Result, sampled: pl.DataFrame, window: Window) -> pl.DataFrame:
    """The multiples of an interval in a window, with 0 where nothing was recorded."""
    begin, end = ends(window, result.summary.simulated_ps)
    grid = pl.DataFrame({"time_ps": range(interval, end + 1, interval)}, schema={"time_ps": pl.Int64})
    line = grid.join(sampled, on="time_ps", how="left", maintain_order="left").fill_null(0)
    return line.filter(pl.col("time_ps") > begin)


def chosen_ports(topology: Topology, texts: Sequence[str]) -> pl.DataFrame:
    """The egress ports with one of the names, as rows of `egress_ports`; again for each name that a port has."""
    known = topology.egress_ports
    parts = []
    for node, peer, number in map(port_parts, texts):
        of_node = _named(known, "node", [node])
        parts.append(of_node.filter(pl.col("port") == int(number)) if peer is None else _named(of_node, "peer", [peer]))
    return pl.concat(parts)


def _senders(topology: Topology, which: Throughput) -> pl.DataFrame:
    """The ports whose frames are meant, by default those at the other ends of the links of hosts."""
    if which.ports is not None:
        return chosen_ports(topology, which.ports).unique()
    side = "node" if which.direction == "sent" else "peer"
    hosts = topology.nodes.filter(pl.col("kind") != "switch")["name"]
    of_hosts = topology.egress_ports.filter(pl.col(side).is_in(hosts.to_list()))
    return _named(of_hosts, side, which.hosts or ["*"])


def _frames(result: Result, which: Throughput) -> pl.DataFrame:
    """Frames that the ports send, relayed ones included: `time_ps`, `node`, `port`, `rate_bps`, `bytes`."""
    sent = result.ports.select("time_ps", pl.col("node").cast(pl.String), pl.col("port").cast(pl.Int64), "tx_bytes")
    ports = _senders(result.topology, which).select("node", pl.col("port").cast(pl.Int64), "rate_bps")
    frames = sent.join(ports, on=["node", "port"])
    return frames.select("time_ps", "node", "port", "rate_bps", bytes="tx_bytes")


def _payload(result: Result, which: Throughput) -> pl.DataFrame:
    """What flows of a tag and role were delivered: `time_ps`, `bytes`."""
    return _of_kind(result.goodput, which).select("time_ps", bytes="delivered_bytes")


def _of_kind(frame: pl.DataFrame, which: Throughput | ReorderingMeasure) -> pl.DataFrame:
    """The rows of flows of a tag and role."""
    wanted = pl.lit(value=True)
    for column, name in (("role", which.role), ("tag", which.tag)):
        if name is not None:
            wanted &= pl.col(column).cast(pl.String) == name
    return frame.filter(wanted)


def value(measure: MeasureOfRun, result: Result) -> float | None:
    """A measure of a run; None if the result has nothing to take it from.

    Raises:
        ResultError: If the result does not hold what the measure is about.
    """
    match measure:
        case UnfinishedMeasure():
            found: float | None = float(select(result.flows, measure)["fct_ps"].null_count())
        case RunMeasure():
            found = _run_ratio(result, measure)
        case SampleMeasure():
            found = _samples(result, measure)
        case ThroughputMeasure(stat=None):
            found = _statistic(throughput(result, measure, measure).to_series(1), "mean")
        case PausesMeasure(stat="rate"):
            found = _pause_rate(result, measure)
        case SettlingMeasure():
            found = _settling(result, measure)
        case ReorderingMeasure():
            found = _reordering(result, measure)
        case _:
            found = _statistic(_values(measure, result), measure.stat or "mean")
    return found


def _values(
    measure: FlowMeasure
    | RequestsMeasure
    | IngressMeasure
    | ThroughputMeasure
    | PausesMeasure
    | PausedLinksMeasure
    | BalancingMeasure
    | PathDelaysMeasure
    | QueueMeasure
    | RelayedMeasure,
    result: Result,
) -> pl.Series:
    """What a measure is a statistic of."""
    match measure:
        case FlowMeasure():
            chosen = select(result.flows, measure)
            found = _of_flows(chosen if measure.stat == "share" else tables.finished(chosen), measure.value)
        case RequestsMeasure():
            found = _requests(result, measure)
        case IngressMeasure():
            found = ingress_values(result, measure)
        case ThroughputMeasure():
            found = _of_ports(result, measure)
        case PausesMeasure():
            found = _pauses(result, measure)
        case BalancingMeasure():
            found = balancing(result, measure, measure)["count"]
        case PathDelaysMeasure():
            found = _path_delays(result, measure)
        case PausedLinksMeasure():
            found = paused_links(result, measure, measure)["links"]
        case QueueMeasure():
            found = queue(result, measure, measure)["bytes"]
        case RelayedMeasure():
            found = _relayed(result, measure)
        case _:
            assert_never(measure)
    return found


def _requests(result: Result, measure: RequestsMeasure) -> pl.Series:
    """A value of each request that has finished."""
    finish = pl.col("fct_ps")
    requests = (
        select(result.flows, measure)
        .group_by("tag", "dst", "start_ps", maintain_order=True)
        .agg(pl.col("bytes").sum(), finish.max(), finish.null_count().alias("unfinished"))
    )
    done = requests.filter(pl.col("unfinished") == 0)
    return done.select(_REQUEST_VALUES[measure.value][0].cast(pl.Float64).alias(measure.value)).to_series()


def _run_ratio(result: Result, measure: RunMeasure) -> float | None:
    """A value of `run.json`, or of two of them the ratio; None if it is one to 0."""
    found = _run_value(result, measure.path)
    if measure.per is None:
        return found
    per = _run_value(result, measure.per)
    return found / per if found is not None and per else None


def _run_value(result: Result, path: str) -> float | None:
    found: Any = json.loads((result.directory / RUN_FILE).read_text(encoding="utf-8"))
    name = path.removeprefix("counters.")
    if name != path:
        found["counters"].setdefault(name, 0)
    for key in path.split("."):
        if found is None:
            return None
        if not isinstance(found, dict) or key not in found:
            raise ResultError(f"{RUN_FILE} holds no {path}: there is no {key}")
        found = found[key]
    if not isinstance(found, int | float):
        return float(found is not None)
    return found / tables.PS_PER_US if path.endswith("_ps") else float(found)


def _pauses(result: Result, measure: PausesMeasure) -> pl.Series:
    """A value of each pause that is chosen."""
    begin, end = ends(measure, result.summary.simulated_ps)
    pauses = result.pauses.filter(pl.col("start_ps") >= begin)
    if measure.to is not None:
        pauses = pauses.filter(pl.col("start_ps") < end)
    if measure.relayed is not None:
        pauses = pauses.filter(pl.col("relayed") == measure.relayed)
    if measure.layer is not None:
        nodes = result.topology.nodes.filter(pl.col("layer") == measure.layer)["name"]
        pauses = pauses.filter(pl.col("peer").cast(pl.String).is_in(nodes.to_list()))
    if measure.by is not None:
        pauses = _named(pauses, "peer", measure.by)
    return pauses.select(_PAUSE_VALUES[measure.value][0].cast(pl.Float64).alias(measure.value)).to_series()


def _pause_rate(result: Result, measure: PausesMeasure) -> float | None:
    """How many pauses that are chosen began per second; None if nothing of the window was simulated."""
    begin, end = ends(measure, result.summary.simulated_ps)
    simulated = min(end, result.summary.simulated_ps) - begin
    return len(_pauses(result, measure)) * tables.PS_PER_SECOND / simulated if simulated > 0 else None


def _settling(result: Result, measure: SettlingMeasure) -> float | None:
    """How long it takes until a queue stays short, in µs; None or the length of the window if it does not."""
    simulated_ps = result.summary.simulated_ps
    samples = queue(result, measure, measure).filter(pl.col("time_ps") <= simulated_ps)
    longer = samples.filter(pl.col("bytes") > units.size(measure.below))["time_ps"]
    if longer.is_empty() and not samples.is_empty():
        return 0.0
    settled = samples.filter(pl.col("time_ps") > tables.largest(longer))["time_ps"]
    begin, end = ends(measure, simulated_ps)
    if not settled.is_empty():
        end = settled[0]
    elif measure.unsettled == "none" or samples.is_empty():
        return None
    return (end - begin) / tables.PS_PER_US


def _reordering(result: Result, measure: ReorderingMeasure) -> float | None:
    """A statistic of the degree of disorder of packets; None if none has arrived."""
    packets = _of_kind(result.reordering.filter(pl.col("measured")), measure).group_by("degree").agg(pl.sum("packets"))
    if packets.is_empty():
        return None
    disordered = packets.filter(pl.col("degree") > 0)
    if measure.stat == "share":
        return int(disordered["packets"].sum()) / int(packets["packets"].sum())
    chosen = (packets if measure.of == "all" else disordered).sort("degree")
    found = _of_counts(chosen["degree"].cast(pl.Float64), chosen["packets"], measure.stat)
    return 0.0 if found is None else found


def _relayed(result: Result, measure: RelayedMeasure) -> pl.Series:
    """The share that is relayed of what each port of a host has sent."""
    begin, end = ends(measure, result.summary.simulated_ps)
    hosts = result.topology.nodes.filter(pl.col("kind") != "switch")["name"].to_list()
    sent = result.ports.filter(pl.col("node").cast(pl.String).is_in(hosts))
    sent = sent.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    sums = (
        _named(sent, "node", measure.hosts or ["*"]).group_by("node", "port").agg(pl.sum("relayed_bytes", "tx_bytes"))
    )
    return sums["relayed_bytes"] / sums["tx_bytes"]


def _samples(result: Result, measure: SampleMeasure) -> float | None:
    begin, end = ends(measure, result.summary.simulated_ps)
    samples = result.queues if measure.table == "queues" else result.buffers
    samples = samples.filter(pl.col("time_ps") > begin, pl.col("time_ps") <= end)
    if measure.nodes is not None:
        samples = _named(samples, "node", measure.nodes)
    if samples.is_empty():  # what is not sampled is empty
        return 0.0
    return _statistic(samples[measure.column], measure.stat)
