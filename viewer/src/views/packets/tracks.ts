/** Which links the view of packets shows. */

import type { Topology } from "../../data/topology";
import { portsOf } from "../../layout";

/** Links of a node or of a port's node beyond this are left out. */
const MOST = 24;

export interface Track {
  /** The port that sends downwards, from the upper line to the lower one. */
  port: number;
  /** Whether it begins where the track above it ends. */
  isJoined: boolean;
}

/** Along the way of a flow; else the link of a port; else the links of a node. */
export function tracks(topology: Topology, path: readonly number[], port: number | null, node: number | null): Track[] {
  if (path.length > 0) {
    return path.map((port, index) => {
      const before = topology.ports[path[index - 1] ?? -1];
      return { port, isJoined: before !== undefined && before.peer === topology.ports[port]?.node };
    });
  }
  if (port !== null) return [{ port, isJoined: false }];
  if (node !== null) return portsOf(topology, node).slice(0, MOST).map((port) => ({ port, isJoined: false }));
  return [];
}
