/**
 * Colours of causes, classes, terms and frames:
 * Okabe and Ito's palette, as in `python/backwater/style.py`.
 */

import { token } from "./ui/theme";

const SIZE = 8;

/** A colour of the palette in the current theme; the dark theme has lighter shades. */
export const hue = (index: number): string => token(`hue-${((index % SIZE) + SIZE) % SIZE}`);

/** Hues of causes, without the blues used for other elements. */
const CAUSES = [1, 2, 3, 4, 6, 7];

/**
 * Colours of the ports that cause pauses, identical in all views and runs of the page. The six
 * ports that paused others longest have distinct colours; the remaining ports reuse them.
 */
export class Hues {
  readonly #ranks: Map<string, number>;

  /**
   * @param name Name of a port of the run.
   * @param causes Names of the ports that caused pauses in any run, the longest pauses first.
   */
  constructor(
    private readonly name: (port: number) => string,
    causes: readonly string[],
  ) {
    this.#ranks = new Map([...new Set(causes)].map((cause, rank) => [cause, rank]));
  }

  of(port: number): string {
    return hue(CAUSES[(this.#ranks.get(this.name(port)) ?? 0) % CAUSES.length] ?? 1);
  }
}

/** Colour of a class, or of a queue with a number above those of the classes. */
export const classHue = (index: number): string => hue(index);

/**
 * Colours of terms: blues for transmission, muted colours for waiting. Time behind a PAUSE is
 * hatched in the colour of its cause instead.
 */
const TERMS: Record<string, string> = {
  serialisation: "term-wire",
  propagation: "term-link",
  forwarding: "term-forward",
  "earlier-message": "term-order",
  sending: "term-wire",
  resending: "term-order",
  unanswered: "term-quiet",
  window: "term-window",
  pacing: "term-pacing",
  "link-down": "paused",
  "own-queue": "hue-5",
  paused: "paused",
  order: "term-order",
  "other-flow": "term-other",
  "other-queue": "term-other",
  "other-class": "term-class",
  ack: "term-quiet",
  cnp: "term-quiet",
  "control-class": "term-quiet",
  "link-local": "term-quiet",
  unexplained: "bad",
};
export const termColour = (term: string): string => token(TERMS[term] ?? "term-quiet");

const FRAMES: Record<string, string> = { data: "hue-0", ack: "hue-2", nack: "hue-7", cnp: "hue-4", notice: "hue-3" };
/** Colour of a kind of frame. Link-local frames (PFC and the like) have the colour of pauses. */
export const frameColour = (kind: string): string => token(FRAMES[kind] ?? "paused");
export const isLinkLocal = (kind: string): boolean => !(kind in FRAMES);
