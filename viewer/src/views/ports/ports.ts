/**
 * View of a port over time: queues, pauses with their causes, and the ingress queues at
 * both ends of the link.
 */

import { classHue } from "../../colours";
import type { PauseBar, PortSeries } from "../../data/model";
import { percent, size } from "../../format";
import { portName, queueName } from "../../names";
import { type Line, TimeChart } from "../../ui/chart";
import { failure, fill, h, notice, prose, reason } from "../../ui/dom";
import { onTheme, token } from "../../ui/theme";
import { type Context, type View, serialised, settle, together } from "../../ui/view";
import { PauseBars, summary } from "./bars";
import { chooser } from "./chooser";
import { portHead } from "./head";
import { describe, findPause, select } from "./pause";

export function ports(context: Context): View {
  const { data, store } = context;
  const { topology, info } = data;
  const interval = info.sampleInterval;
  const head = h("div", { class: "view-head" });
  const stack = h("div", { class: "stack" });
  const detail = h("div", { class: "pause", hidden: true });
  const empty = h("div", {});
  const message = h("div", { class: "note-box" });
  const count = h("span", { class: "value", "data-readout": "pauses" });
  const element = h("div", { class: "view ports-view" }, head, empty, stack);
  /** Creates a chart of bytes. */
  const sizes = (title: string, name: string, height: number, hasAxis = false): TimeChart =>
    new TimeChart({ store, interval, title, name, height, write: size, least: 1000, hasAxis });
  const bars = new PauseBars(context, (bar) => choose(bar));
  const egress = sizes("Egress queues", "egress", 104);
  const far = sizes("Ingress queues at the other end", "far-ingress", 104);
  const ingress = sizes("Ingress queues of this port", "ingress", 104);
  const use = new TimeChart({
    store,
    interval,
    title: "Utilisation",
    name: "utilisation",
    height: 48,
    write: percent,
    least: 1,
  });
  const buffer = sizes("Buffer of the switch", "buffer", 60, true);
  const charts = [egress, far, ingress, use, buffer];
  stack.append(bars.element, detail, ...charts.map((chart) => chart.element));
  buffer.element.before(message);
  let shown: number | null | undefined;

  const port = (): number | null => topology.portByName(store.state.port)?.index ?? null;
  const choose = (bar: PauseBar): void => {
    if (bar.pause) select(context, bar.pause);
    else store.range(bar.start - (bar.end - bar.start), bar.end + (bar.end - bar.start));
  };
  /**
   * Creates a part of the view that is read when the range has settled, independently of other
   * parts.
   */
  const part = (
    read: (port: number, from: number, to: number, bins: number) => Promise<() => void>,
  ): ReturnType<typeof serialised> =>
    serialised(
      async (isCurrent) => {
        await settle();
        const index = port();
        if (index === null) return;
        const { from, to } = store.state;
        const write = await read(index, from, to, Math.max(50, Math.round(stack.clientWidth / 1.5)));
        if (isCurrent() && index === port()) write();
      },
      (error) => fill(message, failure("Cannot show this port.", error)),
    );
  const parts = [
    part(async (index, from, to, bins) => {
      const series = await data.port(index, from, to, bins);
      return () => {
        egress.set(egressLines(series));
        use.set([{ label: "sent", colour: () => token("hue-2"), band: series.utilisation, isFilled: true }]);
        ingress.element.hidden = series.ingress.size === 0;
        ingress.set(ingressLines(series));
        fill(
          message,
          info.sampleInterval === 0 &&
            prose("Queues were not sampled. Set `probes.sample_interval` above 0 in the scenario."),
        );
      };
    }),
    // Full ingress queues at the other end pause this port.
    part(async (index, from, to, bins) => {
      const peer = topology.ports[index]?.peerPort ?? index;
      const series = await data.port(peer, from, to, bins);
      return () => {
        far.rename(`Ingress queues at the other end, ${portName(topology, peer)}`);
        far.element.hidden = series.ingress.size === 0;
        far.set(ingressLines(series));
      };
    }),
    part(async (index, from, to, bins) => {
      const pauses = await data.pauses(index, from, to, bins);
      return () => {
        bars.set(pauses);
        fill(count, summary(info.hasPauses, pauses, from, to));
      };
    }),
    part(async (index, from, to, bins) => {
      const held = await data.buffer(topology.ports[index]?.node ?? 0, from, to, bins);
      return () => {
        buffer.element.hidden = held === null;
        use.showAxis(held === null);
        if (!held) return;
        buffer.set([
          { label: "in use", colour: () => token("hue-0"), band: held.used, isFilled: true },
          { label: "in headroom", colour: () => token("hue-4"), band: held.headroom },
        ]);
      };
    }),
  ];
  const load = (): void => parts.forEach((part) => part());
  const writeDetail = serialised(
    async (isCurrent) => {
      const [index, { pause }] = [port(), store.state];
      bars.mark();
      detail.hidden = index === null || pause === null;
      if (index === null || pause === null) return;
      const found = await findPause(context, index, pause.queue, pause.start);
      if (!isCurrent()) return;
      if (found) describe(context, detail, found);
      else fill(detail, h("p", { class: "quiet" }, "This port has no such pause."));
    },
    (error) => fill(detail, h("p", {}, reason(error))),
  );
  const update = (): void => {
    const index = port();
    stack.hidden = index === null;
    if (index === null) {
      fill(head, h("h2", {}, "Ports"));
      // If two runs are shown, one of them may lack the port.
      if (store.state.port !== null) fill(empty, notice(`This run has no port ${store.state.port}.`));
      else chooser(context, empty);
    } else if (index !== shown) {
      fill(empty);
      fill(count);
      bars.clear();
      // Removes the values of the previous port.
      for (const chart of charts) chart.set([]);
      fill(head, ...portHead(topology, store, index, count));
    }
    shown = index;
    load();
    writeDetail();
  };
  const destroy = together(
    ...[...charts, bars].map((part) => part.destroy),
    ...parts.map((part) => part.stop),
    writeDetail.stop,
    onTheme(writeDetail),
    store.subscribe((changed) => {
      if (changed.has("port") || changed.has("pause")) update();
      else if (changed.has("from") || changed.has("to")) load();
      if (store.state.port === null && changed.has("time")) chooser(context, empty);
    }),
  );
  update();
  return { element, destroy };
}

function egressLines({ egress, total }: PortSeries): Line[] {
  const queues = [...egress].sort((a, b) => a[0] - b[0]);
  const lines: Line[] = queues.map(([queue, band]) => ({
    label: queueName(queue),
    colour: () => classHue(queue),
    band,
    isFilled: queues.length === 1,
  }));
  return queues.length === 1 ? lines : [{ label: "all queues", colour: () => token("ink"), band: total }, ...lines];
}

function ingressLines({ ingress }: PortSeries): Line[] {
  const classes = [...ingress].sort((a, b) => a[0] - b[0]);
  const isOne = classes.length === 1;
  return classes.flatMap(([index, { bytes, threshold, headroom }]): Line[] => {
    const of = isOne ? "" : `${queueName(index)} `;
    return [
      { label: queueName(index), colour: () => classHue(index), band: bytes, isFilled: isOne },
      {
        label: `${of}full at`,
        colour: () => (isOne ? token("paused") : classHue(index)),
        band: threshold,
        dash: [6, 4],
      },
      { label: `${of}headroom in use`, colour: () => token("hue-4"), band: headroom },
    ];
  });
}
