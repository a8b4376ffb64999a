import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from backwater import console, style
from backwater.result import Result
from conftest import command_line
from small_result import reseal
from traced import traced


def rendered(capsys: pytest.CaptureFixture[str], *entries: Mapping[str, object]) -> str:
    console.diagnostics(list(entries))
    return capsys.readouterr().err


def test_an_error_shows_its_line_and_a_hint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "typo.toml"
    file.write_text('[run]\nuntill = "2 ms"\n')
    text = rendered(
        capsys,
        {
            "severity": "error",
            "file": str(file),
            "line": 2,
            "column": 1,
            "path": "run.untill",
            "value": "2 ms",
            "message": "unknown key",
            "hint": "did you mean `until`?",
        },
    )
    assert text == (
        "error: run.untill = 2 ms: unknown key\n"
        f"  --> {file}:2:1\n"
        "   │\n"
        ' 2 │ untill = "2 ms"\n'
        "   │ ^^^^^^\n"
        "  hint: did you mean `until`?\n\n"
    )


def test_all_errors_are_shown_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    error = {"severity": "error", "path": "network.mtu", "message": "too large"}
    warning = {"severity": "warning", "message": "no effect"}
    text = rendered(capsys, error, warning, error)
    assert text == (
        "error: network.mtu: too large\n\nwarning: no effect\n\nerror: network.mtu: too large\n\n2 errors\n"
    )


def test_markup_in_a_message_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert "[bold]x[/bold]" in rendered(capsys, {"severity": "error", "message": "[bold]x[/bold]"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (style.duration(1_500_000), "1.5 µs"),
        (style.duration(24_850 * 10**12), "24,850 s"),
        (style.duration(0), "0 ps"),
        (style.duration(None), "–"),
        (style.size(64_000), "64 KB"),
        (style.rate(400_000_000_000), "400 Gb/s"),
        (style.count(9_999), "9,999"),
        (style.count(20_600_000), "20.6 M"),
    ],
)
def test_quantities_have_units(text: str, expected: str) -> None:
    assert text == expected


def test_nouns_are_singular_for_one() -> None:
    counted = [style.counted(number, noun) for number, noun in ((1, "flow"), (0, "flow"), (2000, "lossless class"))]
    assert counted == ["1 flow", "0 flows", "2,000 lossless classes"]


def test_the_summary_names_the_main_cause_of_pause_and_the_worst_victim(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    console.out.print(console.summary(result), crop=False)
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "Main cause of PAUSE: s0:0, the port to h0, with 78% of all paused time (70 µs), class 3. The PAUSEs last as "
        "long as traffic from h1 exceeds the link's 100 Gb/s."
    ) in text
    assert "Worst victim: flow 1, h1 → h2, blocked for 6 µs by PAUSEs of ports off its path" in text
    assert f"backwater why {result.directory} 1" in text


@pytest.mark.parametrize("command", [("why",), ("why", "1")])
def test_control_characters_in_names_are_escaped(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Names from a result with forged checksums; scenarios cannot have such names."""
    result = traced(tmp_path / "run")
    for path in result.directory.glob("*.parquet"):
        table = pl.read_parquet(path)
        table.with_columns(pl.col(pl.String).str.replace("h", "\x1b[31mh\x07\x9b")).write_parquet(path)
    topology = (result.directory / "topology.json").read_text()
    (result.directory / "topology.json").write_text(re.sub('"h([0-9])', r'"\\u001b[31mh\\u0007\\u009b\1', topology))
    reseal(result.directory, scenario=result.summary.scenario | {"name": "a\x1b[2Jb"})
    outcome = command_line(command[0], result.directory, *command[1:], code=0)
    assert r"\x1b[31mh" in outcome.output
    assert r"\x9b" in outcome.output
    assert not set(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", outcome.output))
