"""Terminal output: diagnostics, progress and tables."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from backwater import style
from backwater.errors import BackwaterError
from backwater.eta import ProgressLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from backwater import _core
    from backwater.directory import ResultDirectory
    from backwater.summary import Fact
    from backwater.views.view import View

# Width of output to a file or pipe, wide enough for all tables.
_PIPE_WIDTH: Final = 200
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class _Console(Console):
    """Console that escapes control characters in text, e.g. in hostile names."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yields the segments of a renderable, with escaped text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escaped(segment.text), segment.style)


def escaped(text: str) -> str:
    r"""Escapes control characters, except line feeds, as `\x1b`."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _console(stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    return _Console(stderr=stderr, highlight=False, width=None if stream.isatty() else _PIPE_WIDTH)


out: Final = _console(stderr=False)
err: Final = _console(stderr=True)

# Maximum number of diagnostics shown.
_MOST_SHOWN: Final = 20
_STATE_STYLES: Final = {"good": "green", "bad": "bold red", "warning": "yellow", "plain": ""}
_SEVERITY_STYLES: Final = {"error": "bold red", "warning": "bold yellow"}


class UsageError(BackwaterError):
    """Error that the user can correct, with a hint."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def message(text: str, hint: str = "", severity: str = "error") -> None:
    """Prints a message that refers to no position in a file."""
    diagnostics([{"severity": severity, "message": text, "hint": hint}])


def notes(texts: Sequence[str]) -> None:
    """Prints notes on standard error."""
    for text in texts:
        err.print(Text(f"note: {text}", "dim"), soft_wrap=True)


def diagnostics(entries: Sequence[Mapping[str, Any]]) -> None:
    """Prints diagnostics of a scenario on standard error, each with its line of the file."""
    for entry in entries[:_MOST_SHOWN]:
        err.print(_diagnostic(entry), soft_wrap=True)
    errors = sum(entry.get("severity") == "error" for entry in entries)
    if errors > 1:
        more = f"; the first {_MOST_SHOWN} are shown" if len(entries) > _MOST_SHOWN else ""
        err.print(f"{errors} errors{more}", style="bold red")


def _diagnostic(entry: Mapping[str, Any]) -> Text:
    severity = str(entry["severity"])
    subject = entry.get("path") or ""
    if subject and entry.get("value"):
        subject += f" = {entry['value']}"
    sentence = f"{subject}: {entry['message']}" if subject else str(entry["message"])
    text = Text.assemble((severity, _SEVERITY_STYLES.get(severity, "bold")), (f": {sentence}", "bold"))
    file, line, column = entry.get("file"), entry.get("line"), entry.get("column")
    if place := ":".join(str(part) for part in (file, line, column) if part):
        text.append(f"\n  --> {place}", "cyan")
    source = _source_line(file, line)
    if source is not None and line:
        gutter = " " * len(str(line))
        text.append(f"\n {gutter} │\n", "dim").append(f" {line} │ ", "dim").append(source)
        if column:
            text.append(f"\n {gutter} │ ", "dim").append(_marker(source, column), _SEVERITY_STYLES.get(severity, ""))
    if entry.get("hint"):
        text.append("\n  hint: ", "green").append(str(entry["hint"]))
    return text.append("\n")


def _source_line(file: object, line: object) -> str | None:
    if not isinstance(file, str) or not isinstance(line, int):
        return None
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()[line - 1].replace("\t", " ")
    except (OSError, UnicodeDecodeError, IndexError):
        return None


def _marker(source: str, column: int) -> str:
    """Returns carets under the token that starts at a column, counted from 1."""
    token = re.compile(r'"[^"]*"?|[^\s=,\]}]+').match(source, column - 1)
    return " " * (column - 1) + "^" * (len(token.group()) if token else 1)


def table(view: View) -> Table:
    """Renders a view as a table."""
    rendered = Table(
        title=view.title,
        title_justify="left",
        title_style="bold",
        header_style="dim",
        caption=view.note or None,
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    rendered.caption_justify = "left"
    # Text beside numbers stays on one line; a table of text only may fold.
    has_figures = view.text_columns < len(view.headers)
    for index, header in enumerate(view.headers):
        if index < view.text_columns:
            rendered.add_column(header, no_wrap=has_figures and index != view.folding, overflow="fold")
        else:
            rendered.add_column(header, justify="right", overflow="fold")
    for row in view.rows:
        rendered.add_row(*(Text(cell) for cell in row))
    return rendered


def write(path: Path, text: str, silent: bool = False) -> None:
    """Writes a file and prints its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if not silent:
        written(path)


def written(path: Path) -> None:
    """Prints the path of a written file."""
    out.print(Text(f"Written: {path}"), soft_wrap=True)


def _facts(facts: Sequence[Fact]) -> Table:
    grid = Table.grid(padding=(0, 2))
    for fact in facts:
        grid.add_row(Text(fact.label, "dim"), Text(fact.value, _STATE_STYLES[fact.state]))
    return grid


def summary(result: ResultDirectory) -> RenderableType:
    """Returns verdicts and costs, alarms, times of jobs and of flows, the main cause of PAUSE and the worst victim.

    Print it uncropped: it ends with a command for copying, which may exceed a line.
    """
    from backwater import victims  # noqa: PLC0415 - reads tables, which most commands do not
    from backwater.views import flows as views  # noqa: PLC0415 - as above
    from backwater.views import jobs as of_jobs  # noqa: PLC0415 - as above

    sides = Table.grid(padding=(0, 6))
    sides.add_row(_facts(result.summary.verdicts()), _facts(result.summary.costs()))
    alarms = [Text(alarm, "red") for alarm in result.summary.alarms()]
    jobs = of_jobs.jobs(result.jobs, result.summary.jobs)
    fct = [views.fct(result.flows), *views.fct_by_role(result.flows)]
    cause = victims.main_cause(result)
    causes = [Text(cause)] if cause else []
    if (victim := victims.worst_victim(result)) is not None:
        # The command must not be wrapped, so that it can be copied.
        command = Text(victims.command(result, victim), no_wrap=True, overflow="ignore")
        causes += [Text(victims.sentence(result, victim)), command]
    return Group(Text(result.summary.name, "bold"), sides, *alarms, *map(table, [*jobs, *fct]), *causes)


def as_json(result: ResultDirectory) -> str:
    """Returns the summary, and the times of jobs and of flows, as JSON."""
    from backwater import tables  # noqa: PLC0415 - as above
    from backwater.directory import read_summary  # noqa: PLC0415 - as above

    document = read_summary(result.directory)
    document["directory"] = str(result.directory)
    document["job_times"] = tables.job_times(result.jobs).to_dicts()
    document["fct_by_size"] = tables.fct_by_size(result.flows).to_dicts()
    document["fct_by_role"] = tables.fct_by_role(result.flows).to_dicts()
    return json.dumps(document, indent=2, ensure_ascii=False)


def _print_line(line: str | None) -> None:
    if line is not None:
        err.print(Text(line), soft_wrap=True)


def _simulated(state: _core.RunProgress) -> str:
    now = style.duration(state.time_ps)
    if not state.end_ps:
        return now
    return f"{now} of {style.duration(state.end_ps)}" if state.time_ps < state.end_ps else f"{now}, draining"


@contextmanager
def progress(
    quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[_core.RunProgress], None] | None]:
    """Shows progress of a run on standard error: a bar on a terminal, otherwise occasional lines.

    If the end of the run is unknown, the progress has no share and no remaining time.
    """
    if quiet:
        yield None
        return
    if not err.is_terminal:
        log = ProgressLog(clock)

        def write(state: _core.RunProgress) -> None:
            _print_line(log.line(f"simulated {_simulated(state)}", state.time_ps, state.end_ps))

        yield write
        return
    from rich import progress as bars  # noqa: PLC0415 - slow to import, and for terminals alone

    columns = (
        bars.SpinnerColumn(),
        bars.BarColumn(bar_width=16),
        bars.TaskProgressColumn(),
        *(bars.TextColumn(f"{{task.fields[{name}]}}") for name in ("time", "speed", "flows", "paused")),
        bars.TextColumn("ETA"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None, time="building the network", speed="", flows="", paused="")

        def show(state: _core.RunProgress) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            bar.update(
                task,
                completed=state.time_ps,
                total=state.end_ps or None,
                time=_simulated(state),
                speed=f"{style.count(state.events / elapsed)} events/s" if elapsed else "",
                flows=style.counted(state.live_flows, "live flow"),
                paused=style.counted(state.paused_ports, "paused port"),
            )

        yield show


@contextmanager
def counting(
    quiet: bool, what: str = "runs", clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int, int], None]]:
    """Shows progress of counted work. Yields a function that takes the number done and the total."""
    if quiet:
        yield lambda _done, _all: None
        return
    if not err.is_terminal:
        log = ProgressLog(clock)
        yield lambda done, total: _print_line(log.line(f"{done:,} of {total:,} {what}", done, total))
        return
    from rich import progress as bars  # noqa: PLC0415 - as above

    columns = (
        bars.SpinnerColumn(),
        bars.BarColumn(bar_width=32),
        bars.MofNCompleteColumn(),
        bars.TextColumn(what),
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
