/** Sources of the files of runs: a server on this machine, or the page itself. */

import type { AsyncBuffer } from "hyparquet";

/** The files of a run. */
export interface RunFiles {
  /** Name of the run. */
  readonly label: string;
  has(name: string): boolean;
  /** Opens a file for reading piece by piece. */
  buffer(name: string): AsyncBuffer;
  json(name: string): Promise<unknown>;
  /** Address of an answer of the server; null without a server. */
  address(name: string): string | null;
}

interface Listing {
  runs: { label: string; files: Record<string, number> }[];
}

/** Bytes per block that is fetched, and number of cached blocks per file. */
const BLOCK = 1 << 18;
const MAX_BLOCKS = 256;

/** Opens the runs of the page. */
export async function openSources(): Promise<RunFiles[]> {
  const inside = document.getElementById("runs");
  if (inside) {
    const listing = JSON.parse(inside.textContent ?? "") as Listing;
    return listing.runs.map((run, number) => new Embedded(run.label, number));
  }
  const answer = await request("runs.json");
  const listing = (await answer.json()) as Listing;
  return listing.runs.map(
    (run, number) => new Served(run.label, `runs/${number}/`, new Map(Object.entries(run.files))),
  );
}

/** Requests a file or an answer; throws the message of the server on errors. */
export async function request(address: string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  if (!answer.ok) throw new Error((await answer.text()) || `${address}: ${answer.statusText}`);
  return answer;
}

class Served implements RunFiles {
  constructor(
    readonly label: string,
    private readonly base: string,
    private readonly sizes: Map<string, number>,
  ) {}

  has(name: string): boolean {
    return this.sizes.has(name);
  }

  buffer(name: string): AsyncBuffer {
    const byteLength = this.sizes.get(name);
    if (byteLength === undefined) throw new Error(`the run has no file ${name}`);
    const blocks = new Map<number, Promise<ArrayBuffer>>();
    const fetched = async (first: number, last: number): Promise<ArrayBuffer> => {
      const range = `bytes=${first * BLOCK}-${Math.min(byteLength, (last + 1) * BLOCK) - 1}`;
      return (await request(this.base + name, { headers: { Range: range } })).arrayBuffer();
    };
    const slice = async (start: number, end = byteLength): Promise<ArrayBuffer> => {
      const [first, last] = [Math.floor(start / BLOCK), Math.floor((end - 1) / BLOCK)];
      for (let block = first; block <= last; block++) {
        if (blocks.has(block)) continue;
        // Adjacent missing blocks are fetched with one request.
        let until = block;
        while (until < last && !blocks.has(until + 1)) until++;
        const answer = fetched(block, until);
        for (let piece = block; piece <= until; piece++) {
          const from = (piece - block) * BLOCK;
          const cut = answer.then((bytes) => bytes.slice(from, from + BLOCK));
          cut.catch(() => blocks.delete(piece));
          blocks.set(piece, cut);
        }
      }
      const pieces = await Promise.all(Array.from({ length: last - first + 1 }, (_, i) => blocks.get(first + i)));
      for (const oldest of blocks.keys()) {
        if (blocks.size <= MAX_BLOCKS) break;
        blocks.delete(oldest);
      }
      return joined(pieces, start - first * BLOCK, end - start);
    };
    return { byteLength, slice };
  }

  async json(name: string): Promise<unknown> {
    return (await request(this.base + name)).json();
  }

  address(name: string): string {
    return this.base + name;
  }
}

/** Returns bytes of contiguous pieces. */
function joined(pieces: (ArrayBuffer | undefined)[], start: number, length: number): ArrayBuffer {
  const [only] = pieces;
  if (only && pieces.length === 1) return only.slice(start, start + length);
  const bytes = new Uint8Array(length);
  let at = -start;
  for (const piece of pieces) {
    if (!piece) throw new Error("a block of a file is missing");
    const from = Math.max(0, -at);
    bytes.set(
      new Uint8Array(piece, from, Math.min(piece.byteLength - from, length - Math.max(0, at))),
      Math.max(0, at),
    );
    at += piece.byteLength;
  }
  return bytes.buffer;
}

class Embedded implements RunFiles {
  constructor(
    readonly label: string,
    private readonly number: number,
  ) {}

  #element(name: string): Element | null {
    return document.querySelector(`script[data-run="${this.number}"][data-file="${CSS.escape(name)}"]`);
  }

  has(name: string): boolean {
    return this.#element(name) !== null;
  }

  buffer(name: string): AsyncBuffer {
    const text = atob(this.#element(name)?.textContent ?? "");
    const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
    return { byteLength: bytes.length, slice: (start, end) => bytes.buffer.slice(start, end) };
  }

  json(name: string): Promise<unknown> {
    const bytes = this.buffer(name).slice(0) as ArrayBuffer;
    return Promise.resolve(JSON.parse(new TextDecoder().decode(bytes)));
  }

  address(): null {
    return null;
  }
}
