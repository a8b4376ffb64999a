/** Tooltip beside the pointer: a title, and lines of label and value. */

import { fill, h, swatch } from "./dom";

export type Line = readonly [label: string, value: string, colour?: string];

const box = h("div", { class: "tooltip", role: "tooltip", hidden: true });
const GAP = 14;

export function show(
  event: { clientX: number; clientY: number },
  title: string,
  lines: readonly Line[],
  foot?: string,
): void {
  if (!box.isConnected) document.body.append(box);
  fill(
    box,
    h("div", { class: "tooltip-title" }, title),
    lines.length > 0 &&
      h(
        "dl",
        {},
        ...lines.flatMap(([label, value, colour]) => [
          h("dt", {}, colour !== undefined && swatch(colour), label),
          h("dd", {}, value),
        ]),
      ),
    foot !== undefined && h("div", { class: "tooltip-foot" }, foot),
  );
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = event.clientX + GAP + width > window.innerWidth ? event.clientX - GAP - width : event.clientX + GAP;
  const top = event.clientY + GAP + height > window.innerHeight ? event.clientY - GAP - height : event.clientY + GAP;
  box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

export function hide(): void {
  box.hidden = true;
}
