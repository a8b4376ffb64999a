/** Names of ports, nodes, flows and queues. */

import type { Topology } from "./data/topology";
import type { Flow, Victim } from "./data/model";

export const nodeName = (topology: Topology, node: number): string => topology.nodes[node]?.name ?? `node ${node}`;
export const portName = (topology: Topology, port: number): string => topology.ports[port]?.name ?? `port ${port}`;

/** Name of a port and its peer, such as `leaf1:0 → h4`. */
export function portTitle(topology: Topology, port: number): string {
  const peer = topology.ports[port]?.peer;
  return peer === undefined ? portName(topology, port) : `${portName(topology, port)} → ${nodeName(topology, peer)}`;
}

/** A port's name without that of its node. */
export function shortName(topology: Topology, port: number): string {
  const found = topology.ports[port];
  if (!found) return "";
  const name = nodeName(topology, found.node);
  return found.name.startsWith(`${name}:`) ? found.name.slice(name.length + 1) : found.name;
}

/** Ends of a flow, such as `h1 → h2`. */
export const flowEnds = (topology: Topology, flow: Flow | Victim): string =>
  `${nodeName(topology, flow.src)} → ${nodeName(topology, flow.dst)}`;

/** Number of the flow or connection in the name of a flow (`7`) or of a message (`7.2`). */
export const flowNumber = (name: string): number => Number.parseInt(name, 10);

/** Name of a queue; queues 0 to 7 are those of the classes. */
export const queueName = (queue: number): string => (queue < 8 ? `class ${queue}` : `queue ${queue}`);
