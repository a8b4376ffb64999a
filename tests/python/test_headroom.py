"""Headroom plans, and checks of SONiC configurations."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from backwater import units
from backwater.headroom import cover, sonic, worst_case
from backwater.headroom.plan import HeadroomPlan, Spectrum, Switch, chips, delay_of, of_chip, spectrum
from conftest import command_line

SONIC = Path(__file__).parent / "data" / "sonic"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")


# --- plan


def test_the_switch_of_dsh_has_the_headroom_of_the_paper() -> None:
    plan = HeadroomPlan.of(Switch(10**11, units.picoseconds("2 us")))
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
    # Section III-A of the DSH paper states the share of headroom and the time to fill the buffer:
    # 43 % and 157 us for the first chip, 67 % and 37 us for the last. The share of Trident2 is
    # 44.4 %.
    assert round(100 * shares["trident-plus"]) == 43
    assert round(shares["trident2"], 3) == 0.444
    assert round(100 * shares["tomahawk4"]) in {67, 68}
    times = {name: round(chip.buffer_time_ps / 1e6) for name, chip in known.items()}
    assert (times["trident-plus"], times["tomahawk4"]) == (157, 37)
    assert all(chip.source for chip in known.values())


def test_propagation_delay_in_fibre() -> None:
    # Section II-C of DSH: 300 m are about 1.5 us.
    assert delay_of(300) == pytest.approx(1.5e6, rel=0.03)


def test_schemes_use_the_exact_need_if_equation_1_is_too_small() -> None:
    for switch in (
        Switch(10**11, units.picoseconds("1.5 us"), 9118),
        Switch(10**11, units.picoseconds("1.5 us"), response=units.picoseconds("307 ns")),
    ):
        plan = HeadroomPlan.of(switch)
        sih, dsh, adaptive, _ = plan.schemes
        assert plan.exact > plan.equation_1
        assert (sih.headroom, dsh.headroom) == (32 * 7 * plan.exact, 32 * plan.exact)
        # Link delays are exact to a few ns.
        assert sih.headroom <= adaptive.headroom < 1.01 * sih.headroom


def test_plan_shows_needs_and_schemes(tmp_path: Path) -> None:
    picture = tmp_path / "plan.svg"
    outcome = command_line("headroom", "plan", "--delay", "2 us", "-o", picture, code=0)
    for words in ("56,840 B", "Equation 1 of DSH", "sih", "dsh", "adaptive", "oversubscribed", "may drop"):
        assert words in outcome.stdout
    assert picture.read_text().startswith("<svg")
    drawn = tmp_path / "again.svg"
    document = json.loads(command_line("headroom", "plan", "--delay", "2 us", "--json", "-o", drawn).stdout)
    assert (document["equation_1"], document["chip"]) == (56_840, "Tomahawk (2014)")
    assert document["sonic"] > document["exact"]
    assert drawn.exists()
    assert command_line("headroom", "plan", "--chip", "trident2").stdout.count("32 ports") == 1
    command_line("headroom", "chips", "-o", tmp_path / "chips.svg", output="44.4%")
    assert (tmp_path / "chips.svg").exists()


def test_options_accept_the_quantities_of_scenarios() -> None:
    spelled = [
        ["--rate", "400 Gbps", "--buffer", "113 MiB", "--delay", "1 us", "--mtu", "4096 B"],
        ["--rate", "400G", "--buffer", "113MiB", "--delay", "1000ns", "--mtu", "4KiB"],
    ]
    first, second = (command_line("headroom", "plan", *arguments, "--json") for arguments in spelled)
    assert json.loads(first.stdout)["switch"]["rate"] == 400 * 10**9
    assert first.stdout == second.stdout
    assert [units.size("64 KB"), units.size("64KB"), units.picoseconds("1us")] == [64_000, 64_000, 10**6]
    near, far = (command_line("headroom", "plan", "--cable", length, "--json") for length in ("40m", "40 m"))
    assert near.stdout == far.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chip", "tomahwk"], "unknown chip 'tomahwk'; did you mean \"tomahawk\"?"),
        (["--rate", "100"], '"100" has no unit'),
        (["--rate", "400 Gbsp"], 'did you mean "Gbps"?'),
        (["--buffer", "113M"], '"M" is not a unit'),
        (["--cable", "40m", "--delay", "1 us"], "--cable and --delay cannot be combined"),
        (["--mtu", "100 B"], "mtu must be from 256 B to 9234 B"),
        (["--cable", "long"], '"long" must be a length in metres'),
        (["--cable", "40km"], '"40km" must be a length in metres'),
        (["--cable", "inf"], '"inf" must be a length in metres'),
        (["--cable", "0m"], "delay must be longer than 0 s"),
        (["--delay", "-1 us"], '"-1 us" is negative'),
        (["--delay", "1 s"], "delay must be longer than 0 s and at most 10 ms"),
        (["--response", "1 s"], "response must be at most 10 ms"),
        (["--rate", "0 Gbps"], "rate must be at least 1 Mbps"),
        (["--buffer", "0 B"], "buffer must be from 1 B to 1024 GiB"),
        (["--classes", "9"], "Invalid value for '--classes'"),
        (["-o", "plan.png"], "--output plan.png must end in .svg"),
    ],
)
def test_invalid_plan_options_are_reported(arguments: list[str], message: str) -> None:
    outcome = command_line("headroom", "plan", *arguments, code=2)
    assert message.split("; ", maxsplit=1)[0] in outcome.output, outcome.output


# --- SONiC


def check(*arguments: str | Path, code: int | None = None, output: str = "", error: str = "") -> Result:
    return command_line("headroom", "check", "--sonic", *arguments, code=code, output=output, error=error)


def edited(tmp_path: Path, edit: Callable[[dict[str, Any]], object], name: str = "sn5610n.json") -> Path:
    document = json.loads((SONIC / name).read_text())
    edit(document)
    path = tmp_path / "config_db.json"
    path.write_text(json.dumps(document))
    return path


def put(table: str, key: str, field: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document.setdefault(table, {}).setdefault(key, {}).__setitem__(field, value)


def drop(table: str, key: str | None = None, field: str | None = None) -> Callable[[dict[str, Any]], object]:
    def edit(document: dict[str, Any]) -> None:
        if key is None:
            del document[table]
        elif field is None:
            del document[table][key]
        else:
            del document[table][key][field]

    return edit


_PROFILE = "pg_lossless_100000_40m_profile"


def test_headroom_is_read_from_a_configuration() -> None:
    config = sonic.read(SONIC / "sn5610n.json")
    assert (config.pool, config.shared_headroom, config.warnings) == (136_209_408, None, ())
    covers = {each.group.profile.name: each for each in cover.covers(config)}
    assert {name: (each.ports, each.queues, each.headroom) for name, each in covers.items()} == {
        "pg_lossless_100000_40m_profile": (2, 4, 49_152),
        "pg_lossless_200000_40m_profile": (1, 2, 60_416),
        "pg_lossless_400000_5m_profile": (1, 2, 86_016),
    }
    for each in covers.values():
        # The profiles match SONiC's formula and cover the exact need.
        assert each.sonic == each.group.profile.xoff == each.headroom
        assert each.group.profile.size == each.group.profile.xoff + each.group.profile.xon
        assert each.missing == 0
        assert each.plan.exact < each.headroom
    check(SONIC / "sn5610n.json", code=0)


def test_a_headroom_pool_is_compared_with_the_need_of_all_queues(tmp_path: Path) -> None:
    config = sonic.read(SONIC / "7050cx3.json")
    assert config.shared_headroom == 2_058_240
    (found,) = cover.covers(config)
    assert (found.ports, found.queues, found.headroom, found.missing) == (32, 64, 160_000, 0)
    missing = 64 * found.plan.exact - 2_058_240
    assert cover.pool_missing(config, [found]) == missing > 0
    outcome = check(SONIC / "7050cx3.json", "--simulate", code=1, output=f"{missing / 1e6:.3f} MB short of")
    assert f"of {2_058_240 // 64:,} B used, packets dropped" in outcome.stdout
    # A pool of exactly the needed size is enough; one byte less is not.
    for spare, code in ((0, 0), (-1, 1)):
        size = str(64 * found.plan.exact + spare)
        path = edited(tmp_path, put("BUFFER_POOL", "ingress_lossless_pool", "xoff", size), "7050cx3.json")
        check(path, "--simulate", code=code)


def test_a_headroom_pool_made_at_boot_follows_its_ratio(tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        del document["BUFFER_POOL"]["ingress_lossless_pool"]["xoff"]
        document["DEFAULT_LOSSLESS_BUFFER_PARAMETER"] = {"AZURE": {"over_subscribe_ratio": "2"}}

    assert sonic.read(edited(tmp_path, edit, "7050cx3.json")).shared_headroom == 64 * 160_000 // 2


def test_without_a_headroom_pool_headroom_is_limited_by_size(tmp_path: Path) -> None:
    path = edited(tmp_path, put("BUFFER_PROFILE", _PROFILE, "size", "19456"))
    short = next(each for each in cover.covers(sonic.read(path)) if each.group.profile.name == _PROFILE)
    assert (short.headroom, short.missing) == (0, short.plan.exact)
    check(path, code=1)


def test_profiles_made_at_boot_come_from_the_lookup_table(tmp_path: Path) -> None:
    path = edited(
        tmp_path, lambda document: document.update(BUFFER_PG={"Ethernet0|3-4": {"profile": "NULL"}}), "7050cx3.json"
    )
    config = sonic.read(path, SONIC / "pg_profile_lookup.ini")
    assert {group.profile.xoff for group in config.groups} == {160_000}
    assert len(config.groups) == 32
    with pytest.raises(sonic.SonicError, match="no profile for 100000 Mb/s and 300 m; give pg_profile_lookup"):
        sonic.read(path)

    # A port without cable has no headroom; an unknown cable length is an error.
    document = json.loads(path.read_text())
    (length,) = document["CABLE_LENGTH"].values()
    length["Ethernet4"] = "0m"
    path.write_text(json.dumps(document))
    assert "Ethernet4" not in {group.name for group in sonic.read(path, SONIC / "pg_profile_lookup.ini").groups}
    del length["Ethernet4"]
    path.write_text(json.dumps(document))
    with pytest.raises(
        sonic.SonicError, match=r"PORT\|Ethernet4: no profile can be chosen: CABLE_LENGTH has no length"
    ):
        sonic.read(path, SONIC / "pg_profile_lookup.ini")
    document["DEVICE_METADATA"] = {"localhost": {"buffer_model": "dynamic"}}
    path.write_text(json.dumps(document))
    with pytest.raises(sonic.SonicError, match="buffer_model = dynamic: the switch computes profiles at run time"):
        sonic.read(path)


def test_ports_may_be_listed_and_priorities_split(tmp_path: Path) -> None:
    def split(document: dict[str, Any]) -> None:
        document["BUFFER_PG"] = {
            "Ethernet0,Ethernet8|3": {"profile": _PROFILE},
            "Ethernet0,Ethernet8|4": {"profile": f"[BUFFER_PROFILE|{_PROFILE}]"},
        }
        document["PORT_QOS_MAP"] = {"global": {}, "Ethernet0,Ethernet8": {"pfc_enable": "3,4"}}

    config = sonic.read(edited(tmp_path, split))
    assert [(each.name, each.priorities, each.classes) for each in config.groups] == [
        ("Ethernet0", (3, 4), 2),
        ("Ethernet8", (3, 4), 2),
    ]
    assert config.warnings == ()


def test_too_little_headroom_is_reported_and_shown_by_simulation(tmp_path: Path) -> None:
    path = edited(tmp_path, put("BUFFER_PROFILE", _PROFILE, "xoff", "20480"))
    outcome = check(path, "--simulate", code=1)
    covers = {each.group.profile.name: each for each in cover.covers(sonic.read(path))}
    short = covers.pop(_PROFILE)
    assert short.missing > 0
    assert worst_case.simulate(short.plan.switch, short.headroom).drops
    assert f"{short.missing:,} B short" in outcome.stdout
    # With enough headroom, no packet is dropped, and at most the exact need is used.
    for enough in covers.values():
        case = worst_case.simulate(enough.plan.switch, enough.headroom)
        assert not case.drops
        assert 0.99 * enough.plan.exact < case.used <= enough.plan.exact


@pytest.mark.parametrize(
    ("rate", "length", "response"),
    [(10**7, 1, "0 s"), (10**10, 400_000, "0 s"), (10**10, 40, "1 ms"), (8 * 10**11, 300, "3 us")],
)
def test_the_simulation_lasts_until_the_pause_takes_effect(rate: int, length: float, response: str) -> None:
    switch = Switch(rate, delay_of(length), 1518, units.picoseconds(response), classes=1, private=0)
    need = HeadroomPlan.of(switch).exact
    enough, short = (worst_case.simulate(switch, bytes_) for bytes_ in (need, need * 98 // 100))
    assert not enough.drops
    assert 0.99 * need < enough.used <= need
    assert short.drops


def test_likely_mistakes_give_warnings(tmp_path: Path) -> None:
    def edit(document: dict[str, Any]) -> None:
        document["PORT_QOS_MAP"]["Ethernet0"]["pfc_enable"] = "3"
        document["PORT_QOS_MAP"]["Ethernet8"]["pfc_enable"] = "2,3,4"
        del document["PORT_QOS_MAP"]["Ethernet16"]
        document["CABLE_LENGTH"]["AZURE"] = {
            "Ethernet0": "0m",
            "Ethernet8": "40m",
            "Ethernet16": "40m",
            "Etherne24": "5m",
        }

    path = edited(tmp_path, edit)
    config = sonic.read(path)
    assert config.gaps == (
        "Ethernet0: priority 4 has headroom, but PFC is off",
        "Ethernet8: PFC is on for priority 2 without headroom: packets may be dropped",
        "Ethernet16: priority 3, 4 has headroom, but PFC is off",
    )
    # Half-configured priorities are not covered.
    check(path, code=1)
    assert config.warnings == (
        'CABLE_LENGTH names a nonexistent port: Etherne24; did you mean "Ethernet24"?',
        "CABLE_LENGTH has no length for Ethernet0: 1 m is assumed",
        "CABLE_LENGTH has no length for Ethernet24: 1 m is assumed",
    )


_PG, _QOS, _POOL = "BUFFER_PG", "PORT_QOS_MAP", "ingress_lossless_pool"


def profile(field: str, value: object) -> Callable[[dict[str, Any]], object]:
    return put("BUFFER_PROFILE", _PROFILE, field, value)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (profile("xoff", "many"), f'BUFFER_PROFILE|{_PROFILE}: xoff = "many": must be a non-negative integer'),
        (profile("xoff", "-1"), 'xoff = "-1": must be a non-negative integer'),
        (profile("xoff", "100_000"), 'xoff = "100_000": must be a non-negative integer'),
        (profile("xoff", " 5"), 'xoff = " 5": must be a non-negative integer'),
        (profile("xoff", "²"), "must be a non-negative integer"),
        (profile("xoff", True), "xoff = true: must be a non-negative integer"),
        (profile("xoff", "9" * 15), "must be from 0 to 1000000000000"),
        (drop("BUFFER_PROFILE", _PROFILE, "xon"), f"BUFFER_PROFILE|{_PROFILE}: xon is missing"),
        (drop("BUFFER_PROFILE", _PROFILE, "pool"), f"BUFFER_PROFILE|{_PROFILE}: pool is missing"),
        (drop("BUFFER_PROFILE", _PROFILE, "dynamic_th"), "dynamic_th or static_th is required"),
        (profile("dynamic_th", "banana"), "dynamic_th or static_th is required"),
        (profile("dynamic_th", "9"), 'dynamic_th = "9": must be from -8 to 7'),
        (profile("pool", "ingress_loseless_pool"), f'did you mean "{_POOL}"?'),
        (profile("pool", "egress_lossless_pool"), "is an egress pool"),
        (put("BUFFER_POOL", _POOL, "mode", "foo"), 'mode = "foo": must be one of dynamic, static'),
        (put("BUFFER_POOL", _POOL, "type", "in"), 'type = "in": must be one of ingress, egress, both'),
        (
            put(_PG, "Ethernet0|3-4", "profile", "pg_lossless_100000_4m_profile"),
            f'unknown profile; did you mean "{_PROFILE}"?',
        ),
        (put(_PG, "Ethernet0|3-4", "profile", f"[BUFFER_POOL|{_PROFILE}]"), "must be a name, or"),
        (put(_PG, "Ethernet0|3-4", "profile", f"[BUFFER_PROFILE|{_PROFILE}"), "must be a name, or"),
        (put(_PG, "Ethernet0|4", "profile", _PROFILE), "priority 4 of Ethernet0 is already defined"),
        (
            put(_PG, "Ethernet0|4-3", "profile", _PROFILE),
            'BUFFER_PG|Ethernet0|4-3: must be a port and its priority groups, e.g. "Ethernet0|3-4"',
        ),
        (put(_PG, "Ethernet1|3", "profile", _PROFILE), 'BUFFER_PG|Ethernet1|3: unknown port "Ethernet1"'),
        (put("PORT", "Ethernet0", "speed", "fast"), 'PORT|Ethernet0: speed = "fast": must be a non-negative integer'),
        (put("PORT", "Ethernet0", "speed", "0"), 'PORT|Ethernet0: speed = "0": must be from 10 to'),
        (put("PORT", "Ethernet0", "mtu", "68"), 'PORT|Ethernet0: mtu = "68": must be from 256 to 9216'),
        (drop("PORT", "Ethernet0", "speed"), "PORT|Ethernet0: speed is missing"),
        (put("CABLE_LENGTH", "AZURE", "Ethernet0", "40"), 'Ethernet0: "40" must be a length in metres'),
        (put("CABLE_LENGTH", "AZURE", "Ethernet0", "9" * 400 + "m"), "must be a length in metres"),
        (put("CABLE_LENGTH", "SPINE", "Ethernet0", "300m"), "Ethernet0 has different cable lengths in two tables"),
        (put(_QOS, "Ethernet0", "pfc_enable", "3,9"), 'pfc_enable = "3,9": must be priorities from 0 to 7'),
        (put(_QOS, "Ethernet0", "pfc_enable", "²"), "must be priorities from 0 to 7"),
        (put(_QOS, "Ethernt0", "pfc_enable", "3"), 'PORT_QOS_MAP|Ethernt0: unknown port "Ethernt0"; did you mean'),
        (put("LOSSLESS_TRAFFIC_PATTERN", "B", "mtu", "1"), "LOSSLESS_TRAFFIC_PATTERN: must have one entry"),
        (
            put("LOSSLESS_TRAFFIC_PATTERN", "AZURE", "small_packet_percentage", "101"),
            'small_packet_percentage = "101": must be from 0 to 100',
        ),
        (lambda document: document.__setitem__("PORT", []), "PORT: must be a table of entries"),
        (lambda document: document["PORT"].__setitem__("Ethernet0", 1), "PORT|Ethernet0: must be a table of fields"),
        (drop("PORT"), "PORT: no port is defined"),
        (profile("xof", "1"), 'unknown field xof; did you mean "xoff"?'),
        (profile("static_th", "abc"), "is required, and must be an integer"),
        (profile("xon_offset", "abc"), 'xon_offset = "abc": must be a non-negative integer'),
        (put("BUFFER_PROFILE", "made", "headroom_type", "dynamic"), "the switch computes profiles at run time"),
        (put("PORT", "Ethernet0", "lanes", [1, 2]), 'lanes = [1, 2]: must be numbers, e.g. "0,1,2,3"'),
        (put("CABLE_LENGTH", "AZURE", "Ethernet0", None), 'Ethernet0: "null" must be a length in metres'),
        (put("DEFAULT_LOSSLESS_BUFFER_PARAMETER", "A", "over_subscribe_ratio", "x"), "must be a non-negative integer"),
        (
            lambda document: document.__setitem__("BUFFER_PROFILES", document.pop("BUFFER_PROFILE")),
            "BUFFER_PROFILES: unknown table; did you mean BUFFER_PROFILE?",
        ),
        (drop("BUFFER_POOL"), f"BUFFER_POOL: {_POOL} is missing"),
        (drop(_PG), "no priority group has a profile with xoff; give pg_profile_lookup.ini with --lookup"),
    ],
)
def test_errors_name_the_place_and_the_rule(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], message: str
) -> None:
    check(edited(tmp_path, edit), code=2, error=message)


def test_invalid_files_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "config_db.json"
    for text, message in (
        ('{"PORT": {', ":1:11: not JSON"),
        ("[]", "must be a JSON object of tables"),
        ('{"PORT": {\n"a": {"mtu": "1",\n"mtu": "2"}}}', ":3: PORT|a|mtu: already defined in line 2"),
        ('{"PORT":\n{"a": {\n}}}', ":2: PORT|a: speed is missing"),
        ("[" * 100_000, "cannot be read"),
        ('{"PORT": ' + "1" * 5000 + "}", "cannot be read"),
        ('{"PORT": "\\ud800"}', "cannot be read"),
        ("\udcff", "not UTF-8 text"),
    ):
        path.write_bytes(text.encode("utf-8", errors="surrogateescape"))
        check(path, code=2, error=message)
    assert "does not exist" in check(tmp_path / "none.json").output
    assert "response must be at most 10 ms" in check(SONIC / "sn5610n.json", "--response", "1 s").output
    rows = tmp_path / "rows.ini"
    for text, message in (
        ("100000 40m many 4608 49152 0\n", 'rows.ini:1: must be "speed cable size xon xoff threshold [xon_offset]"'),
        ("100000 40m 4608 4608 49152 zzz\n", "rows.ini:1: must be"),
        ("100000 40m ²0 4608 49152 0\n", "rows.ini:1: must be"),
        (
            "100000 40m 1 1 1 0\n# again\n100000 40m 1 1 1 0\n",
            "rows.ini:3: 100000 Mb/s and 40 m are already defined",
        ),
    ):
        rows.write_text(text)
        check(SONIC / "sn5610n.json", "--lookup", rows, code=2, error=message)


def test_duplicate_keys_are_errors_only_in_known_tables(tmp_path: Path) -> None:
    path = edited(tmp_path, put("PORT", "Ethernet0", "history", [{"at": 1}, {"at": 2}]))
    path.write_text(path.read_text().replace("{", '{"OTHER": {"a": "{", "a": 2},\n', 1))
    check(path, code=0)
    path.write_text(path.read_text().replace('"at": 1', '"at": 1, "at": 3'))
    assert "config_db.json:2: PORT|Ethernet0|history|0|at: already defined in line 2" in check(path).output


def test_the_formula_names_unknown_speeds_and_chips() -> None:
    with pytest.raises(ValueError, match="speed must be one of 100, 1000, 10000, 25000"):
        spectrum(Spectrum(2500, 5))
    with pytest.raises(ValueError, match="generation must be from 1 to 6"):
        spectrum(Spectrum(100_000, 5, generation=7))


def test_the_formula_for_eight_lanes_and_for_small_packets() -> None:
    # The delays are computed by hand as in SONiC's script: an MTU of 9100 B, twice 40 m of cable,
    # 0.8 KiB for MAC and PHY, and a response of 394 quanta of 64 B. A small packet of 64 B occupies
    # a cell of 192 B, three times its size.
    delays = 9100 + 2 * 40 * 100_000 * 1e9 / 198e6 / 8192 + 0.8 * 1024 + 394 * 64

    def of(share: int) -> int:
        return math.ceil((1024 + delays * (100 + 2 * share) / 100) / 1024) * 1024

    assert spectrum(Spectrum(100_000, 40)).xoff == of(100)
    assert spectrum(Spectrum(100_000, 40, small_packets=10)).xoff == of(10) == 49_152
    # With eight lanes, xon counts the pipeline of 19 KiB twice, minus 1 KiB. The size includes one
    # more frame of 9100 B. All sizes are rounded up to whole KiB.
    wide = spectrum(Spectrum(100_000, 40, small_packets=10, eight_lanes=True))
    assert (wide.xoff, wide.xon, wide.size) == (49_152, 37 * 1024, (48 + 37 + 9) * 1024)
