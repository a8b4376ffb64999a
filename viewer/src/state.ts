/**
 * State of the page: one store for all views of all runs. Ports and nodes are identified by name,
 * because runs may number them differently.
 */

import type { VictimOrder } from "./data/model";
import { clamp } from "./scale";

export const VIEWS = ["fabric", "ports", "flow", "packets", "victims"] as const;
export type ViewName = (typeof VIEWS)[number];

/** A pause of the selected port. */
interface PauseKey {
  queue: number;
  start: number;
}

export interface State {
  view: ViewName;
  /** Time range of all charts. */
  from: number;
  to: number;
  /** Time of the cursor, always within the range. */
  time: number;
  node: string | null;
  port: string | null;
  /** Name of a flow or message. */
  flow: string | null;
  pause: PauseKey | null;
  order: VictimOrder;
}

/** Known end, nodes and ports of the run. Unknown names in an address are corrected. */
export interface Known {
  end: number;
  hasNode(name: string): boolean;
  hasPort(name: string): boolean;
}

type Changed = ReadonlySet<keyof State>;
type Listener = (changed: Changed) => unknown;
/** Kind of a change: the back button undoes a `jump`, not a `step`. */
export type Weight = "step" | "jump";

/** Shortest time range: 1 ns in ps, about 12 bytes at 100 Gb/s. */
export const SHORTEST = 1000;

export class Store {
  #state: State;
  readonly #listeners = new Set<Listener>();
  /** Called on every change, with its weight; set by the address bar. */
  onWeight: (weight: Weight) => void = () => {};

  constructor(
    readonly known: Known,
    initial: Partial<State> = {},
  ) {
    const whole = { from: 0, to: Math.max(SHORTEST, known.end), time: 0 };
    this.#state = this.#checked({
      view: "fabric",
      node: null,
      port: null,
      flow: null,
      pause: null,
      order: "blocked",
      ...whole,
      ...initial,
    });
  }

  get state(): Readonly<State> {
    return this.#state;
  }

  get end(): number {
    return Math.max(SHORTEST, this.known.end);
  }

  get span(): number {
    return this.#state.to - this.#state.from;
  }

  set(change: Partial<State>, weight: Weight = "step"): void {
    const asked = { ...this.#state, ...change };
    // A cursor outside the range moves the range; a range without the cursor moves the cursor.
    if (change.time !== undefined && change.from === undefined && change.to === undefined) follow(asked, this.end);
    if (change.port !== undefined && change.port !== this.#state.port && change.pause === undefined) asked.pause = null;
    const next = this.#checked(asked);
    const keys = (Object.keys(next) as (keyof State)[]).filter((key) => !same(next[key], this.#state[key]));
    if (keys.length === 0) return;
    this.#state = next;
    const changed: Changed = new Set(keys);
    for (const listener of [...this.#listeners]) listener(changed);
    this.onWeight(weight);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls `act` after changes of any of these fields. */
  on(fields: readonly (keyof State)[], act: () => void): () => void {
    return this.subscribe((changed) => fields.some((field) => changed.has(field)) && act());
  }

  /** Sets the range from two times in any order. */
  range(a: number, b: number): void {
    this.jump({ from: Math.min(a, b), to: Math.max(a, b) });
  }

  /** Makes a change that the back button undoes. */
  jump(change: Partial<State>): void {
    this.set(change, "jump");
  }

  /** Multiplies the length of the range by `factor` and keeps the position of `around`. */
  zoom(factor: number, around: number = this.#state.time): void {
    const { from, to } = this.#state;
    const span = clamp((to - from) * factor, SHORTEST, this.end);
    const left = around - ((around - from) / (to - from)) * span;
    const start = clamp(left, 0, this.end - span);
    this.set({ from: start, to: start + span });
  }

  pan(by: number): void {
    const { from, to } = this.#state;
    const start = clamp(from + by, 0, this.end - (to - from));
    this.set({ from: start, to: start + (to - from) });
  }

  whole(): void {
    this.jump({ from: 0, to: this.end });
  }

  #checked(state: State): State {
    const end = Math.max(SHORTEST, this.known.end);
    let from = clamp(Math.round(state.from), 0, end);
    let to = clamp(Math.round(state.to), 0, end);
    if (to < from) [from, to] = [to, from];
    if (to - from < SHORTEST) {
      from = clamp(Math.round((from + to - SHORTEST) / 2), 0, end - SHORTEST);
      to = from + SHORTEST;
    }
    const node = state.node !== null && this.known.hasNode(state.node) ? state.node : null;
    const port = state.port !== null && this.known.hasPort(state.port) ? state.port : null;
    return {
      ...state,
      from,
      to,
      time: clamp(Math.round(state.time), from, to),
      node,
      port,
      pause: port === null ? null : state.pause,
    };
  }
}

/** Returns the range that shows an interval with a margin. */
export function around(start: number, end: number, share = 0.04): { from: number; to: number } {
  const margin = Math.max(1000, (end - start) * share);
  return { from: start - margin, to: end + margin };
}

function follow(state: State, end: number): void {
  const span = state.to - state.from;
  const time = clamp(state.time, 0, end);
  if (time >= state.from && time <= state.to) return;
  state.from = clamp(time - span / 2, 0, Math.max(0, end - span));
  state.to = state.from + span;
}

function same(a: State[keyof State], b: State[keyof State]): boolean {
  if (a === b) return true;
  return (
    typeof a === "object" &&
    typeof b === "object" &&
    a !== null &&
    b !== null &&
    a.queue === b.queue &&
    a.start === b.start
  );
}
