/** Tables. */

import { h } from "./dom";

/**
 * Creates a table from headings and rows. A heading with a leading `<` is that of a
 * left-aligned text column.
 */
export function table(headings: readonly string[], rows: readonly HTMLElement[], kind = ""): HTMLElement {
  const cells = headings.map((heading) =>
    h("th", { scope: "col", class: heading.startsWith("<") && "text" }, heading.replace(/^</, "")),
  );
  return h("table", { class: kind || null }, h("thead", {}, h("tr", {}, ...cells)), h("tbody", {}, ...rows));
}
