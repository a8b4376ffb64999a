/** View of single frames on the wires of a few links. */

import { frameColour } from "../../colours";
import type { Frame } from "../../data/model";
import { PS_PER_US, count, counted, duration, instant, size } from "../../format";
import { flowEnds, portName, portTitle } from "../../names";
import { button, chartSection, failure, fill, h, legendKey, notice, prose, quiet, segments } from "../../ui/dom";
import { type Row, table } from "../../ui/table";
import { onTheme } from "../../ui/theme";
import { type Context, type View, serialised, settle, together } from "../../ui/view";
import { Ladder, classes, frameTitle } from "./ladder";
import { type Subject, type Track, alongPath, atNode } from "./tracks";

/** Length of a range in which frames are distinguishable. */
const CLOSE = 20 * PS_PER_US;
/** Maximum number of frames that are drawn. */
const MAX_FRAMES = 6000;
/** Maximum number of rows in the table. */
const MAX_ROWS = 300;
const KINDS = ["data", "ack", "nack", "cnp", "notice"];

export function packets(context: Context): View {
  const { data, store } = context;
  const { topology, info } = data;
  const head = h("div", { class: "view-head" });
  const message = h("div", {});
  const ladder = new Ladder(context);
  const legend = h("div", { class: "chart-legend" });
  const chart = chartSection("frames", "Frames", h("h3", {}, "Frames on the wire"), legend, ladder.element);
  const details = h("details", { class: "steps" });
  const stack = h("div", { class: "stack" }, chart, details);
  const element = h("div", { class: "view packets-view" }, head, message, stack);

  /** Chosen kind of subject, if several are selected. */
  let wanted: Subject["kind"] | null = null;

  /** Returns the selected flow, link and node, with their links. */
  const subjects = async (): Promise<Subject[]> => {
    const { flow, port, node } = store.state;
    const found = flow === null ? null : await data.flow(flow);
    const link = topology.portByName(port);
    const place = topology.nodeByName(node);
    const list: Subject[] = [];
    if (found && found.flow.path.length > 0)
      list.push({
        kind: "flow",
        label: `flow ${found.flow.name}`,
        title: `on the path of flow ${found.flow.name}, ${flowEnds(topology, found.flow)}`,
        tracks: alongPath(topology, found.flow.path),
      });
    if (link)
      list.push({
        kind: "link",
        label: link.name,
        title: `on the link ${portTitle(topology, link.index)}`,
        tracks: [{ port: link.index, isJoined: false }],
      });
    if (place)
      list.push({ kind: "node", label: place.name, title: `at ${place.name}`, tracks: atNode(topology, place.index) });
    return list;
  };
  const choice = (list: readonly Subject[], shown: Subject | undefined): HTMLElement | null => {
    if (list.length < 2) return null;
    const choose = (kind: Subject["kind"]): void => {
      wanted = kind;
      load();
    };
    const options = list.map(({ kind, label }) => [kind, label] as const);
    return segments("subject", "Links shown", options, shown?.kind, choose);
  };
  const load = serialised(
    async (isCurrent) => {
      await settle();
      const list = await subjects();
      const shown = list.find(({ kind }) => kind === wanted) ?? list[0];
      const tracks = shown?.tracks ?? [];
      const { from, to } = store.state;
      if (!isCurrent()) return;
      fill(
        head,
        h("h2", {}, shown ? `Packets ${shown.title}` : "Packets"),
        quiet(duration(to - from)),
        choice(list, shown),
        h("div", { class: "buttons" }, ...actions()),
      );
      const why = obstacle(tracks);
      if (why) return showMessage(why);
      const ports = [...new Set(tracks.flatMap(({ port }) => [port, topology.ports[port]?.peerPort ?? port]))];
      const frames = await data.frames(ports, from, to, MAX_FRAMES);
      if (!isCurrent()) return;
      if (!frames) return showMessage(notice("Too many frames in this range.", closer()));
      fill(message, frames.length === 0 && outside(from, to));
      stack.hidden = false;
      ladder.set(tracks, frames);
      writeLegend(frames);
      writeTable(frames);
    },
    (error) => showMessage(failure("Cannot read the frames.", error)),
  );
  const showMessage = (why: HTMLElement): void => {
    stack.hidden = true;
    fill(message, why);
  };
  const obstacle = (tracks: readonly Track[]): HTMLElement | null => {
    if (!info.trace)
      return notice(
        "This run has no trace.",
        prose(
          "To see single frames, set `probes.trace` in the scenario, for all ports or some, " +
            "and for the whole run or a part.",
        ),
      );
    if (tracks.length === 0)
      return notice("Choose a flow, a port or a node: search for it, or click it in the fabric or among the victims.");
    return null;
  };
  const outside = (from: number, to: number): HTMLElement => {
    const [start, end] = info.trace ?? [0, 0];
    if (to >= start && from <= end)
      return notice("No frames on these wires in this range.", prose("The trace may not cover these ports."));
    const go = (): void => store.jump({ from: start, to: Math.min(end, start + CLOSE), time: start });
    return notice(
      `The trace covers ${instant(start, 1000)} to ${instant(end, 1000)}.`,
      button("Go to the trace", "to-trace", go),
    );
  };
  const closer = (): HTMLElement => {
    const go = (): void => {
      const from = Math.max(0, Math.min(store.end - CLOSE, store.state.time - CLOSE / 2));
      store.jump({ from, to: from + CLOSE });
    };
    return button("Zoom to 20 µs here", "closer", go);
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
          title: "Download the frames of this range as a capture for Wireshark",
        },
        "Export this range as pcapng",
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
        legendKey(frameColour(kind), kind, count(number), { "data-kind": kind, "data-value": number }),
      );
    fill(legend, ...keys);
  };
  const writeTable = (frames: readonly Frame[]): void => {
    const step = Math.max(1, store.span / 10000);
    const rows = frames.slice(0, MAX_ROWS).map((frame): Row => {
      const { port, kind, start, end, flow, psn, bytes, isMarked, pfcClasses } = frame;
      const notes = [isMarked ? "marked" : "", pfcClasses === null ? "" : `classes ${classes(pfcClasses)}`];
      return [
        {
          "data-port": portName(topology, port),
          "data-kind": kind,
          "data-start": start,
          "data-flow": flow ?? "",
          "data-psn": psn ?? "",
        },
        frameTitle(frame),
        portTitle(topology, port),
        instant(start, step),
        duration(end - start),
        flow === null ? "" : String(flow),
        size(bytes),
        notes.filter(Boolean).join(", "),
      ];
    });
    const more = frames.length > MAX_ROWS ? `, the first ${MAX_ROWS} shown` : "";
    fill(
      details,
      h("summary", {}, `Data as a table: ${counted(frames.length, "frame")}${more}`),
      table(["<frame", "<sent by", "leaves", "takes", "flow", "bytes", "<"], rows),
    );
  };
  const destroy = together(
    ladder.destroy,
    load.stop,
    onTheme(load),
    store.on(["flow", "port", "node", "from", "to"], load),
  );
  load();
  return { element, destroy };
}
