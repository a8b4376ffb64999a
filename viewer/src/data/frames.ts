/** Frames on wires, read from the events of a trace. */

import type { Frame } from "./model";
import { type Table, numberAt, textAt } from "./tables";
import type { Topology } from "./topology";

const COLUMNS = [
  ...["time_ps", "node", "port", "event", "frame", "class", "flow", "psn", "frame_bytes", "until_ps", "marked"],
  ...["pfc_classes", "pfc_quanta"],
];
/** Maximum number of events read for one window. */
const MAX_EVENTS = 1 << 20;
/** Length of the longest frame, in bits. */
const LONGEST_FRAME = 8 * 10_000;

/** Time of every `step`-th event. */
export interface EventIndex {
  rows: number;
  step: number;
  times: number[];
  last: number;
}

/**
 * Returns the frames of some ports that are on wires between two times. Returns null if there are
 * more than `most`, or if too many events must be read.
 */
export async function framesOf(
  events: Table,
  index: EventIndex,
  topology: Topology,
  ports: Set<number>,
  from: number,
  to: number,
  most: number,
): Promise<Frame[] | null> {
  // Maximum time before `from` at which a frame that is still on the wire started.
  const before = Math.max(
    0,
    ...[...ports].map((port) => {
      const { delayPs, rateBps } = topology.ports[port] ?? { delayPs: 0, rateBps: Infinity };
      return delayPs + (LONGEST_FRAME * 1e12) / rateBps;
    }),
  );
  const first = Math.max(0, countUpTo(index.times, from - before) - 1) * index.step;
  const last = Math.min(index.rows, countUpTo(index.times, to) * index.step);
  if (last - first > MAX_EVENTS) return null;
  const read = await events.read(first, last, COLUMNS);
  const frames: Frame[] = [];
  for (let row = 0; row < last - first; row++) {
    if (textAt(read["event"], row) !== "sent") continue;
    const port = topology.portAt(textAt(read["node"], row) ?? "", numberAt(read["port"], row) ?? 0);
    const [start, end] = [numberAt(read["time_ps"], row) ?? 0, numberAt(read["until_ps"], row) ?? 0];
    if (!ports.has(port) || start >= to || end + (topology.ports[port]?.delayPs ?? 0) <= from) continue;
    if (frames.length === most) return null;
    frames.push({
      port,
      start,
      end,
      kind: textAt(read["frame"], row) ?? "",
      class: numberAt(read["class"], row),
      flow: numberAt(read["flow"], row),
      psn: numberAt(read["psn"], row),
      bytes: numberAt(read["frame_bytes"], row),
      isMarked: read["marked"]?.[row] === true,
      pfcClasses: numberAt(read["pfc_classes"], row),
      pfcQuanta: numberAt(read["pfc_quanta"], row),
    });
  }
  return frames;
}

/** Returns the number of ascending times up to `time`. */
function countUpTo(times: number[], time: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? Infinity) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
