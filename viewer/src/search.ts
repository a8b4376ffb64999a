/** Search for nodes, ports, flows and pairs of hosts. */

import type { Data } from "./data/run";
import type { Flow } from "./data/model";
import { duration, ratio, size } from "./format";
import { flowEnds, portTitle } from "./names";
import { type State, around } from "./state";

export interface Hit {
  kind: "node" | "port" | "flow";
  text: string;
  detail: string;
  /** Change of the state when the hit is chosen. */
  change: Partial<State>;
}

const MOST = 12;
const FLOWS = 8;

/** Returns nodes and ports whose name contains a text, the best match first. */
export function named({ topology }: Data, text: string): Hit[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const found: { rank: number; hit: Hit }[] = [];
  const offer = (rank: number, hit: Hit): void => void (rank >= 0 && found.push({ rank, hit }));
  const rankOf = (name: string): number => {
    const at = name.toLowerCase().indexOf(wanted);
    return at < 0 ? -1 : at === 0 ? (name.length === wanted.length ? 0 : 1) : 2;
  };
  for (const { name, kind, portCount } of topology.nodes) {
    const detail = kind === "switch" ? `switch, ${portCount} ports` : kind === "relay" ? "relaying host" : "host";
    offer(rankOf(name), { kind: "node", text: name, detail, change: { view: "fabric", node: name } });
  }
  // Names of ports contain the name of their node. Search the ports only if the text is a whole
  // name of a node, contains a colon, or matches no node.
  if (wanted.includes(":") || found.length === 0 || found.some(({ rank }) => rank === 0)) {
    for (const { name, index } of topology.ports) {
      const detail = portTitle(topology, index);
      // Ports follow nodes of the same rank.
      offer(rankOf(name) + 0.5, { kind: "port", text: name, detail, change: { view: "ports", port: name } });
    }
  }
  const order = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });
  return found
    .sort((a, b) => a.rank - b.rank || order(a.hit.text, b.hit.text))
    .slice(0, MOST)
    .map(({ hit }) => hit);
}

/** Returns the flows of a name, a host or a pair of hosts. */
export async function flows(data: Data, text: string): Promise<Hit[]> {
  const name = /^\s*(?:flow\s*)?#?(\d{1,10}(?:\.\d{1,10})?)\s*$/i.exec(text)?.[1];
  if (name !== undefined) {
    const detail = await data.flow(name);
    return detail ? [hitOf(data, detail.flow)] : [];
  }
  const { topology } = data;
  // Repeated blanks are merged first: splitting at any number of blanks would be slow.
  const pair = text
    .trim()
    .replaceAll(/\s+/g, " ")
    .split(/ ?(?:->|→) ?| /);
  if (pair.length === 2) {
    const [src, dst] = [topology.nodeByName(pair[0] ?? ""), topology.nodeByName(pair[1] ?? "")];
    const isOpen = (pair[0] === "" || src) && (pair[1] === "" || dst) && (src ?? dst);
    if (isOpen)
      return (await data.flowsBetween(src?.index ?? null, dst?.index ?? null, FLOWS)).map((flow) => hitOf(data, flow));
  }
  const host = topology.nodeByName(text.trim());
  if (!host || host.kind === "switch") return [];
  const [from, to] = await Promise.all([
    data.flowsBetween(host.index, null, FLOWS / 2),
    data.flowsBetween(null, host.index, FLOWS / 2),
  ]);
  return [...from, ...to].map((flow) => hitOf(data, flow));
}

function hitOf(data: Data, flow: Flow): Hit {
  const pace = flow.slowdown === null ? "not complete" : `${ratio(flow.slowdown)} × idle`;
  const bytes = flow.bytes === null ? "endless" : size(flow.bytes);
  const end = flow.finish ?? data.info.end;
  return {
    kind: "flow",
    text: `flow ${flow.name}`,
    detail: [flowEnds(data.topology, flow), bytes, duration(end - flow.start), pace].join(", "),
    change: { view: "flow", flow: flow.name, ...around(flow.start, end) },
  };
}
