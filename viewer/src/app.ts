/** The page: a header, one view per run, and a footer. */

import * as address from "./address";
import { Hues } from "./colours";
import type { Data } from "./data/run";
import { counted, duration } from "./format";
import { portName } from "./names";
import { type Known, Store, VIEWS, type ViewName } from "./state";
import { button, h } from "./ui/dom";
import { help } from "./ui/help";
import { bindKeys } from "./ui/keys";
import { overview } from "./ui/overview";
import { Player } from "./ui/player";
import { searchbox } from "./ui/searchbox";
import { toggle } from "./ui/theme";
import { hide } from "./ui/tooltip";
import { transport } from "./ui/transport";
import type { Context, View } from "./ui/view";
import { fabric } from "./views/fabric/fabric";
import { flow } from "./views/flow/flow";
import { packets } from "./views/packets/packets";
import { ports } from "./views/ports/ports";
import { victims } from "./views/victims";

const MAKERS: Record<ViewName, (context: Context) => View> = { fabric, ports, flow, packets, victims };
const TITLES: Record<ViewName, string> = {
  fabric: "Fabric",
  ports: "Ports",
  flow: "Flow",
  packets: "Packets",
  victims: "Victims",
};
/** Badge class by outcome; all other outcomes have `badge-bad`. */
const BADGES: Record<string, string> = { completed: "badge-good", "time-limit": "badge-late" };

export function mount(root: HTMLElement, runs: readonly Data[]): Store {
  const known: Known = {
    end: Math.max(...runs.map((run) => run.info.end)),
    hasNode: (name) => runs.some((run) => run.topology.nodeByName(name)),
    hasPort: (name) => runs.some((run) => run.topology.portByName(name)),
  };
  const store = new Store(known, address.read(location.hash));
  const player = new Player(store);
  const dialog = help();
  const search = searchbox(store, runs);
  const causes = runs.flatMap(({ info, topology }) => info.causes.map((port) => portName(topology, port)));
  const contexts = runs.map((data): Context => {
    const hues = new Hues((port) => portName(data.topology, port), causes);
    return { data, store, hues };
  });
  const isPair = runs.length > 1;
  const tabs = VIEWS.map((view, index) =>
    button(TITLES[view], `tab-${view}`, () => store.jump({ view }), {
      role: "tab",
      id: `tab-${view}`,
      "data-view": view,
      "aria-controls": "views",
      title: `${TITLES[view]} (${index + 1})`,
    }),
  );
  const panel = h("div", { id: "views", role: "tabpanel" });
  const main = h("main", { class: isPair ? "pair" : "single" }, panel);
  root.replaceChildren(
    h(
      "header",
      {},
      h("h1", { class: "brand" }, "Backwater"),
      !isPair && runs[0] ? runHead(runs[0]) : "",
      h("nav", { role: "tablist", "aria-label": "Views" }, ...tabs),
      search.element,
      icon("◐", "Switch theme", "Switch between dark and light theme (t)", toggle),
      icon("?", "Help", "Help (?)", dialog.open),
    ),
    main,
    h(
      "footer",
      {},
      transport(store, player),
      ...contexts.map((context) => overview(context, isPair ? context.data.info.name : null).element),
    ),
    dialog.element,
  );
  let shown: View[] = [];
  const show = (): void => {
    const { view } = store.state;
    for (const old of shown) old.destroy();
    hide();
    shown = contexts.map(MAKERS[view]);
    panel.replaceChildren(...shown.map(({ element }, index) => pane(element, isPair ? runs[index] : undefined)));
    panel.setAttribute("aria-labelledby", `tab-${view}`);
    main.dataset["view"] = view;
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab.dataset["view"] === view));
      tab.tabIndex = tab.dataset["view"] === view ? 0 : -1;
    }
    document.title = `${TITLES[view]} · ${runs.map((run) => run.info.name).join(" and ")} · Backwater`;
  };
  bindTabs(tabs, store);
  bindKeys(store, runs, player, { search: search.focus, help: dialog.open });
  address.bind(store);
  store.on(["view"], show);
  show();
  return store;
}

const icon = (text: string, label: string, title: string, act: () => void): HTMLElement =>
  h("button", { class: "icon", title, "aria-label": label, onclick: act }, text);

/** Selects the neighbouring tab on the arrow keys, as the ARIA tab pattern requires. */
function bindTabs(tabs: readonly HTMLElement[], store: Store): void {
  for (const tab of tabs) {
    tab.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (by === 0) return;
      event.preventDefault();
      const next = VIEWS[(VIEWS.indexOf(store.state.view) + by + VIEWS.length) % VIEWS.length] ?? "fabric";
      store.jump({ view: next });
      tabs.find((other) => other.dataset["view"] === next)?.focus();
    });
  }
}

function pane(element: HTMLElement, run: Data | undefined): HTMLElement {
  return h("div", { class: "pane" }, run && h("div", { class: "pane-head" }, runHead(run)), element);
}

function runHead({ info }: Data): HTMLElement {
  const about = `${counted(info.flows, "flow")}, ${duration(info.end)}, seed ${info.seed}, Backwater ${info.version}`;
  return h(
    "div",
    { class: "run", title: about },
    h("span", { class: "run-name" }, info.name),
    h("span", { class: `badge ${BADGES[info.outcome] ?? "badge-bad"}`, "data-outcome": info.outcome }, info.outcome),
    h("span", { class: "run-about" }, about),
  );
}
