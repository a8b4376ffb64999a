/** Header of a port: its name and link, and buttons to its neighbours. */

import type { Topology } from "../../data/topology";
import { duration, rate } from "../../format";
import { portsOf } from "../../layout";
import { nodeName, portName, portTitle } from "../../names";
import type { Store } from "../../state";
import { h } from "../../ui/dom";

export function portHead(topology: Topology, store: Store, index: number, count: HTMLElement): HTMLElement[] {
  const found = topology.ports[index];
  if (!found) return [];
  const siblings = portsOf(topology, found.node);
  const at = siblings.indexOf(index);
  const go = (to: number | undefined): void => {
    if (to !== undefined) store.set({ port: portName(topology, to) }, "jump");
  };
  const toFabric = (): void => store.set({ view: "fabric", node: nodeName(topology, found.node) }, "jump");
  return [
    h("h2", { "data-port": found.name }, portTitle(topology, index)),
    h("span", { class: "quiet" }, `${rate(found.rateBps)}, delay ${duration(found.delayPs)}`),
    count,
    h(
      "div",
      { class: "buttons" },
      h(
        "button",
        {
          "data-key": "previous",
          disabled: at <= 0,
          "aria-label": "Previous port",
          title: "Previous port of this node",
          onclick: () => go(siblings[at - 1]),
        },
        "‹",
      ),
      h(
        "button",
        {
          "data-key": "next",
          disabled: at >= siblings.length - 1,
          "aria-label": "Next port",
          title: "Next port of this node",
          onclick: () => go(siblings[at + 1]),
        },
        "›",
      ),
      h(
        "button",
        { "data-key": "other", title: "Open the port at the other end of the link", onclick: () => go(found.peerPort) },
        `Other end: ${portName(topology, found.peerPort)}`,
      ),
      h("button", { "data-key": "in-fabric", onclick: toFabric }, "Show in the fabric"),
    ),
  ];
}
