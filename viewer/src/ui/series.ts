/** Bands as uPlot wants them: one list of times, and two lines per band. */

import type uPlot from "uplot";
import type { Band } from "../data/model";

/** Lines run on over this many sample intervals without a sample. */
const BRIDGED = 2.5;

/**
 * Times of all bands in one list. Where a band has no bin at a time it has `undefined`, which uPlot draws across; where nothing is known for more than
 * samples lie apart it has null, a gap.
 */
export function align(bands: readonly Band[], interval: number): uPlot.AlignedData {
  const isShared = bands.every((band) => shares(band.times, bands[0]?.times));
  const times = isShared
    ? [...(bands[0]?.times ?? [])]
    : [...new Set(bands.flatMap((band) => [...band.times]))].sort((a, b) => a - b);
  const at = new Map(times.map((time, index) => [time, index]));
  const lines: (number | null | undefined)[][] = [];
  for (const band of bands) {
    const max = new Array<number | null | undefined>(times.length).fill(undefined);
    const min = new Array<number | null | undefined>(times.length).fill(undefined);
    const width =
      band.times.length > 1
        ? ((band.times[band.times.length - 1] ?? 0) - (band.times[0] ?? 0)) / (band.times.length - 1)
        : 0;
    let last: number | null = null;
    let unknown: number | null = null;
    band.times.forEach((time, index) => {
      const place = at.get(time) ?? 0;
      const value = band.max[index] ?? Number.NaN;
      if (Number.isNaN(value)) {
        unknown ??= place;
        return;
      }
      // The gap becomes one only when its other end is known to be far.
      if (last !== null && unknown !== null && time - last > BRIDGED * Math.max(interval, width)) {
        max[unknown] = null;
        min[unknown] = null;
      }
      unknown = null;
      last = time;
      max[place] = value;
      min[place] = band.min[index] ?? value;
    });
    lines.push(max, min);
  }
  return [times, ...lines] as uPlot.AlignedData;
}

function shares(times: Float64Array, others: Float64Array | undefined): boolean {
  if (times === others) return true;
  return others !== undefined && times.length === others.length && times.every((time, index) => time === others[index]);
}
