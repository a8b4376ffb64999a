/** Flows, their latency breakdown, congestion signals and senders. */

import { flowNumber } from "../names";
import type { Flow, SenderPoint, Signal, Step } from "./model";
import { at } from "./pyramid";
import { type Columns, type Row, type Table, numbers, rowAt } from "./tables";
import type { Topology } from "./topology";

/** A flow and its rows in `waits.parquet` and `signals.parquet`. */
interface Found {
  flow: Flow;
  waits: [start: number, end: number];
  signals: [start: number, end: number];
}

/** Finds a flow or message by its name. The number of a connection stands for its first message. */
export async function findFlow(table: Table, name: string): Promise<Found | null> {
  const id = flowNumber(name);
  const wanted = Number(name.split(".")[1] ?? 0);
  for (const group of table.groups) {
    if (id < (group.min["id"] ?? 0) || (group.max["id"] ?? -1) < id) continue;
    const read = await table.group(group);
    const ids = numbers(read, "id");
    for (let row = 0; row < ids.length; row++)
      if (ids[row] === id && rowAt(read, row).number("message") === wanted) return foundAt(read, row);
  }
  return null;
}

/** Returns the flows between two hosts, the slowest first; null stands for any host. */
export async function flowsBetween(
  table: Table,
  src: number | null,
  dst: number | null,
  most: number,
): Promise<Flow[]> {
  const fits: { slowdown: number; group: number; row: number }[] = [];
  for (const [number, group] of table.groups.entries()) {
    const read = await table.group(group, ["src", "dst", "slowdown"]);
    const [srcs, dsts, slowdown] = [numbers(read, "src"), numbers(read, "dst"), numbers(read, "slowdown")];
    for (let row = 0; row < srcs.length; row++) {
      const fit = (src === null || srcs[row] === src) && (dst === null || dsts[row] === dst);
      if (fit) fits.push({ slowdown: at(slowdown, row), group: number, row });
    }
  }
  fits.sort((one, other) => other.slowdown - one.slowdown);
  const flows = fits.slice(0, most).map(async ({ group, row }) => {
    const found = table.groups[group];
    return found ? foundAt(await table.group(found), row).flow : [];
  });
  return (await Promise.all(flows)).flat();
}

function foundAt(read: Columns, row: number): Found {
  const { number, known, text } = rowAt(read, row);
  const path = read["path"]?.[row];
  const message = known("message");
  const flow: Flow = {
    name: message === null ? String(number("id")) : `${number("id")}.${message}`,
    tag: text("tag") ?? "",
    role: text("role"),
    src: number("src"),
    dst: number("dst"),
    class: number("class"),
    bytes: known("bytes"),
    start: number("start"),
    finish: known("finish"),
    idealFct: known("ideal_fct"),
    slowdown: known("finish") === null ? null : known("slowdown"),
    values: Object.fromEntries(Object.keys(read).map((column) => [column, known(column)])),
    path: Array.isArray(path) ? path.map(Number) : [],
  };
  const rows = (table: string): [number, number] => {
    const start = number(`${table}_row`);
    return [start, start + number(`${table}_rows`)];
  };
  return { flow, waits: rows("waits"), signals: rows("signals") };
}

const rowsOf = (read: Columns, count: number): Row[] => Array.from({ length: count }, (_, row) => rowAt(read, row));

/** Returns the steps of the packet that completed a flow, or that its receiver waits for. */
export async function stepsOf(waits: Table, { flow, waits: [start, end] }: Found, topology: Topology): Promise<Step[]> {
  if (start === end) return [];
  const read = await waits.read(start, end);
  const rows = rowsOf(read, end - start).filter((row) => row.text("of") === "completion");
  rows.sort((one, other) => one.number("step") - other.number("step"));
  let now = flow.start;
  return rows.map(({ number, text }) => {
    const cause = text("cause_node");
    const step: Step = {
      port: topology.portAt(text("node") ?? "", number("port")),
      term: text("term") ?? "",
      cause: cause === null ? null : topology.portAt(cause, number("cause_port")),
      start: now,
      length: number("length_ps"),
    };
    now += step.length;
    return step;
  });
}

/** Returns the congestion signals of a flow by kind, the largest share first. */
export async function signalsOf(
  signals: Table,
  { signals: [start, end] }: Found,
  topology: Topology,
): Promise<Signal[]> {
  const read = await signals.read(start, end);
  const found = rowsOf(read, end - start).map(({ number, known, text }): Signal => {
    const [count, waited] = [number("count"), known("waited_ps")];
    return {
      kind: text("signal") ?? "",
      port: topology.portAt(text("node") ?? "", number("port")),
      count,
      waited,
      first: number("first_ps"),
      last: number("last_ps"),
      share: waited ?? count,
    };
  });
  const totals = new Map<string, number>();
  for (const { kind, share } of found) totals.set(kind, (totals.get(kind) ?? 0) + share);
  for (const signal of found) signal.share /= totals.get(signal.kind) ?? 1;
  return found.sort((one, other) => one.kind.localeCompare(other.kind) || other.share - one.share);
}

/** Returns the states of the sender of a flow. */
export async function senderOf(senders: Table, flow: number): Promise<SenderPoint[]> {
  const points: SenderPoint[] = [];
  for (const group of senders.groups) {
    if ((group.min["flow"] ?? 0) > flow || (group.max["flow"] ?? -1) < flow) continue;
    const read = await senders.group(group, ["flow", "time", "rate", "in_flight", "window"]);
    const flows = numbers(read, "flow");
    for (let row = 0; row < flows.length; row++) {
      if (flows[row] !== flow) continue;
      const { number, known } = rowAt(read, row);
      const [rateBps, inFlight, window] = [known("rate"), known("in_flight"), known("window")];
      points.push({ time: number("time"), rateBps, inFlight, window });
    }
  }
  return points;
}
