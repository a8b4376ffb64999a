/** View of a flow: its numbers, its sender, and the latency breakdown of its last packet. */

import type { Band, Flow, FlowDetail, Why } from "../../data/model";
import { DASH, count, duration, instant, rate, ratio, size } from "../../format";
import { flowEnds } from "../../names";
import { around } from "../../state";
import { TimeChart } from "../../ui/chart";
import { button, fact, failure, fill, h, notice, prose, quiet, reason } from "../../ui/dom";
import { onTheme, token } from "../../ui/theme";
import { type Context, type View, portLink, serialised, settle, together } from "../../ui/view";
import { chooseFlow } from "./choose";
import { senderBand } from "./sender";
import { writeSignals } from "./signals";
import { type PortPauses, SwimLanes } from "./swim";

/** Formats by the unit that a column's name implies. */
const FORMATS: Record<string, (value: number | null) => string> = { ps: duration, bytes: size, bps: rate };
const UNIT = /_(ps|bytes|bps)$/;

/** Returns the label of a column: its name in words, without the unit. */
const labelOf = (column: string): string => column.replace(UNIT, "").replaceAll("_", " ");

export function flow(context: Context): View {
  const { data, store } = context;
  const head = h("div", { class: "view-head" });
  const facts = h("dl", { class: "facts facts-row" });
  const path = h("div", { class: "path" });
  const answer = h("div", { class: "why", "aria-live": "polite", hidden: true });
  const speed = new TimeChart({ store, title: "Rate", name: "rate", height: 80, write: rate, least: 1e9 });
  const flight = new TimeChart({ store, title: "In flight", name: "window", height: 90, write: size, least: 1000 });
  const lanes = new SwimLanes(context);
  const signals = h("div", { "data-table": "signals", hidden: true });
  const missing = h("div", { class: "note-box" });
  const stack = h("div", { class: "stack" }, answer, speed.element, flight.element, lanes.element, signals, missing);
  const empty = h("div", {});
  const element = h("div", { class: "view flow-view" }, head, facts, path, empty, stack);
  const whys = new Map<string, Why>();
  let detail: FlowDetail | null = null;
  /** Flows with a pending answer. */
  const asking = new Set<string>();

  const load = serialised(
    async (isCurrent) => {
      const name = store.state.flow;
      detail = null;
      if (name !== null) detail = await data.flow(name);
      if (!isCurrent() || name !== store.state.flow) return;
      write(name);
    },
    (error) => fill(empty, failure("Cannot show this flow.", error)),
  );
  const write = (name: string | null): void => {
    stack.hidden = detail === null;
    facts.hidden = detail === null;
    path.hidden = detail === null;
    fill(empty);
    if (!detail) {
      fill(head, h("h2", {}, "Flow"));
      if (name !== null) empty.append(notice(`This run has no flow ${name}.`));
      chooseFlow(context, empty);
      return;
    }
    const { flow } = detail;
    fill(
      head,
      h(
        "h2",
        { "data-flow": flow.name },
        `Flow ${flow.name} `,
        h("span", { class: "flow-ends" }, flowEnds(data.topology, flow)),
      ),
      ...actions(flow),
    );
    fill(facts, ...numbers(flow));
    writePath(flow);
    writeLanes();
    writeSender();
    writeSignals(context, signals, detail.signals);
    writeWhy();
  };
  const actions = (flow: Flow): HTMLElement[] => {
    const end = flow.finish ?? data.info.end;
    const show = (): void => store.jump(around(flow.start, end));
    const title = "Show the time from the start to the end of the flow";
    return [
      h(
        "div",
        { class: "buttons" },
        button("Whole flow", "all-of-it", show, { title }),
        data.canAsk && button("Why?", "why", () => void ask(flow.name), { class: "primary" }),
      ),
    ];
  };
  const writePath = (flow: Flow): void => {
    if (flow.path.length === 0) return fill(path, quiet("Path unknown: switches chose it packet by packet."));
    const ports = flow.path.map((port) => portLink(context, port, `path ${port}`));
    fill(path, quiet("path"), ...ports);
  };
  const steps = (): FlowDetail["steps"] =>
    detail && detail.steps.length > 0 ? detail.steps : (whys.get(detail?.flow.name ?? "")?.steps ?? []);
  const writeLanes = (): void => {
    if (!detail) return;
    const found = steps();
    lanes.element.hidden = found.length === 0 && detail.flow.path.length === 0;
    lanes.set(found, detail.flow.path);
    loadPauses();
    const hint = data.canAsk
      ? " “Why?” finds the breakdown of this flow alone; the scenario may have to run again."
      : " `backwater why` finds the breakdown of this flow alone.";
    fill(
      missing,
      found.length === 0 &&
        prose(`This result has no latency breakdown of flows: set \`probes.flows = true\` in the scenario.${hint}`),
    );
  };
  const loadPauses = serialised(
    async (isCurrent) => {
      await settle();
      const of = detail?.flow;
      if (!of) return;
      const { from, to } = store.state;
      const bins = Math.max(50, Math.round(stack.clientWidth / 1.5));
      const pauses: PortPauses[] = [];
      // Ports are read one by one, so that a change of the range interrupts the reading.
      for (const port of lanes.ports) {
        const bars = await data.pauses(port, from, to, bins);
        if (!isCurrent() || detail?.flow.name !== of.name || from !== store.state.from || to !== store.state.to) return;
        // Queues above 7 hold single flows, possibly this one.
        pauses.push({ port, bars: bars.filter(({ queue }) => queue === of.class || queue > 7) });
        lanes.setPauses([...pauses]);
      }
    },
    () => lanes.setPauses([]),
  );
  const writeSender = (): void => {
    if (!detail) return;
    const { from, to } = store.state;
    const { sender } = detail;
    const bandOf = (field: "rateBps" | "inFlight" | "window"): Band =>
      senderBand(sender, (point) => point[field], from, to);
    const windows = bandOf("window");
    speed.element.hidden = !sender.some((point) => point.rateBps !== null);
    flight.element.hidden = !sender.some((point) => point.inFlight !== null);
    speed.set([
      { label: "sending rate", colour: () => token("hue-0"), band: bandOf("rateBps"), isFilled: true, isStepped: true },
    ]);
    const window = { label: "window", colour: () => token("hue-3"), band: windows, dash: [6, 4], isStepped: true };
    flight.set([
      { label: "in flight", colour: () => token("hue-0"), band: bandOf("inFlight"), isFilled: true, isStepped: true },
      ...(windows.times.length > 0 ? [window] : []),
    ]);
  };
  const ask = async (name: string): Promise<void> => {
    if (asking.has(name)) return;
    asking.add(name);
    writeWhy();
    try {
      whys.set(name, await data.why(name));
    } catch (error) {
      whys.set(name, { sentences: [`No answer: ${reason(error)}`], steps: [] });
    }
    asking.delete(name);
    writeWhy();
    if (detail?.flow.name === name) writeLanes();
  };
  const writeWhy = (): void => {
    const name = detail?.flow.name ?? "";
    const found = whys.get(name);
    answer.hidden = !found && !asking.has(name);
    if (asking.has(name))
      fill(
        answer,
        h(
          "p",
          { class: "waiting", role: "status", "data-why": "waiting" },
          h("span", { class: "spinner", "aria-hidden": "true" }),
          "Searching for the reasons; the scenario may have to run again …",
        ),
      );
    else if (found)
      fill(
        answer,
        h(
          "ol",
          { class: "sentences", "data-why": "answered" },
          ...found.sentences.map((sentence) => h("li", {}, sentence)),
        ),
      );
  };
  const numbers = (flow: Flow): HTMLElement[] => {
    const end = flow.finish ?? data.info.end;
    const step = Math.max(1, data.info.end / 10000);
    const items: [string, string, string, number | null][] = [
      ["size", flow.bytes === null ? "endless" : size(flow.bytes), "bytes", flow.bytes],
      ["start", instant(flow.start, step), "start", flow.start],
      [flow.finish === null ? "not complete after" : "took", duration(end - flow.start), "taken", end - flow.start],
      ["on an idle fabric", duration(flow.idealFct), "ideal", flow.idealFct],
      ["slowdown", ratio(flow.slowdown), "slowdown", flow.slowdown],
    ];
    const listed = Object.entries(data.info.flowColumns).flatMap(([column, meaning]) => {
      const value = flow.values[column] ?? null;
      const unit = UNIT.exec(column)?.[1] ?? "";
      const text = FORMATS[unit]?.(value) ?? (value === null ? DASH : count(value));
      const title = meaning?.replace(/`(\w+)`/g, (_, other: string) => `“${labelOf(other)}”`);
      return fact(labelOf(column), text, column, value, title);
    });
    return [
      ...items.flatMap((item) => fact(...item)),
      ...listed,
      ...fact("class", String(flow.class), "class", flow.class),
      h("dt", {}, "tag, role"),
      h("dd", {}, flow.role === null ? flow.tag || DASH : `${flow.tag}, ${flow.role}`),
    ];
  };
  const destroy = together(
    speed.destroy,
    flight.destroy,
    lanes.destroy,
    load.stop,
    loadPauses.stop,
    onTheme(() => lanes.mark()),
    store.subscribe((changed) => {
      if (changed.has("flow")) load();
      else if (changed.has("from") || changed.has("to")) {
        writeSender();
        loadPauses();
      }
    }),
  );
  load();
  return { element, destroy };
}
