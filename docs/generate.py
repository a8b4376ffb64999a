"""Writes generated files: the pages of the reference, and the script that draws the charts of reports.

    python docs/generate.py [--check]

`scenario.md` is made from the schema of the core, `conditions.md` from the parser of conditions, `vega.js` by
vl-convert-python. With `--check` nothing is written, and the exit code is 1 if a file is out of date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import vl_convert

from backwater import _core
from backwater.comparing.conditions import Condition, unit
from backwater.experiment.measures.selection import FlowValue
from backwater.summary import RunPath

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/reference"
BUNDLE = ROOT / "python/backwater/templates/vega.js"
HEAD = """\
# Scenario files

A scenario is a TOML file. Quantities have a unit: `"100 Gbps"`, `"2 us"`, `"16 MiB"`; 1 KB is 1000 B, 1 KiB is 1024 B.
Unknown keys are refused. `backwater explain FILE` shows every value in force, `--set KEY=VALUE` replaces one on the
command line, and `backwater schema` prints the JSON Schema from which this page is made.
"""

CONDITIONS = """\
# Conditions

What `backwater compare --fail-if CONDITION` takes; [comparing runs](../guide/compare.md#conditions) says what for.

    condition  = measure comparison limit
    measure    = [ flows ":" ] value "." statistic | [ flows ":" ] "unfinished" | path
    flows      = [ "role=" | "tag=" ] name
    comparison = "<" | "<=" | ">" | ">=" | "=" | "!="
    limit      = number [ unit ] | number "%" "of" group
    statistic  = "mean" | "min" | "max" | "sum" | "count" | "share" | "p" percentile
    group      = label | number of a column

Blanks may stand between all parts. The mean over the seeds of a group is compared, its confidence is not taken into
account. A condition with a number is checked for every group, one with a share for every group but the one that it is
a share of.

* **flows**: a [role](../guide/results.md#roles) or a tag, of which alone the measure then is. A name that is both,
  and not of the same flows, is an error: `role=` or `tag=` tells them apart.
* **unfinished**: the number of flows of the measurement window that did not finish.
* **limit**: a number without a unit is in that of the measure. Units are those of scenarios: `12 us`, `1.5 ms`,
  `20 KB`, `40 Gbps`. If a label is a number, it is the label that counts.
* **What has no value** is an error, exit code 2: flows that no run has, a percentile where no flow has finished,
  and a run that was interrupted or broke a rule.

## Values of flows

As of the [measure `flows`](../guide/experiments.md#measures) of experiments; `share` is the part of all flows,
finished or not, whose value is above 0.

| value | unit |
|---|---|
VALUES

## Paths

Numbers of [`run.json`](../guide/results.md#runjson), and `counters.NAME`, which is 0 where nobody has counted it.

| path | unit |
|---|---|
PATHS
"""

Schema = dict[str, Any]


class Reference:
    """The page, table by table, in the order of the file."""

    def __init__(self, schema: Schema) -> None:
        self._definitions: dict[str, Schema] = schema.get("$defs", {})
        self._schema = schema

    def page(self) -> str:
        """The whole page as Markdown."""
        sections = "\n".join(self._object("", self._schema, heading=False))
        return f"{HEAD}\n{sections}".rstrip() + "\n"

    def _resolved(self, node: Schema) -> Schema:
        """The node with what it refers to; its own description and default come first."""
        while "$ref" in node:
            target = self._definitions[node["$ref"].rpartition("/")[2]]
            node = target | {key: value for key, value in node.items() if key != "$ref"}
        options = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
        if "anyOf" in node and len(options) == 1:
            return self._resolved({key: value for key, value in node.items() if key != "anyOf"} | options[0])
        return node

    def _object(self, path: str, node: Schema, heading: bool = True) -> Iterator[str]:
        properties: dict[str, Schema] = {
            name: self._resolved(field) for name, field in node.get("properties", {}).items() if name != "kind"
        }
        if heading:
            yield f"## `{path}`\n"
            yield f"{_text(node.get('description', ''))}\n"
        if properties:
            yield from self._rows(properties, node.get("required", []))
        for name, field in properties.items():
            yield from self._nested(f"{path}.{name}" if path else name, field)

    def _rows(self, properties: dict[str, Schema], required: list[str]) -> Iterator[str]:
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        for name, field in properties.items():
            if name in required:
                default = "required"
            elif field.get("default") is None or self._is_table(field):
                default = ""
            else:
                default = f"`{json.dumps(field['default'], ensure_ascii=False)}`"
            yield f"| `{name}` | {self._type(field)} | {default} | {_text(field.get('description', ''))} |"
        yield ""

    def _nested(self, path: str, field: Schema) -> Iterator[str]:
        """The tables that a field holds."""
        if field.get("type") == "array" and "items" in field:
            field = self._resolved(field["items"]) | {"description": field.get("description", "")}
            path = f"{path}[]"
        for option in (self._resolved(option) for option in field.get("anyOf", [])):
            yield from self._nested(path, option)
        kinds = self._kinds(field)
        if kinds:
            yield f"## `{path}`\n"
            yield f"{_text(field.get('description', ''))} One of the following kinds.\n"
        for kind, variant in kinds.items():
            yield f'### `{path}` of `kind = "{kind}"`\n'
            yield f"{_text(variant.get('description', ''))}\n"
            yield from self._object(path, variant, heading=False)
        if not kinds and field.get("properties"):
            yield from self._object(path, field)

    def _kinds(self, field: Schema) -> dict[str, Schema]:
        variants = [self._resolved(variant) for variant in field.get("oneOf", [])]
        tagged = {variant.get("properties", {}).get("kind", {}).get("const"): variant for variant in variants}
        return {} if None in tagged else tagged

    def _is_table(self, field: Schema) -> bool:
        return bool(field.get("properties") or self._kinds(field))

    def _type(self, field: Schema) -> str:
        if self._is_table(field):
            return "table"
        constants = [option["const"] for option in [field, *field.get("oneOf", [])] if "const" in option]
        values = constants or field.get("enum", [])
        if values:
            return ", ".join(f"`{json.dumps(value)}`" for value in values if value is not None)
        if "anyOf" in field:
            return " or ".join(
                dict.fromkeys(
                    self._type(self._resolved(option)) for option in field["anyOf"] if option.get("type") != "null"
                )
            )
        names = field.get("type", "any")
        name = next((name for name in names if name != "null"), "any") if isinstance(names, list) else names
        if name == "array":
            return f"list of {self._type(self._resolved(field['items']))}" if "items" in field else "list"
        if name == "string" and field.get("format") in {"duration", "time", "bytes", "rate"}:
            return str(field["format"])
        named = {"string": "text", "object": "table"}.get(name, name)
        return named + _limits(field)


def _limits(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f", {low:g} to {high:g}"
    return f", at least {low:g}" if low is not None else ""


def _text(description: str) -> str:
    """A description on one line, in which no character ends a cell of a table."""
    return " ".join(description.split()).replace("|", "\\|").replace("[`", "`").replace("`]", "`")


def _conditions() -> str:
    """The page of conditions, with every value and path, and its unit."""

    def rows(names: Iterable[str], suffix: str = "") -> str:
        units = {name: unit(Condition.parse(f"{name}{suffix} > 1").measure) for name in names}
        return "\n".join(f"| `{name}` | {of} |" for name, of in units.items())

    values, paths = rows(get_args(FlowValue), ".mean"), rows(get_args(RunPath))
    return CONDITIONS.replace("VALUES", values).replace("PATHS", paths)


def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script for the `<script>` element of a page."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def main() -> None:
    """Writes the files, or checks them."""
    files = {
        PAGES / "scenario.md": Reference(json.loads(_core.schema())).page(),
        PAGES / "conditions.md": _conditions(),
        BUNDLE: _bundle(),
    }
    for path, content in files.items():
        if sys.argv[1:] != ["--check"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            sys.exit(f"{path} is out of date: run make docs")


if __name__ == "__main__":
    main()
