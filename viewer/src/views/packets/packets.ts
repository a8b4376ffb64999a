/** Frames on the wires of a few links, one by one. */

import { frameColour } from "../../colours";
import type { Frame } from "../../data/model";
import { PS_PER_US, count, counted, duration, instant, size } from "../../format";
import { flowName, portName, portTitle } from "../../names";
import { fill, h, notice, prose, swatch } from "../../ui/dom";
import { table } from "../../ui/table";
import { onTheme } from "../../ui/theme";
import { Bin, type Context, type View, paced, reason, rest } from "../../ui/view";
import { Ladder, classes, frameTitle } from "./ladder";
import { type Subject, type Track, alongWay, atNode } from "./tracks";

/** The range in which frames can be told apart. */
const CLOSE = 20 * PS_PER_US;
/** Most frames that are drawn. */
const MOST = 6000;
/** Rows of the table. */
const ROWS = 300;
const KINDS = ["data", "ack", "nack", "cnp", "notice"];

export function packets(context: Context): View {
  const { data, store } = context;
  const { topology, info } = data;
  const bin = new Bin();
  const head = h("div", { class: "view-head" });
  const message = h("div", {});
  const ladder = new Ladder(context);
  const legend = h("div", { class: "chart-legend" });
  const chart = h(
    "section",
    { class: "chart", "data-chart": "frames", "aria-label": "Frames" },
    h("div", { class: "chart-head" }, h("h3", {}, "Frames on the wire"), legend),
    ladder.element,
  );
  const details = h("details", { class: "steps" });
  const stack = h("div", { class: "stack" }, chart, details);
  const element = h("div", { class: "view packets-view" }, head, message, stack);

  /** What the reader asked to see, where there is a choice. */
  let wanted: Subject["kind"] | null = null;

  /** What is selected, and the links that it stands for. */
  const subjects = async (): Promise<Subject[]> => {
    const { flow, port, node } = store.state;
    const found = flow === null ? null : await data.flow(flow);
    const link = port === null ? null : topology.portByName(port);
    const place = node === null ? null : topology.nodeByName(node);
    const list: Subject[] = [];
    if (found && found.flow.path.length > 0)
      list.push({
        kind: "flow",
        label: `flow ${found.flow.id}`,
        title: `on the way of flow ${found.flow.id}, ${flowName(topology, found.flow)}`,
        lanes: alongWay(topology, found.flow.path),
      });
    if (link)
      list.push({
        kind: "link",
        label: link.name,
        title: `on the link ${portTitle(topology, link.index)}`,
        lanes: [{ port: link.index, isJoined: false }],
      });
    if (place)
      list.push({ kind: "node", label: place.name, title: `at ${place.name}`, lanes: atNode(topology, place.index) });
    return list;
  };
  const choice = (list: readonly Subject[], shown: Subject | undefined): HTMLElement | null => {
    if (list.length < 2) return null;
    const choose = (kind: Subject["kind"]): void => {
      wanted = kind;
      load();
    };
    const buttons = list.map(({ kind, label }) =>
      h(
        "button",
        {
          class: "segment",
          "data-key": kind,
          "data-subject": kind,
          "aria-pressed": String(kind === shown?.kind),
          onclick: () => choose(kind),
        },
        label,
      ),
    );
    return h("div", { class: "segments", role: "group", "aria-label": "Which links" }, ...buttons);
  };
  const load = paced(
    async (isCurrent) => {
      await rest();
      const list = await subjects();
      const shown = list.find(({ kind }) => kind === wanted) ?? list[0];
      const lanes = shown?.lanes ?? [];
      const { from, to } = store.state;
      if (!isCurrent()) return;
      fill(
        head,
        h("h2", {}, shown ? `Packets ${shown.title}` : "Packets"),
        h("span", { class: "quiet" }, duration(to - from)),
        choice(list, shown),
        h("div", { class: "buttons" }, ...actions()),
      );
      const why = refusal(lanes);
      if (why) return refuse(why);
      const ports = [...new Set(lanes.flatMap(({ port }) => [port, topology.ports[port]?.peerPort ?? port]))];
      const frames = await data.frames(ports, from, to, MOST);
      if (!isCurrent()) return;
      if (!frames) return refuse(notice("There are too many frames in this range to tell them apart.", closer()));
      fill(message, frames.length === 0 && outside(from, to));
      stack.hidden = false;
      ladder.set(lanes, frames);
      writeLegend(frames);
      writeTable(frames);
    },
    (error) => refuse(notice("The frames cannot be read.", h("p", {}, reason(error)))),
  );
  const refuse = (why: HTMLElement): void => {
    stack.hidden = true;
    fill(message, why);
  };
  const refusal = (lanes: readonly Track[]): HTMLElement | null => {
    if (!info.trace)
      return notice(
        "This run has no trace.",
        prose(
          "Set `probes.trace` in the scenario to see single frames: of all ports, or of some, for all of the run or for a part.",
        ),
      );
    if (lanes.length === 0)
      return notice("Choose a flow, a port or a node: with search, in the fabric, or among the victims.");
    return null;
  };
  const outside = (from: number, to: number): HTMLElement => {
    const [start, end] = info.trace ?? [0, 0];
    if (to >= start && from <= end)
      return notice(
        "No frame was on these wires then.",
        prose("If there should be some, the trace may not cover these ports."),
      );
    const go = (): void => store.set({ from: start, to: Math.min(end, start + CLOSE), time: start }, "jump");
    return notice(
      `The trace covers ${instant(start, 1000)} to ${instant(end, 1000)}.`,
      h("button", { "data-key": "to-trace", onclick: go }, "Go there"),
    );
  };
  const closer = (): HTMLElement => {
    const go = (): void => {
      const from = Math.max(0, Math.min(store.end - CLOSE, store.state.time - CLOSE / 2));
      store.set({ from, to: from + CLOSE }, "jump");
    };
    return h("button", { "data-key": "closer", onclick: go }, "Zoom to 20 µs here");
  };
  const actions = (): HTMLElement[] => {
    const { from, to } = store.state;
    const url = data.captureUrl(from, to);
    const zoom = to - from > CLOSE && info.trace ? [closer()] : [];
    if (url === null) return zoom;
    return [
      ...zoom,
      h(
        "a",
        {
          class: "button",
          href: url,
          download: "",
          "data-key": "capture",
          "data-capture": url,
          title: "The frames of this range, for Wireshark",
        },
        "Export this window as pcapng",
      ),
    ];
  };
  const writeLegend = (frames: readonly Frame[]): void => {
    const counts = new Map<string, number>();
    for (const { kind } of frames) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    const order = (kind: string): number => (KINDS.includes(kind) ? KINDS.indexOf(kind) : KINDS.length);
    const keys = [...counts]
      .sort((a, b) => order(a[0]) - order(b[0]))
      .map(([kind, number]) =>
        h(
          "span",
          { class: "chart-key", "data-kind": kind, "data-value": number },
          swatch(frameColour(kind)),
          kind,
          h("span", { class: "value" }, count(number)),
        ),
      );
    fill(legend, ...keys);
  };
  const writeTable = (frames: readonly Frame[]): void => {
    const step = Math.max(1, store.span / 10000);
    const rows = frames.slice(0, ROWS).map((frame) =>
      h(
        "tr",
        {
          "data-port": portName(topology, frame.port),
          "data-kind": frame.kind,
          "data-start": frame.start,
          "data-flow": frame.flow ?? "",
          "data-psn": frame.psn ?? "",
        },
        h("th", { scope: "row" }, frameTitle(frame)),
        h("td", { class: "text" }, portTitle(topology, frame.port)),
        h("td", {}, instant(frame.start, step)),
        h("td", {}, duration(frame.end - frame.start)),
        h("td", {}, frame.flow === null ? "" : String(frame.flow)),
        h("td", {}, size(frame.bytes)),
        h(
          "td",
          { class: "text" },
          [frame.isMarked ? "marked" : "", frame.pfcClasses === null ? "" : `classes ${classes(frame.pfcClasses)}`]
            .filter(Boolean)
            .join(", "),
        ),
      ),
    );
    const more = frames.length > ROWS ? `, the first ${ROWS} of them` : "";
    fill(
      details,
      h("summary", {}, `The same as a table: ${counted(frames.length, "frame")}${more}`),
      table(["<frame", "<sent by", "leaves", "takes", "flow", "bytes", "<"], rows),
    );
  };
  bin.add(
    () => ladder.destroy(),
    load.stop,
    onTheme(load),
    store.subscribe((_, changed) => {
      if (["flow", "port", "node", "from", "to"].some((key) => changed.has(key as "flow"))) load();
    }),
  );
  load();
  return { element, destroy: () => bin.empty() };
}
