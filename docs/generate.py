"""Writes generated files: the pages of the reference, and the script that draws charts in reports.

    python docs/generate.py [--check]

| file | source |
|---|---|
| `scenario.md` | the core's JSON Schema |
| `measures.md`, `charts.md` | the classes of measures and charts |
| `conditions.md` | the parser of conditions |
| `tables.md` | the core's definitions of tables |
| `vega.js` | vl-convert-python |

With `--check`, writes nothing and exits with code 1 if a file is out of date.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import vl_convert

from backwater import _core
from backwater.compare.conditions import JOB_NAMES, Condition, unit
from backwater.experiment.fields import Table
from backwater.experiment.format.charts import CHARTS
from backwater.experiment.measures.flows import FLOW_VALUES
from backwater.experiment.measures.registry import MEASURES
from backwater.summary import RUN_PATHS

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs/reference"
BUNDLE = ROOT / "python/backwater/templates/vega.js"
HEAD = """\
# Scenario files

A scenario is a TOML file. Quantities have a unit: `"100 Gbps"`, `"2 us"`, `"16 MiB"`. 1 KB is
1000 B, 1 KiB is 1024 B. Unknown keys are errors. `backwater explain FILE` shows every effective
value, `--set KEY=VALUE` replaces one on the command line, and `backwater schema` prints the JSON
Schema.
"""

MEASURES_HEAD = """\
# Measures

The table `[measures]` of an [experiment file](../guide/experiments.md#measures) defines numbers
computed from one run. Lists with one entry need no brackets.

| `kind` | measure |
|---|---|
"""

CHARTS_HEAD = """\
# Charts

An entry of `[[charts]]` in an [experiment file](../guide/experiments.md#charts) becomes an SVG
file. Lists with one entry need no brackets.

| `kind` | chart |
|---|---|
"""

CONDITIONS = """\
# Conditions

Syntax of `backwater compare --fail-if CONDITION`. [Comparing
runs](../guide/compare.md#conditions) has examples.

    condition  = measure comparison limit
    measure    = [ flows ":" ] value "." statistic | [ flows ":" ] "unfinished" | path
               | "job:" name ":" value "." statistic | "job:" name ":unfinished"
    flows      = [ "role=" | "tag=" ] name
    comparison = "<" | "<=" | ">" | ">=" | "=" | "!="
    limit      = number [ unit ] | number "%" "of" group
    statistic  = "mean" | "min" | "max" | "sum" | "count" | "share" | "p" percentile
    group      = label | number of a column

Blanks between the parts are ignored. A condition compares the mean over a group's seeds, without
its confidence interval. A condition with a number is checked for every group. A condition with a
percentage is checked for every group but the named one.

* **flows**: a [role](../guide/results.md#roles) or a tag that selects the flows. If a name is the
  role of some flows and the tag of others, it needs `role=` or `tag=`.
* **unfinished**: the number of flows of the measurement window that did not finish, or the number
  of iterations that some ranks of a job have not ended.
* **job**: the tag of a [job](../guide/results.md#jobsparquet).
* **limit**: a number without a unit is in the measure's unit. Units are those of scenarios:
  `12 us`, `1.5 ms`, `20 KB`, `40 Gbps`; and `40 GB/s`. If a label is a number, it precedes the
  number of a column.
* **Missing values** are errors, exit code 2: no run has such flows or such a job, no flow or
  measured iteration has finished (for a percentile), or a run was interrupted or violated an
  invariant.

## Values of flows

These are the values of the [measure `flows`](measures.md#flows). `share` is the fraction of all
selected flows, finished or not, whose value is above 0.

| value | unit |
|---|---|
VALUES

## Values of jobs

These are the values of the [measure `job`](measures.md#job), with `_` in place of `-`. The
statistic `share` does not apply to them.

| value | unit |
|---|---|
JOBS

## Paths

These are numbers of [`run.json`](../guide/results.md#runjson). `counters.NAME` is 0 if no
mechanism has counted it.

| path | unit |
|---|---|
PATHS
"""

TABLES_HEAD = """\
# Tables

A run writes these tables as Parquet files into its [result directory](../guide/results.md).

| table | contents |
|---|---|
"""

Schema = dict[str, Any]


class Reference:
    """A reference page with a table of keys for each table of a schema."""

    def __init__(self, schema: Schema) -> None:
        self._definitions: dict[str, Schema] = schema.get("$defs", {})
        self._schema = schema

    def page(self) -> str:
        """Returns the whole page as Markdown."""
        sections = "\n".join(self._object("", self._schema, heading=False))
        return f"{HEAD}\n{sections}".rstrip() + "\n"

    def resolved(self, node: Schema) -> Schema:
        """Returns a node with its reference resolved; its own description and default take precedence."""
        while "$ref" in node:
            target = self._definitions[node["$ref"].rpartition("/")[2]]
            node = target | {key: value for key, value in node.items() if key != "$ref"}
        options = [option for option in node.get("anyOf", []) if option.get("type") != "null"]
        if "anyOf" in node and len(options) == 1:
            return self.resolved({key: value for key, value in node.items() if key != "anyOf"} | options[0])
        return node

    def _object(self, path: str, node: Schema, heading: bool = True) -> Iterator[str]:
        properties: dict[str, Schema] = {
            name: self.resolved(field) for name, field in node.get("properties", {}).items() if name != "kind"
        }
        if heading:
            yield f"## `{path}`\n"
            yield _paragraph(node.get("description", ""))
        if properties:
            yield from self.rows(properties, node.get("required", []))
        for name, field in properties.items():
            yield from self._nested(f"{path}.{name}" if path else name, field)

    def rows(self, properties: dict[str, Schema], required: list[str]) -> Iterator[str]:
        """Yields a table with a row per key."""
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
        """Yields the tables within a field."""
        if field.get("type") == "array" and "items" in field:
            field = self.resolved(field["items"]) | {"description": field.get("description", "")}
            path = f"{path}[]"
        for option in (self.resolved(option) for option in field.get("anyOf", [])):
            yield from self._nested(path, option)
        kinds = self._kinds(field)
        if kinds:
            yield f"## `{path}`\n"
            yield _paragraph(f"{field.get('description', '')} One of the following kinds.")
        for kind, variant in kinds.items():
            yield f'### `{path}` of `kind = "{kind}"`\n'
            yield _paragraph(variant.get("description", ""))
            yield from self._object(path, variant, heading=False)
        if not kinds and field.get("properties"):
            yield from self._object(path, field)

    def _kinds(self, field: Schema) -> dict[str, Schema]:
        variants = [self.resolved(variant) for variant in field.get("oneOf", [])]
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
                    self._type(self.resolved(option)) for option in field["anyOf"] if option.get("type") != "null"
                )
            )
        names = field.get("type", "any")
        name = next((name for name in names if name != "null"), "any") if isinstance(names, list) else names
        if name == "array":
            return f"list of {self._type(self.resolved(field['items']))}" if "items" in field else "list"
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
    """Returns a description on one line, escaped for a table cell."""
    return " ".join(description.split()).replace("|", "\\|").replace("[`", "`").replace("`]", "`")


def _paragraph(description: str) -> str:
    """Returns a description as a paragraph, wrapped at 100 columns."""
    return textwrap.fill(_text(description), 100, break_long_words=False, break_on_hyphens=False) + "\n"


def _conditions() -> str:
    """Returns the page of conditions, with the unit of every value and path."""

    def rows(names: Iterable[str], suffix: str = "", prefix: str = "") -> str:
        units = {name: unit(Condition.parse(f"{prefix}{name}{suffix} > 1").measure) for name in names}
        return "\n".join(f"| `{name}` | {of} |" for name, of in units.items())

    values, jobs, paths = rows(FLOW_VALUES, ".mean"), rows(JOB_NAMES, ".mean", "job:a:"), rows(RUN_PATHS)
    return CONDITIONS.replace("VALUES", values).replace("JOBS", jobs).replace("PATHS", paths)


# Keys that many kinds share; they follow all others.
_SHARED = ("title", "where", "series", "facet", "log", "from", "to", "stat")


def _kinds(head: str, models: Mapping[str, type[Table]]) -> str:
    """Returns a page of models by `kind`: an index, and the keys of each kind."""
    index, sections = "", ""
    for kind, model in sorted(models.items()):
        schema = model.model_json_schema()
        about, fields = _docs(model)
        known = {name: field for name, field in schema["properties"].items() if name != "kind"}
        ordered = sorted(known, key=lambda name: (name in _SHARED, name not in model.__annotations__))
        keys = {name: Reference(schema).resolved(known[name]) | {"description": fields[name]} for name in ordered}
        index += f"| [`{kind}`](#{kind}) | {about.splitlines()[0].removesuffix('.')} |\n"
        table = "\n".join(Reference(schema).rows(keys, schema["required"])) if keys else ""
        text = "\n\n".join(textwrap.fill(paragraph, 100) for paragraph in about.split("\n\n"))
        sections += f"\n## `{kind}`\n\n{text}\n\n{table}"
    return f"{head}{index}{sections}".rstrip() + "\n"


def _tables() -> str:
    """Returns the page of tables: an index, and the columns of each table."""
    index, sections = "", ""
    for table in json.loads(_core.table_definitions()):
        index += f"| [`{table['name']}`](#{table['name']}) | {_text(table['meaning'])} |\n"
        sections += f"\n## `{table['name']}`\n\n{textwrap.fill(table['meaning'], 100)}\n\n"
        sections += "| column | type | unit | meaning |\n|---|---|---|---|\n"
        for column in table["columns"]:
            of = column["type"] + (" or null" if column["optional"] else "")
            sections += f"| `{column['name']}` | {of} | {column['unit'] or ''} | {_text(column['meaning'])} |\n"
    return f"{TABLES_HEAD}{index}{sections}"


def _docs(model: type[Table]) -> tuple[str, dict[str, str]]:
    """Returns a model's description, and the descriptions of its keys, including inherited keys."""
    about, fields = "", dict[str, str]()
    for base in reversed(model.__mro__):
        if issubclass(base, Table):
            about, _, attributes = inspect.cleandoc(base.__doc__ or "").partition("\n\nAttributes:\n")
            found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", attributes, re.MULTILINE)
            known = base.model_fields
            fields |= {known[name].alias or name: text for name, text in found if name in known}
    return about, fields


def _bundle() -> str:
    """Returns Vega, Vega-Lite and Vega-Embed as one script for a page's `<script>` element."""
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return script.replace("</script", "<\\/script")


def main() -> None:
    """Writes the files, or checks them."""
    files = {
        PAGES / "scenario.md": Reference(json.loads(_core.schema())).page(),
        PAGES / "measures.md": _kinds(MEASURES_HEAD, MEASURES),
        PAGES / "charts.md": _kinds(CHARTS_HEAD, CHARTS),
        PAGES / "conditions.md": _conditions(),
        PAGES / "tables.md": _tables(),
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
