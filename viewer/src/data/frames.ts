/** Frames on wires, read from the events of a trace. */

import { bisect } from "../scale";
import type { Frame } from "./model";
import { type Table, rowAt } from "./tables";
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
 * more than `most`, or if too many events would have to be read.
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
  // Maximum time between the start of a frame and `from`, if the frame is still on the wire.
  const before = Math.max(
    0,
    ...[...ports].map((port) => {
      const { delayPs, rateBps } = topology.ports[port] ?? { delayPs: 0, rateBps: Infinity };
      return delayPs + (LONGEST_FRAME * 1e12) / rateBps;
    }),
  );
  /** Returns the number of indexed events up to a time. */
  const countUpTo = (time: number): number => bisect(index.times.length, (i) => (index.times[i] ?? Infinity) <= time);
  const first = Math.max(0, countUpTo(from - before) - 1) * index.step;
  const last = Math.min(index.rows, countUpTo(to) * index.step);
  if (last - first > MAX_EVENTS) return null;
  const read = await events.read(first, last, COLUMNS);
  const frames: Frame[] = [];
  for (let row = 0; row < last - first; row++) {
    if (read["event"]?.[row] !== "sent") continue;
    const { number, known, text } = rowAt(read, row);
    const port = topology.portAt(text("node") ?? "", number("port"));
    const [start, end] = [number("time_ps"), number("until_ps")];
    if (!ports.has(port) || start >= to || end + (topology.ports[port]?.delayPs ?? 0) <= from) continue;
    if (frames.length === most) return null;
    frames.push({
      port,
      start,
      end,
      kind: text("frame") ?? "",
      class: known("class"),
      flow: known("flow"),
      psn: known("psn"),
      bytes: known("frame_bytes"),
      isMarked: read["marked"]?.[row] === true,
      pfcClasses: known("pfc_classes"),
      pfcQuanta: known("pfc_quanta"),
    });
  }
  return frames;
}
