/** Legend of the colours and shapes of the fabric. */

import type { Data } from "../../data/run";
import { size } from "../../format";
import { ARROW_FULL, arrowWidth } from "../../scale";
import { type Child, h } from "../../ui/dom";

export function legend(data: Data): HTMLElement {
  const ramp = h("span", { class: "ramp", "aria-hidden": "true" });
  const widths = [ARROW_FULL / 100, ARROW_FULL / 10, ARROW_FULL].map((bytes) => {
    const bar = h("span", { class: "width-bar", "aria-hidden": "true" });
    bar.style.height = `${arrowWidth(bytes)}px`;
    return h("span", { class: "width-key" }, bar, size(bytes) + (bytes === ARROW_FULL ? " and more" : ""));
  });
  const isFailing = data.topology.links.some((link) => link.down.length > 0);
  const item = (...content: Child[]): HTMLElement => h("span", { class: "legend-item" }, ...content);
  const marked = (mark: string, label: string): HTMLElement =>
    item(h("span", { class: `mark mark-${mark}`, "aria-hidden": "true" }), label);
  const rampEnd = (text: string): HTMLElement => h("span", { class: "ramp-end" }, text);
  return h(
    "div",
    { class: "legend" },
    item("utilisation", rampEnd("0 %"), ramp, rampEnd("100 %")),
    marked("idle", "idle"),
    marked("paused", "paused queue"),
    marked("root", "congestion root"),
    item("arrow: bytes in the paused queue", ...widths),
    isFailing && marked("down", "link down"),
    data.info.deadlock !== null && marked("cycle", "deadlock"),
  );
}
