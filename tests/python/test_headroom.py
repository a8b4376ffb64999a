"""Sizing headroom, and checking configurations of SONiC."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from backwater import units
from backwater.cli import app
from backwater.headroom import sonic, worst_case
from backwater.headroom.plan import Plan, Spectrum, Switch, chips, delay_of, of_chip, spectrum

SONIC = Path(__file__).parent / "data" / "sonic"


def command_line(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "240"})


# ------------------------------------------------------------------------------------------------------------ plan


def test_the_switch_of_dsh() -> None:
    plan = Plan.of(Switch(10**11, units.picoseconds("2 us")))
    assert plan.equation_1 == 56_840
    sih, dsh, adaptive, oversubscribed = plan.schemes
    assert [sih.headroom, dsh.headroom] == [32 * 7 * 56_840, 32 * 56_840]
    assert sih.headroom > adaptive.headroom > oversubscribed.headroom > dsh.headroom
    assert dsh.shared == 16 * 2**20 - 672_000 - 32 * 56_840
    assert [scheme.may_drop for scheme in plan.schemes] == [False, False, False, True]


def test_chips_are_those_of_figure_4_of_dsh() -> None:
    known = chips()
    like = Switch(10**11, units.picoseconds("1.5 us"), classes=8)
    shares = {name: of_chip(chip, like).schemes[0].headroom / chip.buffer for name, chip in known.items()}
    # Section III-A: 43 % and 157 us for the first chip, 67 % and 37 us for the last; Trident2: 44.4 %.
    assert round(100 * shares["trident-plus"]) == 43
    assert round(shares["trident2"], 3) == 0.444
    assert round(100 * shares["tomahawk4"]) in {67, 68}
    times = {name: round(chip.buffer_time_ps / 1e6) for name, chip in known.items()}
    assert (times["trident-plus"], times["tomahawk4"]) == (157, 37)
    assert all(chip.source for chip in known.values())


def test_light_takes_its_time() -> None:
    # Section II-C of DSH: 300 m are about 1.5 us.
    assert delay_of(300) == pytest.approx(1.5e6, rel=0.03)


def test_plan_shows_needs_and_schemes(tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    outcome = command_line("headroom", "plan", "--delay", "2 us", "-o", picture)
    assert outcome.exit_code == 0, outcome.output
    for words in ("56,840 B", "Equation 1 of DSH", "sih", "dsh", "adaptive", "oversubscribed", "may drop"):
        assert words in outcome.stdout
    assert picture.read_text().startswith("<svg")
    document = json.loads(command_line("headroom", "plan", "--delay", "2 us", "--json").stdout)
    assert document["equation_1"] == 56_840
    assert command_line("headroom", "plan", "--chip", "trident2").stdout.count("32 ports") == 1
    listed = command_line("headroom", "chips", "-o", tmp_path / "chips.svg")
    assert "44.4%" in listed.stdout
    assert (tmp_path / "chips.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chip", "tomahwk"], "there is no chip 'tomahwk'; did you mean \"tomahawk\"?"),
        (["--rate", "100"], "'100' has none of the units bps, Kbps, Mbps, Gbps, Tbps"),
        (["--cable", "40m", "--delay", "1 us"], "--cable and --delay are two ways to say the same"),
        (["--mtu", "100 B"], "mtu must be from 256 B to 9218 B"),
        (["--cable", "long"], "Invalid value for '--cable'"),
        (["--classes", "9"], "Invalid value for '--classes'"),
        (["-o", "plan.png"], "plan.png is not .svg"),
    ],
)
def test_what_cannot_be_planned_is_said(arguments: list[str], message: str) -> None:
    outcome = command_line("headroom", "plan", *arguments)
    assert outcome.exit_code == 2
    assert message.split("; ", maxsplit=1)[0] in outcome.output, outcome.output


# ----------------------------------------------------------------------------------------------------------- SONiC


def test_a_configuration_has_the_headroom_that_its_format_says() -> None:
    config = sonic.read(SONIC / "sn5610n.json")
    assert (config.pool, config.shared_headroom, config.warnings) == (136_209_408, None, ())
    covers = {each.group.profile.name: each for each in sonic.cover(config)}
    assert {name: (each.ports, each.queues, each.group.profile.xoff) for name, each in covers.items()} == {
        "pg_lossless_100000_40m_profile": (2, 4, 49_152),
        "pg_lossless_200000_40m_profile": (1, 2, 60_416),
        "pg_lossless_400000_5m_profile": (1, 2, 86_016),
    }
    for each in covers.values():
        # The profiles are those of SONiC's own formula, and cover what this model needs.
        assert each.sonic == each.group.profile.xoff
        assert each.group.profile.size == each.group.profile.xoff + each.group.profile.xon
        assert each.missing == 0
        assert each.exact < each.group.profile.xoff


def test_a_pool_of_headroom_and_references_in_the_old_form() -> None:
    config = sonic.read(SONIC / "7050cx3.json")
    assert config.shared_headroom == 2_058_240
    (cover,) = sonic.cover(config)
    assert (cover.ports, cover.queues, cover.group.profile.xoff, cover.missing) == (32, 64, 160_000, 0)
    shown = command_line("headroom", "check", "--sonic", SONIC / "7050cx3.json")
    assert shown.exit_code == 0
    assert "not if all need theirs at once" in shown.stdout


def test_profiles_made_at_boot_come_from_the_lookup_table(tmp_path: Path) -> None:
    document = json.loads((SONIC / "7050cx3.json").read_text())
    document["BUFFER_PG"] = {"Ethernet0|3-4": {"profile": "NULL"}}
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(document))
    config = sonic.read(path, SONIC / "pg_profile_lookup.ini")
    assert {group.profile.xoff for group in config.groups} == {160_000}
    assert len(config.groups) == 32
    with pytest.raises(sonic.SonicError, match="no profile is known for 100000 Mb/s and 300 m; give pg_profile_lookup"):
        sonic.read(path)


def edited(tmp_path: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads((SONIC / "sn5610n.json").read_text())
    edit(document)
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(document))
    return path


def test_too_little_headroom_is_told_and_shown_by_simulation(tmp_path: Path) -> None:
    def shrink(document: dict[str, Any]) -> None:
        document["BUFFER_PROFILE"]["pg_lossless_100000_40m_profile"]["xoff"] = "20480"

    path = edited(tmp_path, shrink)
    outcome = command_line("headroom", "check", "--sonic", path, "--simulate")
    assert outcome.exit_code == 1
    cases = {each.group.profile.name: (each, worst_case.simulate(each)) for each in sonic.cover(sonic.read(path))}
    short, case = cases.pop("pg_lossless_100000_40m_profile")
    assert short.missing > 0
    assert case.dropped > 0
    assert f"{short.missing:,} B short" in outcome.stdout
    # With enough of it nothing is dropped, and no more is used than the exact need.
    for cover, enough in cases.values():
        assert enough.dropped == 0
        assert 0.99 * cover.exact < enough.used <= cover.exact


def test_what_will_hardly_be_meant_is_warned_of(tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "3"
        document["PORT_QOS_MAP"]["Ethernet8"]["pfc_enable"] = "2,3,4"

    assert sonic.read(edited(tmp_path, edit)).warnings == (
        "priority 4 of Ethernet0 has headroom, but PFC is off: nobody is told to stop",
        "PFC is on for priority 2 of Ethernet8, which has no headroom: it may drop",
    )


def _set(table: str, key: str, field: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document[table][key].__setitem__(field, value)


_PROFILE = "pg_lossless_100000_40m_profile"


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            _set("BUFFER_PROFILE", _PROFILE, "xoff", "many"),
            f'BUFFER_PROFILE|{_PROFILE}: xoff = "many": must be a whole',
        ),
        (_set("BUFFER_PROFILE", _PROFILE, "xoff", "-1"), 'xoff = "-1": must be a whole number'),
        (
            lambda document: document["BUFFER_PROFILE"][_PROFILE].pop("xon"),
            f"BUFFER_PROFILE|{_PROFILE}: xon is missing",
        ),
        (_set("BUFFER_PROFILE", _PROFILE, "pool", "ingress_loseless_pool"), 'did you mean "ingress_lossless_pool"?'),
        (
            _set("BUFFER_PG", "Ethernet0|3-4", "profile", "pg_lossless_100000_4m_profile"),
            f'there is no such profile; did you mean "{_PROFILE}"?',
        ),
        (
            lambda document: document["BUFFER_PG"].__setitem__("Ethernet0|4-3", {"profile": _PROFILE}),
            'BUFFER_PG|Ethernet0|4-3: must be a port and its priority groups, as "Ethernet0|3-4"',
        ),
        (
            lambda document: document["BUFFER_PG"].__setitem__("Ethernet1|3", {"profile": _PROFILE}),
            'BUFFER_PG|Ethernet1|3: there is no port "Ethernet1"',
        ),
        (_set("PORT", "Ethernet0", "speed", "fast"), 'PORT|Ethernet0: speed = "fast": must be a whole number'),
        (lambda document: document["PORT"]["Ethernet0"].pop("speed"), "PORT|Ethernet0: speed is missing"),
        (_set("CABLE_LENGTH", "AZURE", "Ethernet0", "40"), 'CABLE_LENGTH|Ethernet0: "40": must be a length in metres'),
        (_set("PORT_QOS_MAP", "Ethernet0", "pfc_enable", "3,9"), 'pfc_enable = "3,9": must be priorities from 0 to 7'),
        (lambda document: document.__setitem__("PORT", []), "PORT: must be a table of entries"),
        (lambda document: document["PORT"].__setitem__("Ethernet0", 1), "PORT|Ethernet0: must be a table of fields"),
        (lambda document: document.pop("PORT"), "PORT: there is no port"),
        (lambda document: document["BUFFER_POOL"].pop("ingress_lossless_pool"), "there is no ingress_lossless_pool"),
        (lambda document: document.pop("BUFFER_PG"), "no priority group has a profile with xoff"),
    ],
)
def test_what_makes_no_sense_is_named(tmp_path: Path, edit: Callable[[dict[str, Any]], object], message: str) -> None:
    path = edited(tmp_path, edit)
    if message.startswith("no priority group"):
        path = edited(tmp_path, lambda document: (edit(document), document.pop("PORT_QOS_MAP")))
    outcome = command_line("headroom", "check", "--sonic", path)
    assert outcome.exit_code == 2, outcome.output
    assert message in " ".join(outcome.output.split()), outcome.output


def test_files_that_are_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "config_db.json"
    for text, message in (('{"PORT": {', ":1:11: not JSON"), ("[]", "must be a table of tables")):
        path.write_text(text)
        outcome = command_line("headroom", "check", "--sonic", path)
        assert outcome.exit_code == 2
        assert message in "".join(outcome.output.split("\n")), outcome.output
    assert "there is no file" in command_line("headroom", "check", "--sonic", tmp_path / "none.json").output
    rows = tmp_path / "rows.ini"
    rows.write_text("100000 40m many 4608 49152 0\n")
    outcome = command_line("headroom", "check", "--sonic", SONIC / "sn5610n.json", "--lookup", rows)
    assert 'rows.ini:1: must be "speed cable size xon xoff threshold [xon_offset]"' in "".join(
        outcome.output.split("\n")
    )


def test_the_formula_names_what_it_does_not_know() -> None:
    with pytest.raises(ValueError, match="speed must be one of 10000, 25000"):
        spectrum(Spectrum(1000, 5))
    with pytest.raises(ValueError, match="generation must be from 1 to 6"):
        spectrum(Spectrum(100_000, 5, generation=7))
