/** Help dialog: keys and pointer gestures. */

import { h } from "./dom";
import { KEYS, POINTER } from "./keys";

export function help(): { element: HTMLDialogElement; open(): void } {
  const list = (rows: readonly (readonly [string, string])[]): HTMLElement =>
    h(
      "dl",
      { class: "keys" },
      ...rows.flatMap(([key, meaning]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, meaning)]),
    );
  const element: HTMLDialogElement = h(
    "dialog",
    { class: "help", "aria-label": "Help" },
    h(
      "div",
      { class: "help-head" },
      h("h2", {}, "Keys"),
      h("button", { "aria-label": "Close", onclick: () => element.close() }, "✕"),
    ),
    list(KEYS),
    h("h2", {}, "Pointer on any chart over time"),
    list(POINTER),
    h(
      "p",
      { class: "quiet" },
      "In the fabric, a drag moves the picture and the wheel zooms. " +
        "Click a link to open its port; click a node to select it. " +
        "The address bar contains the view, the time and the selection: copy the address to share what you see.",
    ),
  );
  element.addEventListener("click", (event) => {
    if (event.target === element) element.close();
  });
  return { element, open: () => (element.open ? element.close() : element.showModal()) };
}
