/** Header of a port: its name and link, and buttons to its neighbours. */

import type { Topology } from "../../data/topology";
import { duration, rate } from "../../format";
import { portsOf } from "../../layout";
import { nodeName, portName, portTitle } from "../../names";
import type { Store } from "../../state";
import { button, h, quiet } from "../../ui/dom";

export function portHead(topology: Topology, store: Store, index: number, count: HTMLElement): HTMLElement[] {
  const found = topology.ports[index];
  if (!found) return [];
  const siblings = portsOf(topology, found.node);
  const at = siblings.indexOf(index);
  const go = (to: number | undefined): void => {
    if (to !== undefined) store.jump({ port: portName(topology, to) });
  };
  const toFabric = (): void => store.jump({ view: "fabric", node: nodeName(topology, found.node) });
  return [
    h("h2", { "data-port": found.name }, portTitle(topology, index)),
    quiet(`${rate(found.rateBps)}, delay ${duration(found.delayPs)}`),
    count,
    h(
      "div",
      { class: "buttons" },
      button("‹", "previous", () => go(siblings[at - 1]), {
        disabled: at <= 0,
        "aria-label": "Previous port",
        title: "Previous port of this node",
      }),
      button("›", "next", () => go(siblings[at + 1]), {
        disabled: at >= siblings.length - 1,
        "aria-label": "Next port",
        title: "Next port of this node",
      }),
      button(`Other end: ${portName(topology, found.peerPort)}`, "other", () => go(found.peerPort), {
        title: "Open the port at the other end of the link",
      }),
      button("Show in the fabric", "in-fabric", toFabric),
    ),
  ];
}
