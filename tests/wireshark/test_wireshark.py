"""Captures in Wireshark: `make test-wireshark`. The tests need tshark, and fail without it."""

import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backwater import Result
from backwater.exports import dissector, export
from traced import INCAST, sent, traced

FIELDS = (
    "frame.time_epoch",
    "frame.interface_name",
    "frame.len",
    "macc.opcode",
    "macc.cbfc.enbv",
    *(f"macc.cbfc.pause_time.c{cls}" for cls in range(8)),
    "ip.src",
    "ip.dsfield.ecn",
    "udp.dstport",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.aeth.syndrome",
    "_ws.expert.message",
)


def dissected(path: Path, fields: tuple[str, ...], *options: str) -> list[dict[str, str]]:
    """Returns tshark's fields of every frame."""
    names = [option for field in fields for option in ("-e", field)]
    command = ["tshark", "-r", str(path), *options, "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", *names]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "Lua: Error" not in done.stderr, done.stderr
    return [dict(zip(fields, line.split("|"), strict=True)) for line in done.stdout.splitlines()]


def number(text: str) -> int:
    return int(text, 0)


@pytest.mark.parametrize(
    ("topology", "kinds"), [({}, ("data", "ack", "cnp", "pfc")), ({"error_rate": 0.01}, ("data", "ack", "nack"))]
)
def test_tshark_output_matches_the_events(topology: dict[str, Any], kinds: tuple[str, ...], tmp_path: Path) -> None:
    result = traced(tmp_path / "r", topology=INCAST["topology"] | topology)
    export(result, "pcapng", tmp_path / "x.pcapng")
    frames, expected = dissected(tmp_path / "x.pcapng", FIELDS), sent(result)
    assert len(frames) == len(expected) > 1000
    seen = Counter[str]()
    for frame, row in zip(frames, expected, strict=True):
        seconds, fraction = frame["frame.time_epoch"].split(".")
        assert int(seconds) * 10**9 + int(fraction[:9].ljust(9, "0")) == row["time_ps"] // 1000
        assert frame["frame.interface_name"].startswith(f"{row['node']}:{row['port']} to ")
        assert int(frame["frame.len"]) + 4 == row["frame_bytes"]
        assert frame["_ws.expert.message"] == ""
        seen[row["frame"]] += 1
        if row["frame"] == "pfc":
            check_pfc(frame, row)
        else:
            check_packet(frame, row)
    assert min(seen[kind] for kind in kinds) > 0


def check_pfc(frame: dict[str, str], row: dict[str, Any]) -> None:
    assert (number(frame["macc.opcode"]), number(frame["macc.cbfc.enbv"])) == (0x0101, row["pfc_classes"])
    quanta = [number(frame[f"macc.cbfc.pause_time.c{cls}"]) for cls in range(8)]
    assert quanta == [row["pfc_quanta"] * (row["pfc_classes"] >> cls & 1) for cls in range(8)]


def check_packet(frame: dict[str, str], row: dict[str, Any]) -> None:
    opcode = number(frame["infiniband.bth.opcode"])
    assert opcode in {"data": (0x06, 0x07, 0x08, 0x0A), "ack": (0x11,), "nack": (0x11,), "cnp": (0x81,)}[row["frame"]]
    assert number(frame["udp.dstport"]) == 4791
    assert number(frame["infiniband.bth.destqp"]) == row["flow"] + 2
    psn = {"data": row["psn"], "ack": row["psn"] - 1, "nack": row["psn"], "cnp": 0}[row["frame"]]
    assert number(frame["infiniband.bth.psn"]) == psn
    if row["frame"] == "data":
        assert number(frame["ip.dsfield.ecn"]) == (3 if row["marked"] else 2)
    if row["frame"] == "ack":
        assert number(frame["infiniband.aeth.syndrome"]) == 0x1F


OWN_FIELDS = (
    "backwater.version",
    "backwater.kind",
    "backwater.protocol",
    "backwater.opcode",
    "backwater.word",
    "backwater.flow",
    "backwater.stamps",
    "backwater.stamp.rate",
    "backwater.stamp.time",
    "backwater.stamp.queue",
    "infiniband.bth.psn",
    "_ws.col.Info",
)


def with_dissector(result: Result, path: Path) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """Returns the dissector's fields of every frame, with its row."""
    export(result, "pcapng", path)
    frames = dissected(path, OWN_FIELDS, "-X", f"lua_script:{dissector()}")
    return list(zip(frames, sent(result), strict=True))


def test_the_dissector_reads_frames_of_pyrrha_and_telemetry(tmp_path: Path) -> None:
    switch = {"buffer": "2 MiB", "flow_control": {"kind": "pyrrha"}}
    result = traced(tmp_path / "r", switch=switch, congestion_control={"kind": "hpcc"})
    seen = Counter[str]()
    for frame, row in with_dissector(result, tmp_path / "x.pcapng"):
        seen[row["frame"]] += 1
        assert number(frame["backwater.version"]) == 1
        if row["frame"] == "pyrrha":
            assert (number(frame["backwater.kind"]), number(frame["backwater.protocol"])) == (
                1,
                int.from_bytes(row["header"][2:4], "big"),
            )
            words = [int.from_bytes(row["header"][at : at + 4], "big") for at in (6, 10, 14)]
            assert [number(word) for word in frame["backwater.word"].split(",")] == words
            assert frame["_ws.col.Info"].startswith("pyrrha, opcode ")
        else:
            stamps = number(frame["backwater.stamps"])
            assert (number(frame["backwater.kind"]), stamps) == (3, row["header"][1])
            # The packet after the telemetry is decoded too.
            assert number(frame["infiniband.bth.psn"]) == row["psn"] - (row["frame"] == "ack")
            if stamps:
                rates = [number(rate) for rate in frame["backwater.stamp.rate"].split(",")]
                assert rates == [100] * stamps
                first = int.from_bytes(row["header"][2:10], "big")
                assert number(frame["backwater.stamp.time"].split(",")[0]) == first >> 36 & 0xFFFFFF
                assert number(frame["backwater.stamp.queue"].split(",")[0]) == 80 * (first & 0xFFFF)
                seen["stamped"] += 1
    assert min(seen[kind] for kind in ("pyrrha", "data", "ack", "stamped")) > 0


def test_the_dissector_names_the_mechanism_of_a_frame(tmp_path: Path) -> None:
    bfc = traced(
        tmp_path / "bfc", switch=INCAST["switch"] | {"flow_control": {"kind": "bfc"}, "headroom": {"kind": "sih"}}
    )
    infos = {
        frame["_ws.col.Info"] for frame, row in with_dissector(bfc, tmp_path / "b.pcapng") if row["frame"] == "bfc"
    }
    assert infos
    assert all(info.startswith("bfc, opcode ") for info in infos)
    srcc = traced(tmp_path / "srcc", congestion_control={"kind": "srcc"})
    notices = [pair for pair in with_dissector(srcc, tmp_path / "s.pcapng") if pair[1]["frame"] == "notice"]
    assert notices
    for frame, row in notices:
        assert frame["_ws.col.Info"] == f"notice of srcc about flow {row['flow']}"
        assert number(frame["backwater.flow"]) == row["flow"]
