/** Where the files of runs come from: a server on this machine, or the page itself. */

import type { AsyncBuffer } from "hyparquet";

/** The files of a run. */
export interface RunFiles {
  /** What the run is called. */
  readonly label: string;
  has(name: string): boolean;
  /** A file to be read piece by piece. */
  buffer(name: string): AsyncBuffer;
  json(name: string): Promise<unknown>;
  /** The address of what a server finds out; null where there is none. */
  address(name: string): string | null;
}

interface Listing {
  runs: { label: string; files: Record<string, number> }[];
}

/** A smaller file is fetched whole. */
const SMALL = 1 << 18;

/** The runs that the page shows. */
export async function openSources(): Promise<RunFiles[]> {
  const inside = document.getElementById("runs");
  if (inside) {
    const listing = JSON.parse(inside.textContent ?? "") as Listing;
    return listing.runs.map((run, number) => new Embedded(run.label, number));
  }
  const answer = await asked("runs.json");
  const listing = (await answer.json()) as Listing;
  return listing.runs.map((run, number) => new Served(run.label, `runs/${number}/`, new Map(Object.entries(run.files))));
}

/** An answer of the server; throws with what it says if it refuses. */
export async function asked(address: string, init?: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  if (!answer.ok) throw new Error((await answer.text()) || `${address}: ${answer.statusText}`);
  return answer;
}

class Served implements RunFiles {
  readonly label: string;
  readonly #base: string;
  readonly #sizes: Map<string, number>;

  constructor(label: string, base: string, sizes: Map<string, number>) {
    this.label = label;
    this.#base = base;
    this.#sizes = sizes;
  }

  has(name: string): boolean {
    return this.#sizes.has(name);
  }

  buffer(name: string): AsyncBuffer {
    const byteLength = this.#sizes.get(name);
    if (byteLength === undefined) throw new Error(`this run has no ${name}`);
    let whole: Promise<ArrayBuffer> | null = null;
    const slice = async (start: number, end = byteLength): Promise<ArrayBuffer> => {
      if (byteLength <= SMALL) {
        whole ??= asked(this.#base + name).then((answer) => answer.arrayBuffer());
        return (await whole).slice(start, end);
      }
      const range = { headers: { Range: `bytes=${start}-${end - 1}` } };
      return (await asked(this.#base + name, range)).arrayBuffer();
    };
    return { byteLength, slice };
  }

  async json(name: string): Promise<unknown> {
    return (await asked(this.#base + name)).json();
  }

  address(name: string): string {
    return this.#base + name;
  }
}

class Embedded implements RunFiles {
  readonly label: string;
  readonly #number: number;

  constructor(label: string, number: number) {
    this.label = label;
    this.#number = number;
  }

  #element(name: string): Element | null {
    return document.querySelector(`script[data-run="${this.#number}"][data-file="${CSS.escape(name)}"]`);
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
