/** States of a sender as bands for step charts: each value holds until the next one. */

import type { Band, SenderPoint } from "../../data/model";

/** Maximum number of points in a range that are drawn one by one; more are binned. */
const MAX_POINTS = 3000;

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
  // The last value holds until the last known state of the sender.
  const last = Math.min(to, points[points.length - 1]?.time ?? -1);
  if (!isInside && last >= from) push(from, held);
  if (last >= from) push(last, held);
  return thinned(times, values, from, to);
}

/**
 * Makes times strictly increasing, as uPlot requires: of equal times, the last value counts. Too
 * many points become bins with minimum and maximum.
 */
function thinned(times: readonly number[], values: readonly number[], from: number, to: number): Band {
  const width = times.length > MAX_POINTS ? (to - from) / (MAX_POINTS / 2) : 0;
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
