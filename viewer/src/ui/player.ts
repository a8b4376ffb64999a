/** Playback: moves the cursor through the range in a chosen number of seconds. */

import type { Store } from "../state";

/** Playback times of the range, in seconds. */
export const SPEEDS = [60, 30, 15, 5] as const;

export class Player {
  #frame = 0;
  #last = 0;
  /** Time of the cursor with fractions of a picosecond, which the store does not keep. */
  #time = 0;
  speed: number = SPEEDS[1];
  onChange: () => void = () => {};

  constructor(readonly store: Store) {}

  get isPlaying(): boolean {
    return this.#frame !== 0;
  }

  toggle(): void {
    if (this.isPlaying) this.stop();
    else this.start();
  }

  start(): void {
    const { from, to, time } = this.store.state;
    if (time >= to) this.store.set({ time: from });
    this.#time = this.store.state.time;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(this.#step);
    this.onChange();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.onChange();
  }

  readonly #step = (now: number): void => {
    const { store } = this;
    // The user moved the cursor: continue from there.
    if (Math.round(this.#time) !== store.state.time) this.#time = store.state.time;
    this.#time = Math.min(store.state.to, this.#time + ((now - this.#last) / 1000 / this.speed) * store.span);
    this.#last = now;
    store.set({ time: this.#time });
    if (this.#time >= store.state.to) return this.stop();
    this.#frame = requestAnimationFrame(this.#step);
  };
}
