/**
 * Minima and maxima of samples in bins of several widths. The files are written by
 * `crates/export/src/view/pyramid.rs`.
 *
 * Level 0 has one bin per sample; the bins of each further level are four times as wide. A row
 * group has rows of one level and one span of bins, sorted by place, queue and bin.
 */

import { bisect, clamp } from "../scale";
import type { Band } from "./model";
import { type Columns, type Group, type Table, numbers } from "./tables";

const BRANCHING = 4;
/** Place of the totals over all ports. */
export const ALL_PORTS = -1;

/** Name of a field, its factor, and the treatment of missing rows: unknown or 0. */
interface Field {
  name: string;
  factor?: number;
  isUnknownWhenAbsent?: boolean;
}

/**
 * Time range with a maximum number of bins. Samples belong to instants, or to the intervals before
 * them.
 */
export interface Window {
  from: number;
  to: number;
  bins: number;
  isOfIntervals?: boolean;
}

/** Range of bins of a level, with the times at which they are drawn. */
interface BinRange {
  isHeld: boolean;
  level: number;
  begin: number;
  end: number;
  times: Float64Array;
}

/** A band without bins. */
export const EMPTY_BAND: Band = {
  isHeld: false,
  times: new Float64Array(),
  min: new Float64Array(),
  max: new Float64Array(),
};

/** Returns the lowest level with at most `bins` bins in a span. */
export function levelFor(span: number, width: number, bins: number, levels: number): number {
  let level = 0;
  while (level + 1 < levels && span / (width * BRANCHING ** level) > bins) level++;
  return level;
}

/** Returns the number of levels for a number of bins; the highest level has at most 64. */
export function levelCount(bins: number): number {
  let levels = 1;
  for (let left = bins; left > 64; left = Math.ceil(left / BRANCHING)) levels++;
  return levels;
}

export class Pyramid {
  readonly #levels: number;

  /**
   * @param interval Time between samples.
   * @param samples Number of samples.
   */
  constructor(
    private readonly table: Table,
    private readonly interval: number,
    private readonly samples: number,
  ) {
    this.#levels = levelCount(samples);
  }

  /** Returns the number of the last sample up to a time; -1 before the first one. */
  sampleAt(time: number): number {
    return Math.min(Math.floor(time / this.interval), this.samples) - 1;
  }

  /** Returns the number of the sample interval that contains a time; -1 after the last sample. */
  intervalAt(time: number): number {
    const interval = Math.floor(Math.min(time, this.samples * this.interval - 1) / this.interval);
    return time <= this.samples * this.interval ? interval : -1;
  }

  timeOf(sample: number): number {
    return (sample + 1) * this.interval;
  }

  /**
   * Calls `each` for every row of a sample, with place, queue (0 without queues) and value of a
   * field.
   */
  async sample(
    sample: number,
    field: string,
    hasQueues: boolean,
    each: (place: number, queue: number, value: number) => void,
  ): Promise<void> {
    if (sample < 0) return;
    const columns = ["place", "bin", `${field}_max`, ...(hasQueues ? ["queue"] : [])];
    const groups = this.table.groups.filter((group) => isOf(group, 0, sample, sample));
    for (const read of await Promise.all(groups.map((group) => this.table.group(group, columns)))) {
      const [place, bin, value] = [numbers(read, "place"), numbers(read, "bin"), numbers(read, `${field}_max`)];
      const queue = hasQueues ? numbers(read, "queue") : null;
      for (let row = 0; row < bin.length; row++) {
        if (bin[row] !== sample || place[row] === ALL_PORTS) continue;
        each(at(place, row), queue ? at(queue, row) : 0, at(value, row));
      }
    }
  }

  /**
   * Returns the bands of fields of a place by queue, without queues that have no sample in the
   * window.
   */
  async series(place: number, window: Window, fields: Field[]): Promise<Map<number, Band[]>> {
    const found = new Map<number, Band[]>();
    const range = this.#binRange(window);
    if (!range) return found;
    const { level, begin, end } = range;
    const isWanted = (group: Group) => isOf(group, level, begin, end) && isWithin(group, "place", place, place);
    const names = fields.flatMap(({ name }) => [`${name}_min`, `${name}_max`]);
    const wanted = this.table.groups.filter(isWanted);
    const reads = wanted.map((group) => this.#rowsOf(group, place, ["queue", "bin", ...names]));
    for (const read of await Promise.all(reads)) {
      const [queues, bins] = [numbers(read, "queue"), numbers(read, "bin")];
      const columns = fields.map(({ name }) => [numbers(read, `${name}_min`), numbers(read, `${name}_max`)] as const);
      for (let row = 0; row < bins.length; row++) {
        const bin = at(bins, row);
        if (bin < begin || bin > end) continue;
        const bands = found.get(at(queues, row)) ?? blank(range, fields);
        found.set(at(queues, row), bands);
        fields.forEach(({ factor = 1 }, i) => {
          const [band, column] = [bands[i], columns[i]];
          if (!band || !column) return;
          band.min[bin - begin] = at(column[0], row) * factor;
          band.max[bin - begin] = at(column[1], row) * factor;
        });
      }
    }
    return new Map([...found].sort(([one], [other]) => one - other));
  }

  /**
   * Reads the rows of a place in a row group; these are contiguous, and only their pages are read.
   */
  async #rowsOf(group: Group, place: number, names: string[]): Promise<Columns> {
    const places = numbers(await this.table.group(group, ["place"]), "place");
    const firstFrom = (least: number): number => bisect(places.length, (row) => at(places, row) < least);
    const [start, end] = [firstFrom(place), firstFrom(place + 1)];
    return start === end
      ? Object.fromEntries(names.map((name) => [name, []]))
      : this.table.read(group.start + start, group.start + end, names);
  }

  /** Returns the bands of a place without queues. */
  async single(place: number, window: Window, fields: Field[]): Promise<Band[]> {
    const found = (await this.series(place, window, fields)).get(0);
    const range = this.#binRange(window);
    return found ?? (range ? blank(range, fields) : fields.map(() => EMPTY_BAND));
  }

  /** Returns the bins of a window; null if the run has no samples. */
  #binRange({ from, to, bins, isOfIntervals }: Window): BinRange | null {
    if (this.samples === 0) return null;
    const level = levelFor(to - from, this.interval, bins, this.#levels);
    const width = this.interval * BRANCHING ** level;
    const last = Math.ceil(this.samples / BRANCHING ** level) - 1;
    // Lines continue to the edges, so further bins are needed on both sides.
    const begin = clamp(Math.floor(from / width) - 2, 0, last);
    const end = clamp(Math.ceil(to / width) + 1, begin, last);
    const middle = (isOfIntervals ? width : width + this.interval) / 2;
    return {
      isHeld: level === 0 && isOfIntervals !== true,
      level,
      begin,
      end,
      times: Float64Array.from({ length: end - begin + 1 }, (_, i) => (begin + i) * width + middle),
    };
  }
}

function blank({ isHeld, times }: BinRange, fields: Field[]): Band[] {
  return fields.map(({ isUnknownWhenAbsent }) => {
    const nothing = isUnknownWhenAbsent ? NaN : 0;
    return {
      isHeld,
      times,
      min: new Float64Array(times.length).fill(nothing),
      max: new Float64Array(times.length).fill(nothing),
    };
  });
}

export function at(column: ArrayLike<number>, row: number): number {
  return column[row] ?? NaN;
}

/** True if a row group may contain values of a column between two numbers. */
export function isWithin(group: Group, column: string, from: number, to: number): boolean {
  return (group.max[column] ?? Infinity) >= from && (group.min[column] ?? -Infinity) <= to;
}

function isOf(group: Group, level: number, begin: number, end: number): boolean {
  return group.min["level"] === level && isWithin(group, "bin", begin, end);
}
