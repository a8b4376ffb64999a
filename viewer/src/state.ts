/** What the page shows: one store for all views of all runs. Ports and nodes go by name, since runs may number them differently. */

import type { VictimOrder } from "./data/data";
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
  /** The range of time that all charts show. */
  from: number;
  to: number;
  /** The cursor, always within the range. */
  time: number;
  node: string | null;
  port: string | null;
  flow: number | null;
  pause: PauseKey | null;
  order: VictimOrder;
}

/** What can be selected, so that an address cannot name what is not there. */
export interface Known {
  end: number;
  hasNode(name: string): boolean;
  hasPort(name: string): boolean;
}

type Changed = ReadonlySet<keyof State>;
type Listener = (state: Readonly<State>, changed: Changed) => void;
/** Whether a change is one that the back button undoes. */
export type Weight = "step" | "jump";

/** Shortest range of time: a nanosecond, less than a byte takes at 100 Gb/s times ten. */
export const SHORTEST = 1000;

export class Store {
  #state: State;
  readonly #listeners = new Set<Listener>();
  /** Told of every change, with its weight: the address bar. */
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
    // A cursor that leaves the range takes it along; a range that leaves the cursor takes that along.
    if (change.time !== undefined && change.from === undefined && change.to === undefined) follow(asked, this.end);
    if (change.port !== undefined && change.port !== this.#state.port && change.pause === undefined) asked.pause = null;
    const next = this.#checked(asked);
    const keys = (Object.keys(next) as (keyof State)[]).filter((key) => !same(next[key], this.#state[key]));
    if (keys.length === 0) return;
    this.#state = next;
    const changed: Changed = new Set(keys);
    for (const listener of [...this.#listeners]) listener(next, changed);
    this.onWeight(weight);
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Shows a range, in either order of its ends. */
  range(a: number, b: number, weight: Weight = "jump"): void {
    this.set({ from: Math.min(a, b), to: Math.max(a, b) }, weight);
  }

  /** Makes the range `factor` times as long, while `around` stays where it is. */
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
    this.set({ from: 0, to: this.end }, "jump");
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
