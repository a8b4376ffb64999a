/** Panel beside the fabric: totals, a deadlock, congestion trees and ports as text. */

import type { Data } from "../../data/run";
import type { Branch, Snapshot, Tree } from "../../data/model";
import { DASH, count, counted, duration, instant, percent, size } from "../../format";
import { portsOf } from "../../layout";
import { nodeName, portName, portTitle, queueName } from "../../names";
import { button, fact, h, link, quiet, swatch } from "../../ui/dom";
import { type Row, table } from "../../ui/table";
import { type Context, portLink } from "../../ui/view";

/** Maximum number of rows in the table of ports without a selected node. */
const MAX_PORTS = 14;
/** Maximum number of listed trees, and of listed branches per tree. */
const MAX_TREES = 40;
const MAX_BRANCHES = 200;

export function panel(context: Context, snapshot: Snapshot, trees: readonly Tree[]): HTMLElement[] {
  const { data, store } = context;
  // Without the probe, the numbers are unknown.
  const isKnown = data.info.hasPauses;
  const counts = (number: number): string => (isKnown ? count(number) : DASH);
  const queued = snapshot.queued.reduce((a, b) => a + b, 0);
  const stamp =
    snapshot.sampled === null ? "no sample yet" : `sample at ${instant(snapshot.sampled, store.span / 1000)}`;
  const facts = h(
    "dl",
    { class: "facts" },
    ...fact("queued", size(queued), "queued", queued),
    ...fact("paused queues", counts(snapshot.pauses.length), "paused", isKnown ? snapshot.pauses.length : NaN),
    ...fact("congestion trees", counts(trees.length), "trees", isKnown ? trees.length : NaN),
  );
  return [
    h(
      "section",
      {},
      h("h2", {}, `At ${instant(snapshot.time, store.span / 1000)}`, h("small", { class: "aside" }, stamp)),
      facts,
    ),
    ...deadlock(context, snapshot.time),
    treeSection(context, snapshot, trees),
    ports(context, snapshot),
  ];
}

function deadlock(context: Context, time: number): HTMLElement[] {
  const { data, store } = context;
  const found = data.info.deadlock;
  if (!found) return [];
  const isOn = time >= found.onset;
  const since = instant(found.onset, store.span / 1000);
  const jump = link(since, "onset", () => store.jump({ time: found.onset }));
  const cycle = found.cycle.map(({ port, queue, bytes }) =>
    h(
      "li",
      { "data-port": portName(data.topology, port), "data-queue": queue, "data-bytes": bytes },
      shortLink(context, port),
      quiet(` ${queueName(queue)} · ${size(bytes)}`),
    ),
  );
  return [
    h(
      "section",
      { class: "deadlock", "data-deadlock": isOn ? "on" : "later" },
      h("h2", {}, swatch("var(--deadlock)"), "Deadlock"),
      h("p", {}, isOn ? "Each queue waits for the next one, since " : "The cycle closes at ", jump, "."),
      isOn && h("ol", { class: "cycle" }, ...cycle),
    ),
  ];
}

function treeSection(context: Context, snapshot: Snapshot, trees: readonly Tree[]): HTMLElement {
  const { info } = context.data;
  const items = trees.slice(0, MAX_TREES).map((tree) => treeItem(context, snapshot, tree));
  const none = info.hasPauses
    ? "No queue is paused."
    : "Pauses were not recorded. Set `probes.pauses = true` in the scenario.";
  return h(
    "section",
    { "aria-label": "Congestion trees" },
    h("h2", {}, "Congestion trees"),
    trees.length > MAX_TREES && h("p", { class: "quiet" }, `The ${MAX_TREES} largest of ${count(trees.length)}.`),
    items.length > 0 ? h("ol", { class: "trees" }, ...items) : h("p", { class: "quiet" }, none),
  );
}

function treeItem(context: Context, snapshot: Snapshot, tree: Tree): HTMLElement {
  const { data, hues } = context;
  let left = MAX_BRANCHES;
  const hidden = countOf(tree.branches) - MAX_BRANCHES;
  const branches = (list: readonly Branch[]): HTMLElement | null => {
    if (list.length === 0) return null;
    const items: HTMLElement[] = [];
    for (const branch of list) {
      if (left === 0) break;
      left--;
      items.push(branchItem(context, snapshot.time, branch, branches(branch.children)));
    }
    return h("ul", {}, ...items);
  };
  const name = portName(data.topology, tree.root);
  const peer = nodeName(data.topology, data.topology.ports[tree.root]?.peer ?? 0);
  const body = branches(tree.branches);
  return h(
    "li",
    { class: "tree", "data-root": name, "data-bytes": tree.rootBytes },
    h(
      "div",
      { class: "tree-root" },
      swatch(hues.of(tree.root)),
      shortLink(context, tree.root),
      quiet(`to ${peer}`),
      h("span", { class: "amount" }, size(tree.rootBytes)),
    ),
    body,
    hidden > 0 && h("p", { class: "quiet" }, `and ${counted(hidden, "branch")} more`),
  );
}

/** Returns the number of branches, including their descendants. */
function countOf(branches: readonly Branch[]): number {
  return branches.reduce((sum, branch) => sum + 1 + countOf(branch.children), 0);
}

function branchItem(context: Context, time: number, branch: Branch, children: HTMLElement | null): HTMLElement {
  const { pause, bytes } = branch;
  const { port, queue, start } = pause;
  const { topology } = context.data;
  const name = portName(topology, port);
  const open = (): void => context.store.jump({ view: "ports", port: name, pause: { queue, start } });
  const title = `${portTitle(topology, port)}, ${queueName(queue)}: open this pause`;
  return h(
    "li",
    { "data-port": name, "data-queue": queue, "data-bytes": bytes, "data-start": start },
    h(
      "div",
      { class: "branch" },
      link(name, `branch ${port} ${queue} ${start}`, open, title),
      quiet(queueName(queue)),
      quiet(`for ${duration(time - start)}`),
      h("span", { class: "amount" }, size(bytes)),
    ),
    children,
  );
}

/** Creates the table of the ports of the selected node, or of the ports with most bytes. */
function ports(context: Context, snapshot: Snapshot): HTMLElement {
  const { data, store, hues } = context;
  const { topology } = data;
  const node = topology.nodeByName(store.state.node);
  const shown = node ? portsOf(topology, node.index) : fullest(snapshot);
  const rows = shown.map((port): Row => {
    const pauses = snapshot.pauses.filter((pause) => pause.port === port);
    const [utilisation, bytes] = [snapshot.utilisation[port] ?? Number.NaN, snapshot.queued[port] ?? NaN];
    const causes = [...new Set(pauses.map((pause) => pause.cause))];
    return [
      {
        "data-port": portName(topology, port),
        "data-bytes": bytes,
        "data-utilisation": utilisation,
        "data-paused": pauses.length,
      },
      [shortLink(context, port), quiet(` → ${nodeName(topology, topology.ports[port]?.peer ?? 0)}`)],
      percent(utilisation),
      size(bytes),
      causes.flatMap((cause) => [swatch(hues.of(cause)), h("span", {}, portName(topology, cause))]),
    ];
  });
  const clear = node && button("all ports", "clear", () => store.jump({ node: null }), { class: "small" });
  return h(
    "section",
    { "aria-label": "Ports" },
    h("h2", {}, node ? `Ports of ${node.name}` : "Ports with most bytes", clear),
    rows.length > 0
      ? table(["<port", "use", "queued", "<paused by"], rows, "ports")
      : h("p", { class: "quiet" }, emptyText(data, snapshot)),
  );
}

/** Returns the reason why no port is listed. */
function emptyText({ info }: Data, snapshot: Snapshot): string {
  if (info.sampleInterval === 0)
    return "Queues were not sampled. Set `probes.sample_interval` above 0 in the scenario.";
  return snapshot.sampled === null ? "No sample up to this time." : "All queues are empty.";
}

function fullest({ queued }: Snapshot): number[] {
  const held = [...queued.keys()].filter((port) => (queued[port] ?? 0) > 0);
  return held.sort((a, b) => (queued[b] ?? 0) - (queued[a] ?? 0) || a - b).slice(0, MAX_PORTS);
}

const shortLink = (context: Context, port: number): HTMLElement => portLink(context, port, `port ${port}`, true);
