/** What a sender did, as bands for charts in steps: each value holds until the next one. */

import type { Band, SenderPoint } from "../../data/model";

/** More points than this in a range are drawn as minima and maxima. */
const MOST = 3000;

export function senderBand(
  points: readonly SenderPoint[],
  pick: (point: SenderPoint) => number | null,
  from: number,
  to: number,
): Band {
  const times: number[] = [];
  const values: number[] = [];
  let held: number | null = null;
  let isInside = false;
  const push = (time: number, value: number | null): void => {
    if (value === null) return;
    times.push(time);
    values.push(value);
  };
  for (const point of points) {
    const value = pick(point);
    if (point.time > to) break;
    if (value === null) continue;
    if (point.time >= from) {
      if (!isInside) push(from, held);
      isInside = true;
      push(point.time, value);
    }
    held = value;
  }
  // It holds until the last that is known of the sender.
  const last = Math.min(to, points[points.length - 1]?.time ?? -1);
  if (!isInside && last >= from) push(from, held);
  if (last >= from) push(last, held);
  return thinned(times, values, from, to);
}

/** uPlot wants times that grow: of values at the same time the last counts; where there are too many, the least and the greatest of a bin. */
function thinned(times: readonly number[], values: readonly number[], from: number, to: number): Band {
  const width = times.length > MOST ? (to - from) / (MOST / 2) : 0;
  const [outTimes, min, max]: [number[], number[], number[]] = [[], [], []];
  times.forEach((time, index) => {
    const value = values[index] ?? 0;
    const at = outTimes.length - 1;
    const last = outTimes[at];
    const isNext = last === undefined || time - last > width;
    const isBin = !isNext && width > 0;
    if (isNext) outTimes.push(time);
    const place = isNext ? at + 1 : at;
    min[place] = isBin ? Math.min(min[place] ?? value, value) : value;
    max[place] = isBin ? Math.max(max[place] ?? value, value) : value;
  });
  return { isHeld: true, times: Float64Array.from(outTimes), min: Float64Array.from(min), max: Float64Array.from(max) };
}
