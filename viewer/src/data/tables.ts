/** Reading of Parquet files by row group, with a cache. */

import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead } from "hyparquet";
import { decompress } from "fzstd";

/** Columns by name. */
export type Columns = Record<string, ArrayLike<unknown>>;

/** A row group: its rows, and the minimum and maximum of each column. */
export interface Group {
  start: number;
  end: number;
  min: Record<string, number>;
  max: Record<string, number>;
}

/** Number of cached reads per table. */
const MAX_READS = 512;
const compressors = { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) };

export class Table {
  readonly groups: Group[];
  /** Names of all columns. */
  readonly columns: string[];
  readonly #cache = new Map<string, Promise<Columns>>();

  private constructor(
    private readonly file: AsyncBuffer,
    private readonly metadata: FileMetaData,
  ) {
    const paths = metadata.row_groups[0]?.columns.map((column) => column.meta_data?.path_in_schema[0]) ?? [];
    this.columns = paths.filter((name) => name !== undefined);
    let start = 0;
    this.groups = metadata.row_groups.map((group) => {
      const found: Group = { start, end: start + Number(group.num_rows), min: {}, max: {} };
      start = found.end;
      for (const { meta_data: column } of group.columns) {
        const name = column?.path_in_schema[0];
        const { min_value: min, max_value: max } = column?.statistics ?? {};
        if (name === undefined || min === undefined || max === undefined) continue;
        found.min[name] = Number(min);
        found.max[name] = Number(max);
      }
      return found;
    });
  }

  static async open(file: AsyncBuffer): Promise<Table> {
    return new Table(file, await parquetMetadataAsync(file));
  }

  /** Reads the rows from `start` until before `end`; only their pages are read. */
  read(start: number, end: number, names = this.columns): Promise<Columns> {
    const key = `${start}-${end}:${names.join()}`;
    const known = this.#cache.get(key);
    // Move the entry to the end, since the cache is in order of use.
    if (known) this.#cache.delete(key);
    const columns = known ?? this.#decode(start, end, names);
    this.#cache.set(key, columns);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= MAX_READS) break;
      this.#cache.delete(oldest);
    }
    columns.catch(() => this.#cache.delete(key));
    return columns;
  }

  async #decode(start: number, end: number, names: string[]): Promise<Columns> {
    const pieces = new Map<string, { start: number; data: ArrayLike<unknown> }[]>(names.map((name) => [name, []]));
    await parquetRead({
      file: this.file,
      metadata: this.metadata,
      columns: names,
      rowStart: start,
      rowEnd: end,
      compressors,
      useOffsetIndex: true,
      onChunk: ({ columnName, columnData, rowStart }) =>
        pieces.get(columnName)?.push({ start: rowStart, data: columnData }),
    });
    return Object.fromEntries(names.map((name) => [name, joined(pieces.get(name) ?? [], start, end)]));
  }

  /** Reads the rows of a row group. */
  group(group: Group, names = this.columns): Promise<Columns> {
    return this.read(group.start, group.end, names);
  }
}

/** Joins rows from pieces, which may contain other rows. */
function joined(pieces: { start: number; data: ArrayLike<unknown> }[], start: number, end: number): ArrayLike<unknown> {
  const [only] = pieces;
  if (only && pieces.length === 1 && only.start === start && only.data.length === end - start) return only.data;
  const rows = new Array<unknown>(end - start);
  for (const piece of pieces) {
    const [first, last] = [Math.max(start, piece.start), Math.min(end, piece.start + piece.data.length)];
    for (let row = first; row < last; row++) rows[row - start] = piece.data[row - piece.start];
  }
  return rows;
}

/** Returns a column of numbers. */
export function numbers(columns: Columns, name: string): ArrayLike<number> {
  return columns[name] as ArrayLike<number>;
}

/** The fields of a row. */
export interface Row {
  /** A number of any integer or float type; null if it is missing. */
  known(name: string): number | null;
  /** A number; 0 if it is missing. */
  number(name: string): number;
  /** A text; null if it is missing. */
  text(name: string): string | null;
}

export function rowAt(columns: Columns, row: number): Row {
  const known = (name: string): number | null => {
    const value = Number(columns[name]?.[row] ?? NaN);
    return Number.isNaN(value) ? null : value;
  };
  const text = (name: string): string | null => {
    const value = columns[name]?.[row];
    return typeof value === "string" ? value : null;
  };
  return { known, text, number: (name) => known(name) ?? 0 };
}
