"""The command line."""

from __future__ import annotations

import importlib.metadata
import itertools
import json
import os
import platform
import shlex
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperGroup

from backwater import _core, analysis, console, exports, extension, hpcc, style, units, views
from backwater import simulation as simulating
from backwater.console import UsageError
from backwater.experiment import commands
from backwater.experiment.mistakes import meant
from backwater.experiment.store import StoreError
from backwater.headroom import cover, plan, sonic, worst_case
from backwater.result import REPORT_FILE, DamagedError, Result, ResultError
from backwater.scenario import ANALYZED_FLOWS, Scenario
from backwater.simulation import InUseError
from backwater.summary import EXIT_INTERNAL, EXIT_IO, EXIT_USAGE
from backwater.viewer import command as viewer

# Of whole numbers that the core is given; it has limits of its own below that.
LARGEST = 2**32 - 1
# Set to anything to see where an internal error came from.
TRACEBACK_VARIABLE = "BACKWATER_TRACEBACK"


class _Commands(TyperGroup):
    """Turns exceptions into messages and exit codes, for every command in the same way."""

    def main(self, *args: Any, **extra: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        try:
            try:
                return super().main(*args, **extra)
            finally:
                _flush()
        except _core.ScenarioError as error:
            console.diagnostics(error.diagnostics)
        except UsageError as error:
            console.message(str(error), error.hint)
        except DamagedError as error:
            console.message(str(error))
            sys.exit(EXIT_IO)
        except (InUseError, ResultError, StoreError) as error:
            console.message(str(error))
        except OSError as error:
            console.message(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
            sys.exit(EXIT_IO)
        except UnicodeDecodeError as error:
            name = next(iter(getattr(error, "__notes__", [])), "a file")
            console.message(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}")
        except Exception as error:
            _internal_error(error)
            sys.exit(EXIT_INTERNAL)
        sys.exit(EXIT_USAGE)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as the method it replaces
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Typer would make it code 1, that of an internal error.
            raise typer.Exit(EXIT_IO) from None


def _flush() -> None:
    """Writes what standard output holds: if that fails, it has to be here and not when the interpreter ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _internal_error(error: Exception) -> None:
    console.message(
        f"internal error: {type(error).__name__}: {error}",
        f"this is a bug of Backwater {_core.version()}; please report it with the command "
        f"`{shlex.join(['backwater', *sys.argv[1:]])}`, the scenario and the output of `backwater doctor` "
        f"({TRACEBACK_VARIABLE}=1 shows where it happened)",
    )
    if os.environ.get(TRACEBACK_VARIABLE):
        console.err.print("".join(traceback.format_exception(error)), markup=False)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A deterministic packet-level laboratory for lossless datacenter networks.",
)
convert = typer.Typer(no_args_is_help=True, help="Translate files of other simulators.")
app.add_typer(convert, name="convert")
headroom_app = typer.Typer(no_args_is_help=True, help="How much headroom a switch needs, and what one has.")
app.add_typer(headroom_app, name="headroom")

ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file (TOML).", show_default=False)]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Replaces run.seed.", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Replaces one value, as in network.mtu='4096 B'.", show_default=False
    ),
]
Directories = Annotated[list[Path], typer.Argument(help="Result directories.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        console.out.print(f"backwater {_core.version()}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """A deterministic packet-level laboratory for lossless datacenter networks."""


def _load(file: Path, overrides: list[str] | None, seed: int | None) -> Scenario:
    if not file.is_file():
        raise UsageError(f"there is no scenario file {file}")
    return Scenario.load(file, overrides or [], seed)


def _next_directory(name: str) -> Path:
    """Makes the first directory that is not there yet."""
    for number in itertools.count(1):
        directory = commands.RESULTS / f"{name}-{number}"
        with suppress(FileExistsError):
            directory.mkdir(parents=True)
            return directory
    raise AssertionError("numbers do not end")


@contextmanager
def _owning(output: Path, force: bool) -> Iterator[None]:
    """Lets only this run write into the directory while the block runs."""
    if output.exists() and not output.is_dir():
        raise UsageError(f"{output} is not a directory")
    with simulating.owning(output):
        if any(output.iterdir()):
            if not force:
                raise UsageError(
                    f"{output} is not empty", "choose another directory, or --force to replace an earlier result"
                )
            simulating.clear(output)
        yield


@app.command()
def run(
    file: ScenarioFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Result directory (default: results/<name>-<n>)."),
    ] = None,
    seed: Seed = None,
    overrides: Overrides = None,
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=simulating.MOST_THREADS, help="Threads; results do not depend on it.")
    ] = 1,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Neither progress nor summary; only what went wrong.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Summary as JSON on standard output.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the result of an earlier run in DIR.")] = False,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write DIR/report.html.")] = True,
    view: Annotated[bool, typer.Option("--view/--no-view", help="Make the files of the viewer, DIR/view.")] = True,
) -> None:
    """Simulate a scenario.

    Exit codes: 0 ok, 1 internal error, 2 usage or scenario error, 3 invariant broken, 4 deadlock or stall,
    5 time limit, 6 results could not be written any more, 7 a file could not be read or written, 130 interrupted (after
    6 and 130 the partial result is valid).
    """
    scenario = _load(file, overrides, seed)
    silent = quiet or as_json
    if not silent:
        console.diagnostics(scenario.warnings)
        for note in scenario.notes:
            console.err.print(Text(f"note: {note}", "dim"), soft_wrap=True)
    directory = output or _next_directory(scenario.name)
    with _owning(directory, force):
        with console.progress(silent) as progress:
            try:
                result, _ = simulating.simulate(scenario, directory, threads, progress)
            except ValueError as error:
                raise UsageError(str(error)) from error
        if as_json:
            print(console.as_json(result))  # noqa: T201 - for machines: no wrapping, no colour
        elif quiet and result.summary.exit_code:
            for alarm in result.summary.alarms() or [result.summary.ending()]:
                console.message(alarm)
        elif not quiet:
            console.out.print(console.summary(result), crop=False)
        if report:
            console.write(directory / REPORT_FILE, _report({result.summary.name: result}), silent)
        if view:
            viewer.prepare_ahead(result, silent)
    if not silent:
        if result.has_empty_trace:
            console.message("probes.trace: nothing happened to what it looks at, when it looked", severity="warning")
        console.out.print(Text(f"Result: {directory}"), soft_wrap=True)
    raise typer.Exit(result.summary.exit_code)


def _report(results: dict[str, Result]) -> str:
    from backwater import report  # noqa: PLC0415 - charts are slow to import

    return report.report(results)


@app.command()
def explain(
    file: ScenarioFile,
    seed: Seed = None,
    overrides: Overrides = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Estimate the memory of a run; simulates its beginning for 2 s.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Every value as JSON on standard output.")] = False,
) -> None:
    """Show every value in force of a scenario and where it comes from, or how much memory a run needs."""
    if memory and as_json:
        raise UsageError("--json goes without --memory")
    scenario = _load(file, overrides, seed)
    console.diagnostics(scenario.warnings)
    if as_json:
        rows = [setting._asdict() for setting in scenario.explain()]
        print(json.dumps(rows, indent=2, ensure_ascii=False))  # noqa: T201 - for machines
        return
    if memory:
        console.out.print(console.table(views.memory(scenario.name, scenario.estimate_memory())))
        return
    console.out.print(console.table(views.settings(scenario)))


@app.command()
def analyze(
    file: ScenarioFile,
    seed: Seed = None,
    overrides: Overrides = None,
    congested: Annotated[
        list[str] | None,
        typer.Option(
            "--congested",
            metavar="PORT",
            help="A congested port, as leaf3:5 or leaf3->h7; auto (the default) finds those that limit flows.",
            show_default=False,
        ),
    ] = None,
    protocols: Annotated[
        list[str] | None,
        typer.Option(
            "--protocol", metavar="NAME", help="A flow control (default: all), as pfc or bfc-128.", show_default=False
        ),
    ] = None,
    flows: Annotated[
        int, typer.Option("--flows", metavar="N", min=1, max=LARGEST, help="Most flows considered.")
    ] = ANALYZED_FLOWS,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
    own_root_rule: Annotated[
        bool,
        typer.Option(
            "--own-root-rule/--no-own-root-rule", help="Pyrrha: a switch ignores a PAUSE because of its own ports."
        ),
    ] = True,
    names: Annotated[
        bool,
        typer.Option("--names", help="In JSON: name all ports, queues and flows that each congested port can pause."),
    ] = False,
) -> None:
    """Find without a simulation which flows can be blocked, with how many queues, and whether deadlock is possible."""
    if names and not as_json:
        raise UsageError("--names shows in JSON alone", "add --json")
    scenario = _load(file, overrides, seed)
    found = scenario.analyze(congested or [], protocols or [], flows, own_root_rule, names)
    if as_json:
        print(found.to_json())  # noqa: T201 - for machines: no wrapping, no colour
        return
    console.diagnostics(scenario.warnings)
    _notes(found.notes)
    console.out.print(console.table(views.analysis(scenario.name, found)))


@app.command()
def tofino(
    k: Annotated[int, typer.Argument(min=2, max=LARGEST, help="Ports per switch.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
) -> None:
    """Compute how much memory the tables of Pyrrha take on Tofino2, in a fat-tree of switches with K ports."""
    try:
        memory = analysis.tofino_memory(k)
    except ValueError as error:
        raise UsageError(str(error)) from error
    if as_json:
        print(memory.to_json())  # noqa: T201 - for machines
        return
    console.out.print(console.table(views.tofino(memory)))


@app.command()
def why(
    directory: Annotated[Path, typer.Argument(metavar="RESULT", help="Result directory.", show_default=False)],
    flow: Annotated[
        str | None,
        typer.Argument(metavar="[FLOW]", help="Its number, or the slowest of two hosts as h2->h5.", show_default=False),
    ] = None,
    base: Annotated[
        Path, typer.Option("--base", metavar="DIR", help="Where relative paths in the scenario start.")
    ] = Path(),
    threads: Annotated[
        int, typer.Option("--threads", min=1, max=simulating.MOST_THREADS, help="Threads to run again on.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
) -> None:
    """Explain where the time of a flow went, to the picosecond; without FLOW, list the slowest and who is to blame.

    What the result does not hold is found by running its scenario again, as far as the flow went.
    """
    from backwater import victims  # noqa: PLC0415 - only here
    from backwater import why as explaining  # noqa: PLC0415
    from backwater.why import words  # noqa: PLC0415

    result = Result.load(directory)
    if flow is None:
        if as_json:
            raise UsageError("--json needs a flow")
        console.out.print(console.table(victims.table(result, victims.slowest(result))))
        return
    with console.progress(as_json) as progress:
        try:
            found = explaining.explain(result, explaining.flow_called(result, flow), threads, base, progress)
        except _core.ScenarioError as error:
            console.diagnostics(error.diagnostics)
            refusal = f"the scenario of {directory} cannot be run again"
            raise UsageError(refusal, "relative paths in it start at --base") from None
    if as_json:
        print(found.to_json())  # noqa: T201 - for machines: no wrapping, no colour
        return
    for sentence in words.sentences(found):
        console.out.print(Text(sentence))
    for view in words.tables(found):
        console.out.print(console.table(view))


def _quantity(read: Callable[[str], int]) -> Callable[[str], int]:
    """A parser of an option that is a number with a unit."""

    def parse(text: str) -> int:
        try:
            return read(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parse


@app.command()
def export(
    kind: Annotated[exports.Kind, typer.Argument(help="perfetto or pcapng.", show_default=False)],
    directory: Annotated[Path, typer.Argument(metavar="RESULT", help="Result directory.", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write (default: in RESULT).", show_default=False),
    ] = None,
    start: Annotated[
        int | None,
        typer.Option("--from", metavar="TIME", parser=_quantity(units.picoseconds), help="pcapng: from when on."),
    ] = None,
    until: Annotated[
        int | None,
        typer.Option("--until", metavar="TIME", parser=_quantity(units.picoseconds), help="pcapng: until when."),
    ] = None,
) -> None:
    """Write a result for Perfetto, or the frames that it has traced for Wireshark."""
    result = Result.load(directory)
    window = (start or 0, result.summary.simulated_ps + 1 if until is None else until)
    if kind == "perfetto" and (start, until) != (None, None):
        raise UsageError("--from and --until are for pcapng: a trace for Perfetto is always whole")
    if window[0] >= window[1]:
        raise UsageError(f"no time is from {style.duration(window[0])} on and before {style.duration(window[1])}")
    path = output or directory / exports.FILE_NAMES[kind]
    path.parent.mkdir(parents=True, exist_ok=True)
    count = exports.export(result, kind, path, window)
    console.written(path)
    if kind == "pcapng":
        _notes(
            [
                f"{count:,} frames",
                f"wireshark -X lua_script:{exports.dissector()} {path} shows frames without a standard",
            ]
        )
    else:
        _notes([f"{count:,} events; https://ui.perfetto.dev opens the file, and nothing leaves the browser"])


def _labelled(directories: list[Path]) -> dict[str, Result]:
    """The results by the shortest ends of their paths that tell them apart; a single one by its name."""
    if len(directories) == 1:
        result = Result.load(directories[0])
        return {result.summary.name: result}
    absolute = [directory.resolve() for directory in directories]
    if len(set(absolute)) < len(absolute):
        raise UsageError("the same result directory is given twice")
    parts = 1
    while len({path.parts[-parts:] for path in absolute}) < len(absolute):
        parts += 1
    return {"/".join(path.parts[-parts:]): Result.load(path) for path in absolute}


@app.command()
def report(
    directories: Directories,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="HTML file (default: report.html in the first directory)."),
    ] = None,
) -> None:
    """Write one HTML file with tables and interactive charts; it needs no network."""
    results = _labelled(directories)
    console.write(output or directories[0] / REPORT_FILE, _report(results))


@app.command()
def compare(
    directories: Directories,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also write an HTML file with charts.")
    ] = None,
) -> None:
    """Put results side by side; percentages are against the first."""
    results = _labelled(directories)
    for view in [*views.comparison(results), views.differences(results)]:
        console.out.print(console.table(view))
    if output is not None:
        from backwater.report import comparison  # noqa: PLC0415 - charts are slow to import

        console.write(output, comparison(results))


app.command("sweep")(commands.sweep)
app.command("reproduce")(commands.reproduce)


def _cable(text: str) -> int:
    return plan.delay_of(plan.metres(text))


Generation = Annotated[
    int, typer.Option("--spectrum", min=1, max=6, help="Generation of the Spectrum chip, for SONiC's formula.")
]


@headroom_app.command("plan")
def headroom_plan(
    chip: Annotated[
        str | None, typer.Option("--chip", metavar="NAME", help="Buffer, ports and rate of a chip (chips lists them).")
    ] = None,
    rate: Annotated[
        int | None, typer.Option("--rate", metavar="RATE", parser=_quantity(units.bits_per_second), help="Of a port.")
    ] = None,
    ports: Annotated[int | None, typer.Option("--ports", min=1, max=1024, help="Number of ports.")] = None,
    buffer: Annotated[
        int | None, typer.Option("--buffer", metavar="SIZE", parser=_quantity(units.size), help="Packet buffer.")
    ] = None,
    cable: Annotated[
        int | None, typer.Option("--cable", metavar="LENGTH", parser=_quantity(_cable), help="As 40m (default: 300m).")
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(
            "--delay", metavar="TIME", parser=_quantity(units.picoseconds), help="One way, instead of --cable."
        ),
    ] = None,
    mtu: Annotated[
        int, typer.Option("--mtu", metavar="SIZE", parser=_quantity(units.size), help="Of the largest frame.")
    ] = "1500 B",  # type: ignore[assignment]
    response: Annotated[
        int,
        typer.Option(
            "--response",
            metavar="TIME",
            parser=_quantity(units.picoseconds),
            help="Time that a peer takes to obey a PAUSE.",
        ),
    ] = "0 s",  # type: ignore[assignment]
    classes: Annotated[int, typer.Option("--classes", min=1, max=8, help="Number of lossless classes.")] = 7,
    private: Annotated[
        int, typer.Option("--private", metavar="SIZE", parser=_quantity(units.size), help="Of each lossless queue.")
    ] = "3000 B",  # type: ignore[assignment]
    alpha: Annotated[float, typer.Option("--alpha", min=0, max=64, help="Of the dynamic threshold.")] = 1 / 16,
    ratio: Annotated[float, typer.Option("--ratio", min=0, max=1, help="Of the oversubscribed pool.")] = 0.8,
    generation: Generation = 4,
    small_packets: Annotated[
        int,
        typer.Option("--small-packets", min=0, max=100, help="In percent of lossless traffic, for SONiC's formula."),
    ] = 100,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also draw it, as .svg.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON on standard output.")] = False,
) -> None:
    """Compute the headroom of a switch, and what SIH, DSH and others leave of its buffer.

    Without figures of its own the switch is the Tomahawk of DSH's evaluation, with cables of 300 m.
    """
    known = plan.chips()
    if chip is not None and chip not in known:
        raise UsageError(f"there is no chip {chip!r}", meant(chip, known))
    if cable is not None and delay is not None:
        raise UsageError("--cable and --delay are two ways to say the same", "give one of them")
    if output is not None and output.suffix != ".svg":
        raise UsageError(f"{output} is not .svg")
    model = known[chip or "tomahawk"]
    one_way = delay if delay is not None else cable if cable is not None else plan.delay_of(300)
    try:
        found = plan.Plan.of(
            plan.Switch(
                model.rate if rate is None else rate,
                one_way,
                mtu,
                response,
                model.ports if ports is None else ports,
                classes,
                model.buffer if buffer is None else buffer,
                private,
                alpha,
                ratio,
            )
        )
    except ValueError as error:
        raise UsageError(str(error)) from error
    sonic_xoff, sonic_says = _sonic_opinion(found.switch, generation, small_packets)
    is_model = (rate, ports, buffer) == (None, None, None)
    if as_json:
        document = {"chip": model.title if is_model else None, **asdict(found), "sonic": sonic_xoff}
        print(json.dumps(document, indent=2))  # noqa: T201 - for machines
    else:
        console.out.print(console.table(views.headroom_needs(found, sonic_says)))
        console.out.print(console.table(views.headroom_schemes(found, model.title if is_model else "This switch")))
    if output is not None:
        from backwater.headroom import picture  # noqa: PLC0415 - charts are slow to import

        console.write(output, picture.schemes(found), silent=as_json)


def _sonic_opinion(switch: plan.Switch, generation: int, small_packets: int) -> tuple[int | None, str]:
    """What SONiC's formula gives, and what is to be said of it."""
    port = plan.Spectrum(
        switch.rate // 10**6,
        switch.delay / plan.delay_of(1),
        switch.mtu,
        min(1024, switch.mtu),
        small_packets,
        generation=generation,
    )
    try:
        xoff = plan.spectrum(port).xoff
    except ValueError as error:
        return None, str(error)
    return xoff, f"{xoff:,} B"


@headroom_app.command("chips")
def headroom_chips(
    classes: Annotated[int, typer.Option("--classes", min=1, max=8, help="Number of lossless classes.")] = 8,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Also draw it, as .svg.", show_default=False)
    ] = None,
) -> None:
    """List switching chips, and what headroom takes of their buffers at 1.5 us (DSH Figure 4)."""
    if output is not None and output.suffix != ".svg":
        raise UsageError(f"{output} is not .svg")
    like = plan.Switch(10**11, units.picoseconds("1.5 us"), classes=classes)
    plans = [(chip, plan.of_chip(chip, like)) for chip in plan.chips().values()]
    console.out.print(console.table(views.chips(plans)))
    if output is not None:
        from backwater.headroom import picture  # noqa: PLC0415 - charts are slow to import

        console.write(output, picture.chips(plans))


@headroom_app.command("check")
def headroom_check(
    config: Annotated[Path, typer.Option("--sonic", metavar="FILE", help="config_db.json of a switch.")],
    lookup: Annotated[
        Path | None, typer.Option("--lookup", metavar="FILE", help="Its pg_profile_lookup.ini.", show_default=False)
    ] = None,
    response: Annotated[
        int | None,
        typer.Option(
            "--response",
            metavar="TIME",
            parser=_quantity(units.picoseconds),
            help="Time that peers take to obey a PAUSE (default: that of 3840 B of the link).",
        ),
    ] = None,
    generation: Generation = 4,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Simulate the worst case of every kind of port.")
    ] = False,
) -> None:
    """Say what a SONiC buffer configuration sets aside, and whether it covers the worst case.

    Exit codes: 0 covered, 1 not covered or internal error, 2 usage error or an invalid configuration.
    """
    for path in (config, *([lookup] if lookup else [])):
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
    try:
        read = sonic.read(config, lookup)
    except sonic.SonicError as error:
        for finding in error.findings:
            console.message(finding)
        raise typer.Exit(EXIT_USAGE) from None
    for warning in read.warnings:
        console.message(warning, severity="warning")
    for gap in read.gaps:
        console.message(gap)
    try:
        covers = cover.covers(read, response, generation)
    except ValueError as error:
        raise UsageError(str(error)) from error
    kinds = zip(covers, cover.at_once(read, covers), strict=True) if simulate else ()
    simulated = [worst_case.simulate(each.plan.switch, headroom) for each, headroom in kinds]
    console.out.print(console.table(views.headroom_cover(read, covers, simulated)))
    is_short = cover.pool_missing(read, covers) or any(each.missing for each in covers)
    is_covered = not (read.gaps or is_short or any(case.drops for case in simulated))
    raise typer.Exit(int(not is_covered))


@convert.command("hpcc")
def convert_hpcc(
    topology: Annotated[
        Path, typer.Option("--topology", metavar="T", help="topology.txt, in any of its three dialects.")
    ],
    flows: Annotated[Path, typer.Option("--flows", metavar="F", help="flow.txt")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Scenario file to write.")],
    config: Annotated[Path | None, typer.Option("--config", metavar="C", help="config.txt")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
) -> None:
    """Make a scenario of the input files of the HPCC family of simulators."""
    for path in (topology, flows, *([config] if config else [])):
        if not path.is_file():
            raise UsageError(f"there is no file {path}")
    if output.exists() and not force:
        raise UsageError(f"{output} exists", "--force replaces it")
    try:
        text, notes = _core.convert_hpcc(str(topology), str(flows), str(config) if config else None, str(output))
    except ValueError as error:
        raise UsageError(str(error)) from error
    console.write(output, text)
    _notes(notes)


@convert.command("to-hpcc")
def convert_to_hpcc(
    directory: Annotated[Path, typer.Argument(help="Result directory.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Directory for fct.txt and pfc.txt.")],
) -> None:
    """Write a result as fct.txt and pfc.txt of the HPCC family of simulators."""
    notes = hpcc.export(Result.load(directory), output)
    console.out.print(Text(f"Written: {output / 'fct.txt'}, {output / 'pfc.txt'}"), soft_wrap=True)
    _notes(notes)


def _notes(notes: Sequence[str]) -> None:
    for note in notes:
        console.err.print(Text(f"note: {note}", "dim"), soft_wrap=True)


app.command()(viewer.view)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a scenario file."""
    print(json.dumps(json.loads(_core.schema()), indent=2, ensure_ascii=False))  # noqa: T201 - for machines


@app.command()
def doctor() -> None:
    """Show versions and the build, for a bug report."""
    rows = [
        ("backwater", _core.version()),
        *sorted(_core.build_info().items()),
        ("extension", os.environ.get(extension.VARIABLE) or "none"),
        ("python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("platform", platform.platform()),
        ("cpus", str(os.cpu_count())),
        *(
            (name, importlib.metadata.version(name))
            for name in ("polars", "altair", "vl-convert-python", "rich", "typer")
        ),
        (
            "current directory",
            "writable" if os.access(".", os.W_OK) else "not writable: give run an output directory with -o",
        ),
    ]
    console.out.print(console.table(views.View("Backwater", ("", ""), rows, text_columns=2)))


def main() -> None:
    """Entry point of the command `backwater`."""
    for argument in sys.argv[1:]:
        try:
            argument.encode()
        except UnicodeEncodeError:
            console.message(f"{argument!a} is not UTF-8 text")
            sys.exit(EXIT_USAGE)
    app(prog_name="backwater")
