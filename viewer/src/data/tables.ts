/** Reading Parquet files by row group, with what has been read lately at hand. */

import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead } from "hyparquet";
import { decompress } from "fzstd";

/** Columns by name. */
export type Columns = Record<string, ArrayLike<unknown>>;

/** A row group: where it stands, and between which numbers its columns are. */
export interface Group {
  start: number;
  end: number;
  min: Record<string, number>;
  max: Record<string, number>;
}

/** Pieces of a table that are kept. */
const KEPT = 512;
const compressors = { ZSTD: (input: Uint8Array, length: number) => decompress(input, new Uint8Array(length)) };

export class Table {
  readonly groups: Group[];
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;
  readonly #kept = new Map<string, Promise<Columns>>();

  private constructor(file: AsyncBuffer, metadata: FileMetaData) {
    this.#file = file;
    this.#metadata = metadata;
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

  /** Rows from one number on and before another. What is not in pages of theirs is not read. */
  read(start: number, end: number, names: string[]): Promise<Columns> {
    const key = `${start}-${end}:${names.join()}`;
    const known = this.#kept.get(key);
    // The last one used comes last.
    if (known) this.#kept.delete(key);
    const columns = known ?? this.#decode(start, end, names);
    this.#kept.set(key, columns);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
    }
    columns.catch(() => this.#kept.delete(key));
    return columns;
  }

  async #decode(start: number, end: number, names: string[]): Promise<Columns> {
    const pieces = new Map<string, { start: number; data: ArrayLike<unknown> }[]>(names.map((name) => [name, []]));
    await parquetRead({
      file: this.#file,
      metadata: this.#metadata,
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

  /** The rows of a group. */
  group(group: Group, names: string[]): Promise<Columns> {
    return this.read(group.start, group.end, names);
  }
}

/** Rows from pieces, which may hold others as well. */
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

/** A column of numbers. */
export function numbers(columns: Columns, name: string): ArrayLike<number> {
  return columns[name] as ArrayLike<number>;
}

/** A number that may be missing, of a column in whatever width. */
export function numberAt(column: ArrayLike<unknown> | undefined, row: number): number | null {
  const value = column?.[row];
  return value === null || value === undefined ? null : Number(value);
}

/** A word that may be missing. */
export function wordAt(column: ArrayLike<unknown> | undefined, row: number): string | null {
  const value = column?.[row];
  return typeof value === "string" ? value : null;
}
