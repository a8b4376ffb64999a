/** Which links the view of packets shows. */

import type { Topology } from "../../data/topology";
import { portsOf } from "../../layout";

/** Links of a node beyond this are left out. */
const MOST = 24;

export interface Track {
  /** The port that sends downwards, from the upper line to the lower one. */
  port: number;
  /** Whether it begins where the track above it ends. */
  isJoined: boolean;
}

/** Something selected, and its links. */
export interface Subject {
  kind: "flow" | "link" | "node";
  label: string;
  title: string;
  lanes: Track[];
}

/** The links that a flow takes, one below the other. */
export function alongWay(topology: Topology, path: readonly number[]): Track[] {
  return path.map((port, index) => {
    const before = topology.ports[path[index - 1] ?? -1];
    return { port, isJoined: before !== undefined && before.peer === topology.ports[port]?.node };
  });
}

export const atNode = (topology: Topology, node: number): Track[] =>
  portsOf(topology, node)
    .slice(0, MOST)
    .map((port) => ({ port, isJoined: false }));
