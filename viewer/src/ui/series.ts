/** Conversion of bands for uPlot: one common list of times, and two lines per band. */

import type uPlot from "uplot";
import type { Band } from "../data/model";

/** Longest interval without a sample that lines bridge, in sample intervals. */
const BRIDGED = 2.5;

/**
 * Merges the times of all bands into one list. A band without a bin at a time has `undefined`
 * there, which uPlot bridges. An interval of unknown values that is longer than [BRIDGED] has null,
 * a gap.
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
      // The length of the gap is known only at the next value.
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
