/** List of the most delayed flows; each opens at the time of its longest wait. */

import type { PauseBar, Victim, VictimOrder } from "../data/model";
import { count, duration, instant, ratio, size } from "../format";
import { flowEnds } from "../names";
import { around } from "../state";
import { failure, fill, h, link, notice, quiet, segments } from "../ui/dom";
import { type Row, table } from "../ui/table";
import { type Context, type View, serialised, together } from "../ui/view";

/** Number of time bins in the search for the longest wait of a flow. */
const BINS = 200;
const ORDERS: [VictimOrder, string, string][] = [
  ["blocked", "Blocked longest", "Sort by time behind PAUSEs of ports that are not on the flow's path"],
  ["slowdown", "Slowest", "Sort by completion time relative to an idle fabric"],
];

export function victims(context: Context): View {
  const { data, store } = context;
  const head = h("div", { class: "view-head" });
  const body = h("div", { class: "victims-body" });
  const element = h("div", { class: "view victims-view" }, head, body);
  const load = serialised(
    async (isCurrent) => {
      const { order } = store.state;
      const found = await data.victims(order);
      if (!isCurrent() || order !== store.state.order) return;
      writeHead(found.length);
      if (found.length === 0)
        fill(
          body,
          notice(
            order === "blocked"
              ? "No flow waited behind a PAUSE of a port outside its path."
              : "No flow has an ideal completion time to compare with.",
          ),
        );
      else fill(body, list(context, found));
    },
    (error) => fill(body, failure("Cannot read the flows.", error)),
  );
  const writeHead = (shown: number): void => {
    const choose = (order: VictimOrder): void => store.jump({ order });
    fill(
      head,
      h("h2", {}, "Victims"),
      quiet(`${count(shown)} of ${count(data.info.flows)} flows`),
      segments("order", "Order", ORDERS, store.state.order, choose),
    );
  };
  const mark = (): void => {
    for (const row of body.querySelectorAll<HTMLElement>("tr[data-flow]"))
      row.toggleAttribute("data-selected", row.dataset["flow"] === store.state.flow);
  };
  writeHead(0);
  load();
  const destroy = together(load.stop, store.on(["order"], load), store.on(["flow"], mark));
  return { element, destroy };
}

function list(context: Context, found: readonly Victim[]): HTMLElement {
  const { data, store } = context;
  const step = Math.max(1, data.info.end / 1000);
  const most = {
    slowdown: Math.max(...found.map((victim) => victim.slowdown)),
    blocked: Math.max(1, ...found.map((victim) => victim.blocked)),
  };
  const rows = found.map((victim): Row => {
    const { name, bytes, start, taken, slowdown, blocked, isComplete } = victim;
    const span = h("span", { class: "when-span" });
    span.style.left = `${(start / store.end) * 100}%`;
    span.style.width = `${Math.max(1, (taken / store.end) * 100)}%`;
    return [
      {
        "data-flow": name,
        "data-slowdown": slowdown,
        "data-blocked": blocked,
        "data-selected": name === store.state.flow,
      },
      link(name, `flow ${name}`, () => void openVictim(context, victim)),
      flowEnds(data.topology, victim),
      size(bytes),
      instant(start, step),
      [duration(taken), !isComplete && h("span", { class: "tag" }, "not complete")],
      [bar(slowdown / most.slowdown), h("span", { class: "figure" }, ratio(slowdown))],
      [bar(blocked / most.blocked), h("span", { class: "figure" }, duration(blocked))],
      h("span", { class: "when-track", "aria-hidden": "true" }, span),
    ];
  });
  return table(
    ["<flow", "<from → to", "size", "start", "took", "slowdown", "blocked", "<time in the run"],
    rows,
    "victims",
  );
}

function bar(share: number): HTMLElement {
  const inner = h("span", { class: "share-fill" });
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return h("span", { class: "share", "aria-hidden": "true" }, inner);
}

/**
 * Opens a flow from start to end, with the cursor in the middle of its longest wait behind a PAUSE.
 * PAUSEs caused by ports outside the flow's path are preferred.
 */
export async function openVictim(context: Context, victim: Victim): Promise<void> {
  const { data, store } = context;
  const { name, start, taken } = victim;
  const end = Math.min(data.info.end, start + taken);
  store.jump({ view: "flow", flow: name, ...around(start, end), time: start });
  // The search may take a moment; the cursor stays if the user has moved on meanwhile.
  const { time } = store.state;
  const found = await longestWait(context, name, start, end).catch(() => null);
  if (found !== null && store.state.flow === name && store.state.time === time) store.set({ time: found });
}

/** Returns the middle of the longest wait of a flow behind a PAUSE; null if unknown. */
async function longestWait({ data, store }: Context, name: string, start: number, end: number): Promise<number | null> {
  const detail = await data.flow(name);
  if (!detail) return null;
  const path = new Set(detail.flow.path);
  const waits = detail.steps.filter((step) => step.term === "paused");
  const foreign = waits.filter((step) => step.cause !== null && !path.has(step.cause));
  const step = longest(foreign.length > 0 ? foreign : waits, (step) => step.length);
  if (!step && detail.steps.length > 0) return null;
  // Steps have only the total time per port and term. The pauses of the port show the time of the
  // wait.
  const ports = step ? [step.port] : detail.flow.path;
  const here = step ? detail.steps.filter((other) => other.port === step.port) : [];
  const from = here[0]?.start ?? start;
  const to = here.reduce((last, other) => Math.max(last, other.start + other.length), from);
  const [first, last] = step ? [from, to] : [start, end];
  const bars: PauseBar[] = [];
  for (const port of ports) {
    if (store.state.flow !== name) return null;
    bars.push(...(await data.pauses(port, first, last, BINS)));
  }
  const others = bars.filter((bar) => (step ? bar.cause === step.cause : !path.has(bar.cause)));
  const bar = longest(
    others.length > 0 ? others : bars,
    (bar) => (Math.min(last, bar.end) - Math.max(first, bar.start)) * bar.share,
  );
  if (bar) return (Math.min(last, bar.end) + Math.max(first, bar.start)) / 2;
  return step ? step.start + step.length / 2 : null;
}

function longest<T>(items: readonly T[], length: (item: T) => number): T | null {
  return items.reduce<T | null>((best, item) => (best === null || length(item) > length(best) ? item : best), null);
}
