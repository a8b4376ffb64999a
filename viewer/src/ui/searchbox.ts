/** Search box with suggestions, for keyboard and pointer. */

import type { Data } from "../data/run";
import { type Hit, flows, named } from "../search";
import type { Store } from "../state";
import { fill, h } from "./dom";

export function searchbox(store: Store, runs: readonly Data[]): { element: HTMLElement; focus(): void } {
  const list = h("ul", { class: "hits", id: "hits", role: "listbox", "aria-label": "Suggestions", hidden: true });
  const input = h("input", {
    type: "search",
    placeholder: "Search host, port, flow, h2->h5",
    "aria-label": "Search hosts, switches, ports and flows",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "hits",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 200,
  });
  let hits: Hit[] = [];
  let at = 0;
  let request = 0;
  let pending = Promise.resolve();

  const show = (found: Hit[], isDone: boolean): void => {
    hits = found;
    at = Math.min(at, Math.max(0, hits.length - 1));
    const items = hits.map((hit, index) =>
      h(
        "li",
        {
          id: `hit-${index}`,
          role: "option",
          "data-kind": hit.kind,
          "aria-selected": String(index === at),
          onpointerdown: (event: PointerEvent) => event.preventDefault(),
          onclick: () => choose(hit),
        },
        h("span", { class: `kind kind-${hit.kind}` }, hit.kind),
        h("span", { class: "hit-text" }, hit.text),
        h("span", { class: "hit-detail" }, hit.detail),
      ),
    );
    const isNothing = isDone && hits.length === 0 && input.value.trim() !== "";
    fill(
      list,
      ...items,
      isNothing && h("li", { class: "quiet", role: "presentation" }, "No host, switch, port or flow matches."),
    );
    list.hidden = items.length === 0 && !isNothing;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (hits.length > 0) input.setAttribute("aria-activedescendant", `hit-${at}`);
    else input.removeAttribute("aria-activedescendant");
    list.querySelector(`#hit-${at}`)?.scrollIntoView({ block: "nearest" });
  };
  const close = (): void => {
    request++;
    hits = [];
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  };
  const choose = (hit: Hit): void => {
    input.value = "";
    close();
    input.blur();
    store.set(hit.change, "jump");
  };
  const search = async (): Promise<void> => {
    const text = input.value;
    const token = ++request;
    at = 0;
    if (text.trim() === "") return close();
    const names = unique(runs.flatMap((run) => named(run, text)));
    show(names, false);
    const found = await Promise.all(runs.map((run) => flows(run, text).catch(() => [])));
    if (token !== request) return;
    const flowHits = unique(found.flat());
    // For a number, flows precede names that contain it.
    show(/^\s*\d+\s*$/.test(text) || text.includes("->") ? [...flowHits, ...names] : [...names, ...flowHits], true);
  };
  const start = (): void => {
    pending = search();
  };
  input.addEventListener("input", start);
  input.addEventListener("focus", start);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (hits.length === 0) return;
      at = (at + (event.key === "ArrowDown" ? 1 : hits.length - 1)) % hits.length;
      show(hits, true);
    } else if (event.key === "Enter") {
      // Flows are found later than names: Enter waits for both.
      const token = request;
      void pending.then(() => {
        const hit = hits[at];
        if (hit && token === request) choose(hit);
      });
    } else if (event.key === "Escape") {
      if (input.value === "") input.blur();
      input.value = "";
      close();
    }
  });
  return {
    element: h("div", { class: "search", role: "search" }, input, list),
    focus: () => {
      input.focus();
      input.select();
    },
  };
}

/** Merges equal suggestions of two runs. */
function unique(hits: Hit[]): Hit[] {
  const seen = new Set<string>();
  return hits.filter((hit) => !seen.has(hit.text) && seen.add(hit.text));
}
