/** Table of the congestion signals of a flow, by kind and port. */

import type { Signal } from "../../data/model";
import { DASH, duration, instant } from "../../format";
import { portTitle } from "../../names";
import { fill, h } from "../../ui/dom";
import { table } from "../../ui/table";
import type { Context } from "../../ui/view";

/** Names of kinds of signals, as in `python/backwater/why/render.py`. */
const KINDS: Record<string, string> = {
  mark: "ECN mark",
  load: "telemetry",
  delay: "delay",
  notice: "notice",
};
const HEADINGS = ["<signal", "<port", "number", "waited", "share", "first", "last"];

export function writeSignals({ data, store }: Context, element: HTMLElement, signals: readonly Signal[]): void {
  element.hidden = signals.length === 0;
  const step = Math.max(1, data.info.end / 10000);
  const rows = signals.map(({ kind, port, count, waited, share, first, last }) =>
    h(
      "tr",
      { "data-signal": kind, "data-port": data.topology.ports[port]?.name ?? "", "data-count": count },
      h("td", { class: "text" }, KINDS[kind] ?? kind),
      h(
        "td",
        { class: "text" },
        h(
          "button",
          {
            class: "link",
            "data-key": `signal ${kind} ${port}`,
            onclick: () => store.set({ view: "ports", port: data.topology.ports[port]?.name ?? null }, "jump"),
          },
          portTitle(data.topology, port),
        ),
      ),
      h("td", {}, count.toLocaleString("en")),
      h("td", {}, waited === null ? DASH : duration(waited)),
      h("td", {}, `${(share * 100).toFixed(1)} %`),
      h("td", {}, instant(first, step)),
      h("td", {}, instant(last, step)),
    ),
  );
  fill(element, h("h3", {}, "Congestion signals"), table(HEADINGS, rows));
}
