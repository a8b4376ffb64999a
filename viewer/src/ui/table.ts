/** Tables. */

import { type Attributes, type Child, h } from "./dom";

/** A row: its attributes, and the content of its cells. */
export type Row = [attributes: Attributes, ...cells: (Child | Child[])[]];

/**
 * Creates a table from headings and rows. A heading with a leading `<` is that of a
 * left-aligned text column. The first cell of a row is its heading.
 */
export function table(headings: readonly string[], rows: readonly Row[], kind?: string): HTMLElement {
  const classes = headings.map((heading) => heading.startsWith("<") && "text");
  const head = headings.map((heading, i) => h("th", { scope: "col", class: classes[i] }, heading.replace(/^</, "")));
  const body = rows.map(([attributes, ...cells]) => {
    const made = cells.map((cell, i) =>
      h(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : { class: classes[i] }, ...[cell].flat()),
    );
    return h("tr", attributes, ...made);
  });
  return h("table", { class: kind }, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body));
}
