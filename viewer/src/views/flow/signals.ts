/** Table of the congestion signals of a flow, by kind and port. */

import type { Signal } from "../../data/model";
import { DASH, duration, instant } from "../../format";
import { fill, h } from "../../ui/dom";
import { type Row, table } from "../../ui/table";
import { type Context, portLink } from "../../ui/view";

/** Names of kinds of signals, as in `python/backwater/why/render.py`. */
const KINDS: Record<string, string> = {
  mark: "ECN mark",
  load: "telemetry",
  delay: "delay",
  notice: "notice",
};
const HEADINGS = ["<signal", "<port", "number", "waited", "share", "first", "last"];

export function writeSignals(context: Context, element: HTMLElement, signals: readonly Signal[]): void {
  const { data } = context;
  element.hidden = signals.length === 0;
  const step = Math.max(1, data.info.end / 10000);
  const rows = signals.map(({ kind, port, count, waited, share, first, last }): Row => [
    { "data-signal": kind, "data-port": data.topology.ports[port]?.name ?? "", "data-count": count },
    KINDS[kind] ?? kind,
    portLink(context, port, `signal ${kind} ${port}`),
    count.toLocaleString("en"),
    waited === null ? DASH : duration(waited),
    `${(share * 100).toFixed(1)} %`,
    instant(first, step),
    instant(last, step),
  ]);
  fill(element, h("h3", {}, "Congestion signals"), table(HEADINGS, rows, "signals"));
}
