/** Links shown by the view of packets. */

import type { Topology } from "../../data/topology";
import { portsOf } from "../../layout";

/** Maximum number of links of a node. */
const MAX_LINKS = 24;

export interface Track {
  /** Port that sends from the upper edge to the lower one. */
  port: number;
  /** True if the track starts at the node where the track above ends. */
  isJoined: boolean;
}

/** A selected flow, link or node, and its links. */
export interface Subject {
  kind: "flow" | "link" | "node";
  label: string;
  title: string;
  tracks: Track[];
}

/** Returns the tracks of the links on a path, in order. */
export function alongPath(topology: Topology, path: readonly number[]): Track[] {
  return path.map((port, index) => {
    const before = topology.ports[path[index - 1] ?? -1];
    return { port, isJoined: before !== undefined && before.peer === topology.ports[port]?.node };
  });
}

/** Returns the tracks of the links of a node. */
export const atNode = (topology: Topology, node: number): Track[] =>
  portsOf(topology, node)
    .slice(0, MAX_LINKS)
    .map((port) => ({ port, isJoined: false }));
