/** Legend of the colours and shapes of the fabric. */

import type { Data } from "../../data/data";
import { size } from "../../format";
import { ARROW_FULL, arrowWidth } from "../../scale";
import { h } from "../../ui/dom";

export function legend(data: Data): HTMLElement {
  const ramp = h("span", { class: "ramp", "aria-hidden": "true" });
  const widths = [ARROW_FULL / 100, ARROW_FULL / 10, ARROW_FULL].map((bytes) => {
    const bar = h("span", { class: "width-bar", "aria-hidden": "true" });
    bar.style.height = `${arrowWidth(bytes)}px`;
    return h("span", { class: "width-key" }, bar, size(bytes) + (bytes === ARROW_FULL ? " and more" : ""));
  });
  const isFailing = data.topology.links.some((link) => link.down.length > 0);
  return h(
    "div",
    { class: "legend" },
    h(
      "span",
      { class: "legend-item" },
      "utilisation",
      h("span", { class: "ramp-end" }, "0 %"),
      ramp,
      h("span", { class: "ramp-end" }, "100 %"),
    ),
    h("span", { class: "legend-item" }, h("span", { class: "mark mark-idle", "aria-hidden": "true" }), "idle"),
    h(
      "span",
      { class: "legend-item" },
      h("span", { class: "mark mark-paused", "aria-hidden": "true" }),
      "paused queue",
    ),
    h(
      "span",
      { class: "legend-item" },
      h("span", { class: "mark mark-root", "aria-hidden": "true" }),
      "congestion root",
    ),
    h("span", { class: "legend-item" }, "arrow: bytes in the paused queue", ...widths),
    isFailing &&
      h("span", { class: "legend-item" }, h("span", { class: "mark mark-down", "aria-hidden": "true" }), "link down"),
    data.info.deadlock !== null &&
      h("span", { class: "legend-item" }, h("span", { class: "mark mark-cycle", "aria-hidden": "true" }), "deadlock"),
  );
}
