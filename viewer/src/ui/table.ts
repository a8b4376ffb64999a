/** A table of figures: headings, and rows that others made. Columns of text are to the left. */

import { h } from "./dom";

/** A heading that begins with `<` is that of a column of text. */
export function table(headings: readonly string[], rows: readonly HTMLElement[], kind = ""): HTMLElement {
  const cells = headings.map((heading) =>
    h("th", { scope: "col", class: heading.startsWith("<") && "text" }, heading.replace(/^</, "")),
  );
  return h("table", { class: kind || null }, h("thead", {}, h("tr", {}, ...cells)), h("tbody", {}, ...rows));
}
