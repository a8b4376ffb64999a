/** What a sender did, as bands for charts: each value holds until the next one. */

import type { Band, SenderPoint } from "../../data/model";

/** More points than this in a range are drawn as minima and maxima. */
const MOST = 3000;

export function senderBand(points: readonly SenderPoint[], pick: (point: SenderPoint) => number | null, from: number, to: number): Band {
  const times: number[] = [];
  const values: number[] = [];
  let before: number | null = null;
  for (const point of points) {
    const value = pick(point);
    if (value === null) continue;
    if (point.time < from) {
      before = value;
      continue;
    }
    if (point.time > to) break;
    if (before !== null) {
      times.push(times.length === 0 ? from : point.time);
      values.push(before);
      if (times.length === 1) {
        times.push(point.time);
        values.push(before);
      }
    }
    times.push(point.time);
    values.push(value);
    before = value;
  }
  const last = points[points.length - 1]?.time ?? 0;
  if (before !== null) {
    times.push(Math.max(times[times.length - 1] ?? from, Math.min(to, last)));
    values.push(before);
  }
  return thinned(times, values, from, to);
}

/** uPlot wants times that grow: of values at the same time the least and the greatest stay. */
function thinned(times: readonly number[], values: readonly number[], from: number, to: number): Band {
  const width = times.length > MOST ? (to - from) / (MOST / 2) : 1;
  const [outTimes, min, max]: [number[], number[], number[]] = [[], [], []];
  times.forEach((time, index) => {
    const value = values[index] ?? 0;
    const at = outTimes.length - 1;
    const last = outTimes[at];
    if (last !== undefined && time - last < width) {
      min[at] = Math.min(min[at] ?? value, value);
      max[at] = Math.max(max[at] ?? value, value);
    } else {
      outTimes.push(time);
      min.push(value);
      max.push(value);
    }
  });
  return { times: Float64Array.from(outTimes), min: Float64Array.from(min), max: Float64Array.from(max) };
}
