"""Exports, read by independent tools: scapy, and Perfetto's descriptors."""

import os
import re
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import scapy.contrib.mac_control as mac
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent  # type: ignore[import-untyped]
from scapy.contrib import roce
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapNgReader

from backwater import Result
from backwater.directory import ResultError
from backwater.exports import Kind, atomic_output, dissector, export
from small_result import reseal
from traced import INCAST, sent, traced


@pytest.fixture(scope="module")
def incast(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return traced(tmp_path_factory.mktemp("incast"))


def capture(result: Result, path: Path) -> list[tuple[int, str, bytes]]:
    """Returns time (ps), interface and bytes of every frame in a result's capture."""
    count = export(result, "pcapng", path)
    frames: list[tuple[int, str, bytes]] = []
    with RawPcapNgReader(str(path)) as reader:
        try:
            while True:
                data, meta = reader._read_packet()
                assert isinstance(meta, RawPcapNgReader.PacketMetadata)
                assert meta.tsresol == 10**12
                frames.append(((meta.tshigh << 32) + meta.tslow, meta.ifname.decode(), data))
        except EOFError:
            pass
    assert count == len(frames)
    return frames


def frames_of(result: Result, path: Path, *kinds: str) -> list[tuple[bytes, dict[str, Any]]]:
    """Returns the frames of these kinds in a result's capture, with their events."""
    rows = zip(capture(result, path), sent(result), strict=True)
    return [(data, row) for (_, _, data), row in rows if row["frame"] in kinds]


def test_a_capture_has_every_frame_with_its_time_its_link_and_its_length(incast: Result, tmp_path: Path) -> None:
    frames, expected = capture(incast, tmp_path / "x.pcapng"), sent(incast)
    assert len(frames) == len(expected) > 1000
    for (time, interface, data), row in zip(frames, expected, strict=True):
        port = (row["node"], row["port"])
        assert (time, len(data) + 4) == (row["time_ps"], row["frame_bytes"])
        assert interface.startswith(f"{port[0]}:{port[1]} to {incast.topology.ports[port]}:")


def test_pfc_frames_are_those_of_the_standard(incast: Result, tmp_path: Path) -> None:
    seen = Counter[bool]()
    for data, row in frames_of(incast, tmp_path / "x.pcapng", "pfc"):
        frame = Ether(data)
        pfc = frame[mac.MACControlClassBasedFlowControl]
        assert (frame.dst, frame.type, pfc._op_code) == ("01:80:c2:00:00:01", 0x8808, 0x0101)
        enabled = [getattr(pfc, f"c{cls}_enabled") for cls in range(8)]
        times = [getattr(pfc, f"c{cls}_pause_time") for cls in range(8)]
        assert enabled == [row["pfc_classes"] >> cls & 1 for cls in range(8)]
        assert times == [row["pfc_quanta"] * enable for enable in enabled]
        seen[row["pfc_quanta"] > 0] += 1
    assert seen[True] > 0
    assert seen[True] == seen[False]


def test_packets_are_roce_with_the_numbers_of_their_flows(incast: Result, tmp_path: Path) -> None:
    hosts = [f"10.0.0.{number + 1}" for number in range(8)]
    flows = {flow["id"]: flow for flow in incast.flows.to_dicts()}
    opcodes = Counter[int]()
    assert {row["frame"] for row in sent(incast)} == {"pfc", "data", "ack", "cnp"}
    for data, row in frames_of(incast, tmp_path / "x.pcapng", "data", "ack", "cnp"):
        frame, flow = Ether(data), flows[row["flow"]]
        ends = [hosts[int(flow[end][1:])] for end in ("src", "dst")]
        assert [frame[IP].src, frame[IP].dst] == (ends if row["frame"] == "data" else ends[::-1])
        assert frame[UDP].dport == 4791
        bth = frame[roce.BTH]
        opcodes[bth.opcode] += 1
        last = -(-flow["bytes"] // 1024) - 1
        if row["frame"] == "data":
            first = {True: {True: 0x0A, False: 0x06}, False: {True: 0x08, False: 0x07}}
            assert (bth.psn, bth.opcode) == (row["psn"], first[row["psn"] == 0][row["psn"] == last])
            assert (bth.ackreq, frame[IP].tos & 3) == (row["psn"] == last, 3 if row["marked"] else 2)
        elif row["frame"] == "ack":
            assert (bth.psn, bth.opcode, frame[roce.AETH].syndrome) == (row["psn"] - 1, 0x11, 0x1F)
        else:
            assert (bth.opcode, bth.becn) == (0x81, 1)
        assert bth.dqpn == row["flow"] + 2
    assert set(opcodes) == {0x06, 0x07, 0x08, 0x0A, 0x11, 0x81}


def test_a_nack_names_the_missing_packet(tmp_path: Path) -> None:
    result = traced(tmp_path / "lossy", topology=INCAST["topology"] | {"error_rate": 1e-2})
    nacks = Counter[int]()
    for data, row in frames_of(result, tmp_path / "x.pcapng", "nack"):
        frame = Ether(data)
        assert (frame[roce.BTH].opcode, frame[roce.BTH].psn, frame[roce.AETH].syndrome) == (0x11, row["psn"], 0x60)
        assert recomputed(data) == data
        nacks[row["flow"]] += 1
    assert len(nacks) > 1


def test_an_ack_that_echoes_a_mark_sets_becn(tmp_path: Path) -> None:
    result = traced(tmp_path / "ack-bit", congestion_control=INCAST["congestion_control"] | {"cnp": "ack-bit"})
    seen = Counter[bool]()
    for data, row in frames_of(result, tmp_path / "x.pcapng", "ack"):
        assert Ether(data)[roce.BTH].becn == row["marked"]
        seen[row["marked"]] += 1
    assert set(seen) == {False, True}


def test_the_icrc_is_that_of_scapy(incast: Result, tmp_path: Path) -> None:
    checked = 0
    for _, _, data in capture(incast, tmp_path / "x.pcapng")[::31]:
        frame = Ether(data)
        if not frame.haslayer(roce.BTH):
            continue
        assert recomputed(data) == data
        for at in (14 + 20 + 8 + 4, frame[IP].len + 14 - 5, frame[IP].len + 14 - 1):
            wrong = bytearray(data)
            # Change a byte of the BTH that the ICRC covers, a byte behind the BTH, or a byte of the
            # ICRC.
            wrong[at + (1 if at < 60 else 0)] ^= 1
            assert recomputed(bytes(wrong)) != bytes(wrong)
        checked += 1
    assert checked > 25


def recomputed(data: bytes) -> bytes:
    """Returns a frame with the ICRC computed by scapy."""
    frame = Ether(data)
    frame[roce.BTH].icrc = None
    return bytes(frame)


def test_frames_without_a_format_use_an_experimental_ethertype(tmp_path: Path) -> None:
    pyrrha = INCAST["switch"] | {"flow_control": {"kind": "pyrrha"}}
    del pyrrha["headroom"]
    result = traced(tmp_path / "pyrrha", switch=pyrrha, congestion_control={"kind": "hpcc"})
    kinds = Counter[str]()
    rows = zip(capture(result, tmp_path / "x.pcapng"), sent(result), strict=True)
    for number, ((_, _, data), row) in enumerate(rows):
        if row["frame"] == "pyrrha":
            assert data[:6] == bytes.fromhex("0180c2000001")
            assert (data[12:14], data[14:32]) == (b"\x88\xb5", row["header"])
        else:
            # The packet follows 42 bytes of HPCC's header.
            assert (data[12:14], data[14:56]) == (b"\x88\xb5", row["header"])
            # Check every tenth frame: scapy takes a millisecond for an ICRC.
            assert number % 10 or recomputed(data[:12] + b"\x08\x00" + data[56:])[14:] == data[56:]
        kinds[row["frame"]] += 1
    assert kinds["pyrrha"] > 0
    assert kinds["ack"] > 0


def test_a_notice_names_its_mechanism(tmp_path: Path) -> None:
    result = traced(tmp_path / "srcc", congestion_control={"kind": "srcc"})
    notices = [data for data, _ in frames_of(result, tmp_path / "x.pcapng", "notice")]
    assert notices
    assert {(data[12:14], data[14], len(data)) for data in notices} == {(b"\x88\xb5", 0x12, 60)}
    assert {int.from_bytes(data[22:26], "big") for data in notices} <= set(result.flows["id"])


def test_the_dissector_names_protocols_by_their_hashes() -> None:
    def folded(name: str) -> int:
        value = 0x811C9DC5
        for byte in name.encode():
            value = (value ^ byte) * 0x01000193 % 2**32
        return value >> 16 ^ value & 0xFFFF

    rows = re.findall(r'\[0x(\w{4})\] = "([\w-]+)"', dissector().read_text())
    assert {"pyrrha", "bfc", "port-fc", "srcc", "flb"} <= {name for _, name in rows}
    assert rows == [(f"{folded(name):04x}", name) for _, name in rows]


def test_a_capture_needs_events_and_real_headers(tmp_path: Path) -> None:
    untraced = traced(tmp_path / "untraced", probes={})
    with pytest.raises(ResultError, match=r"has no events: run the scenario with --set probes\.trace="):
        export(untraced, "pcapng", tmp_path / "x.pcapng")
    short = traced(tmp_path / "short", network={"framing": "hpcc-ns3", "mtu": "1000 B"})
    with pytest.raises(ResultError, match=r'network\.framing = "hpcc-ns3", but a capture needs complete RoCEv2'):
        export(short, "pcapng", tmp_path / "x.pcapng")
    assert not (tmp_path / "x.pcapng").exists()


def test_a_failed_export_keeps_the_old_file(incast: Result, tmp_path: Path) -> None:
    untraced = traced(tmp_path / "untraced", probes={})
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ResultError, match="has no events"):
        export(untraced, "pcapng", tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"
    (tmp_path / "linked").hardlink_to(incast.directory / "events.parquet")
    places = [result.directory / name for result in (incast, untraced) for name in ("flows.parquet", "run.json")]
    for place in (*places, tmp_path / "linked"):
        with pytest.raises(ResultError, match=f"{place.name} is a file of a result"):
            export(incast, "pcapng", place)
    incast.verify()
    untraced.verify()
    with pytest.raises(OSError, match="No such file") as raised:
        export(incast, "pcapng", tmp_path / "absent" / "x.pcapng")
    assert raised.value.filename == str(tmp_path / "absent")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linked", "mine", "untraced"]


def test_an_export_writes_files_and_follows_links(incast: Result, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place, what in ((tmp_path / "pipe", "not a file"), (tmp_path, "a directory")):
        with pytest.raises(ResultError, match=f"is {what}: choose a file"):
            export(incast, "perfetto", place)
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "link").symlink_to("target")
    export(incast, "perfetto", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "any").touch()
    assert (tmp_path / "target").stat().st_mode == (tmp_path / "any").stat().st_mode
    Drawn(tmp_path / "target")


def test_concurrent_exports_are_complete(incast: Result, tmp_path: Path) -> None:
    for kind in ("perfetto", "pcapng"):
        export(incast, kind, tmp_path / kind)
    whole = {(tmp_path / kind).read_bytes() for kind in ("perfetto", "pcapng")}
    for _ in range(5):
        with ThreadPoolExecutor() as pool:
            kinds: list[Kind] = ["perfetto", "pcapng"] * 2
            list(pool.map(lambda kind: export(incast, kind, tmp_path / "x"), kinds))
        assert (tmp_path / "x").read_bytes() in whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pcapng", "perfetto", "x"]


# --- Perfetto


class Drawn:
    """Perfetto trace. Checks that every slice ends, and that slices of a track do not overlap."""

    def __init__(self, path: Path) -> None:
        trace = Trace()
        trace.ParseFromString(path.read_bytes())
        self.names: dict[int, tuple[str, ...]] = {}
        self.slices: dict[tuple[str, ...], list[tuple[int, int, str]]] = defaultdict(list)
        self.instants: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
        self.counters: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        # Track and time of the start of every arrow and of its end, by the id of the arrow.
        self.arrows_from: dict[int, tuple[tuple[str, ...], int]] = {}
        self.arrows_to: dict[int, tuple[tuple[str, ...], int]] = {}
        opened: dict[int, list[tuple[int, str]]] = defaultdict(list)
        last: dict[int, int] = defaultdict(int)
        self.events = sum(packet.HasField("track_event") for packet in trace.packet)
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                track = packet.track_descriptor
                assert track.uuid not in self.names
                parent = self.names[track.parent_uuid] if track.parent_uuid else ()
                self.names[track.uuid] = (*parent, track.name)
                continue
            event = packet.track_event
            name, at = self.names[event.track_uuid], packet.timestamp
            ps = next(note.uint_value for note in event.debug_annotations if note.name == "ps")
            assert at == ps // 1000
            assert last[event.track_uuid] <= ps, "events of a track are in order"
            last[event.track_uuid] = ps
            if event.type == TrackEvent.TYPE_COUNTER:
                self.counters[name].append((ps, event.counter_value))
                continue
            for arrow in event.flow_ids:
                assert arrow not in self.arrows_from
                self.arrows_from[arrow] = (name, ps)
            for arrow in event.terminating_flow_ids:
                assert arrow not in self.arrows_to
                self.arrows_to[arrow] = (name, ps)
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                assert not opened[event.track_uuid], "slices of a track do not overlap"
                opened[event.track_uuid].append((ps, event.name))
            elif event.type == TrackEvent.TYPE_SLICE_END:
                start, what = opened[event.track_uuid].pop()
                self.slices[name].append((start, ps, what))
            else:
                self.instants[name].append((ps, event.name))
        assert not any(opened.values()), "every slice ends"
        assert set(self.arrows_from) == set(self.arrows_to)


def drawing(result: Result, path: Path) -> Drawn:
    """Exports a result to a Perfetto trace, and reads the trace."""
    count, drawn = export(result, "perfetto", path), Drawn(path)
    assert count == drawn.events
    return drawn


@pytest.fixture(scope="module")
def drawn(incast: Result, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return drawing(incast, tmp_path_factory.mktemp("drawn") / "x.perfetto")


def _port(result: Result, node: str, port: int) -> tuple[str, str]:
    return node, f"{node}:{port} to {result.topology.ports[node, port]}"


def test_every_frame_is_a_slice_with_its_duration(incast: Result, drawn: Drawn) -> None:
    expected: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for row in sent(incast):
        expected[*_port(incast, row["node"], row["port"]), "wire"].append((row["time_ps"], row["until_ps"]))
    found = {
        name: [(start, end) for start, end, _ in slices] for name, slices in drawn.slices.items() if name[-1] == "wire"
    }
    assert found == dict(expected)


def test_every_pause_is_a_slice_and_has_an_arrow_from_its_cause(incast: Result, drawn: Drawn) -> None:
    expected: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    causes = {}
    for row in incast.pauses.sort("node", "port", "queue", "start_ps").to_dicts():
        name = (*_port(incast, row["node"], row["port"]), f"queue {row['queue']} paused")
        expected[name].append((row["start_ps"], row["end_ps"]))
        if row["parent_start_ps"] is None:
            root = (*_port(incast, row["cause_node"], row["cause_port"]), "congested")
            causes[name, row["start_ps"]] = (root, row["start_ps"])
        else:
            parent = (*_port(incast, row["peer"], row["via_port"]), f"queue {row['parent_queue']} paused")
            causes[name, row["start_ps"]] = (parent, row["parent_start_ps"])
    found = {
        name: [(start, end) for start, end, _ in slices]
        for name, slices in drawn.slices.items()
        if "paused" in name[-1]
    }
    assert found == {name: sorted(spans) for name, spans in expected.items()}
    arrows = {drawn.arrows_to[arrow]: drawn.arrows_from[arrow] for arrow in drawn.arrows_to}
    assert arrows == causes
    # Some pauses are caused by other pauses, some by congestion at the port itself.
    assert any("paused" in cause[0][-1] for cause in causes.values())
    assert any(cause[0][-1] == "congested" for cause in causes.values())


def test_flows_queues_and_senders_are_drawn(incast: Result, drawn: Drawn) -> None:
    flows = [
        (start, end, what) for name, slices in drawn.slices.items() if "flows" in name for start, end, what in slices
    ]
    expected = [
        (row["start_ps"], row["receiver_finish_ps"], f"flow {row['id']} to {row['dst']}")
        for row in incast.flows.to_dicts()
    ]
    assert sorted(flows) == sorted(expected)
    queue = incast.events.filter(
        pl.col("event").is_in(["enqueue", "dequeue"]),
        pl.col("node") == "leaf1",
        pl.col("port") == 0,
        pl.col("queue") == 3,
    )
    values = list(queue.select("time_ps", "queue_bytes").iter_rows())
    assert drawn.counters[(*_port(incast, "leaf1", 0), "queue 3 bytes")] == values
    rates = incast.events.filter(pl.col("event") == "rate", pl.col("flow") == 0)
    values = list(rates.select("time_ps", "rate_bps").iter_rows())
    assert drawn.counters["h0", "senders", "flow 0", "rate"] == values
    assert len(values) > 1
    marks = incast.events.filter(pl.col("event") == "mark").height
    assert sum(len(events) for name, events in drawn.instants.items() if name[-1] == "events") == marks > 0


def test_path_probes_belong_to_no_flow(tmp_path: Path) -> None:
    balance = {"kind": "proteus", "probe_period": "5 us"}
    result = traced(tmp_path / "probed", topology=INCAST["topology"] | {"spines": 2}, load_balance=balance)
    notices = result.events.filter(pl.col("frame") == "notice")
    assert notices.height > 0
    assert notices["flow"].null_count() == notices.height
    names = {what for slices in drawing(result, tmp_path / "x.perfetto").slices.values() for *_, what in slices}
    assert {name for name in names if name.startswith("notice")} == {"notice 0"}


def test_without_events_a_trace_has_pauses_flows_and_samples(tmp_path: Path) -> None:
    result = traced(tmp_path / "untraced", probes={"sample_interval": "1 us"})
    drawn = drawing(result, tmp_path / "x.perfetto")
    assert sum(len(slices) for name, slices in drawn.slices.items() if "paused" in name[-1]) == result.pauses.height > 0
    samples = result.queues.filter(pl.col("node") == "leaf1", pl.col("port") == 0)
    expected = dict(samples.select("time_ps", "bytes").iter_rows())
    found = dict(drawn.counters[(*_port(result, "leaf1", 0), "bytes in queues")])
    assert {time: held for time, held in found.items() if held} == {
        time: held for time, held in expected.items() if held
    }
    # A port missing in a sample was empty.
    assert found[max(found)] == 0


def test_endless_flows_and_open_pauses_last_to_the_end(tmp_path: Path) -> None:
    flows: list[dict[str, Any]] = [{"src": f"h{number}", "dst": "h4", "bytes": "10 MB"} for number in range(4)]
    endless = {"kind": "flows", "flows": [{"src": "h6", "dst": "h4"}]}
    traffic = [{"kind": "flows", "flows": flows}, endless]
    run = {"until": "50 us", "drain": "7 us"}
    result = traced(tmp_path / "cut", traffic=traffic, run=run, probes={}, congestion_control={"kind": "none"})
    assert result.pauses["end_ps"].null_count() > 0
    drawn = drawing(result, tmp_path / "x.perfetto")
    ends = [slices[-1][1] for name, slices in drawn.slices.items() if "paused" in name[-1]]
    assert max(ends) == result.summary.simulated_ps
    assert {end for name, slices in drawn.slices.items() if "flows" in name for _, end, _ in slices} == {57_000_000}


@pytest.mark.parametrize("kind", ["pcapng", "perfetto"])
def test_errors_of_a_full_disk_name_the_requested_file(
    incast: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    made = tempfile.mkdtemp

    def full(*where: Any) -> str:  # noqa: ANN401 - those of tempfile
        directory: str = made(*where)
        (Path(directory) / "x.out").symlink_to("/dev/full")
        return directory

    monkeypatch.setattr(tempfile, "mkdtemp", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        export(incast, kind, tmp_path / "x.out")
    assert caught.value.filename == str(tmp_path / "x.out")
    assert ".export-" not in str(caught.value)
    with (
        pytest.raises(OSError, match="No space left on device") as caught,
        atomic_output(tmp_path / "x.out", []) as partial,
    ):
        partial.write_text("page" * 100)
    assert caught.value.filename == str(tmp_path / "x.out")


def test_errors_of_an_unwritable_folder_name_the_requested_file() -> None:
    with pytest.raises(OSError, match=r".") as caught, atomic_output(Path("/proc/x.out"), []):
        pass
    assert caught.value.filename == "/proc/x.out"


def test_a_table_with_a_forged_checksum_is_reported(tmp_path: Path) -> None:
    """Rows with a nonexistent port, and bytes that are no table."""
    result = traced(tmp_path / "run")
    events = result.directory / "events.parquet"
    pl.read_parquet(events).with_columns(port=pl.lit(77, pl.UInt16)).write_parquet(events)
    reseal(result.directory)
    with pytest.raises(ResultError, match=r"events\.parquet: a frame was sent at [0-9]+ ps from a port without a link"):
        export(Result.load(result.directory), "pcapng", tmp_path / "x")
    for content in (b"", b"PAR1", b"PAR1 but nothing that is a table PAR1"):
        events.write_bytes(content)
        reseal(result.directory)
        with pytest.raises(ResultError, match=r"events\.parquet"):
            _ = Result.load(result.directory).events
        with pytest.raises(ResultError, match=r"events\.parquet"):
            _ = Result.load(result.directory).has_empty_trace
