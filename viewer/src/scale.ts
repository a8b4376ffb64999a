/** Axes of time and of quantities, and the fixed scales of the fabric. */

/** Nice values from `from` to `to`, at most about `most`. */
export function ticks(from: number, to: number, most: number): number[] {
  const step = niceStep((to - from) / Math.max(1, most));
  const found: number[] = [];
  if (!(step > 0)) return found;
  // Not minus zero.
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to * (1 + 1e-12); index++) found.push(index * step || 0);
  return found;
}

/** The least of 1, 2, 5, 10, ... that is not below a number. */
export function niceStep(least: number): number {
  if (!(least > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(least) + 1e-12);
  const digit = [1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** The same for bytes, which count in thousands. */
export const niceBytes = (most: number): number => Math.max(1000, niceStep(most));

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/**
 * Cividis, from blue to yellow: even in lightness, and the same to readers who do not tell red from green.
 * The polynomial is the one of d3-scale-chromatic.
 */
export function cividis(share: number): string {
  const t = clamp(share, 0, 1);
  const r = -4.54 - t * (35.34 - t * (2381.73 - t * (6402.7 - t * (7024.72 - t * 2710.57))));
  const g = 32.49 + t * (170.73 + t * (52.82 - t * (131.46 - t * (176.58 - t * 67.37))));
  const b = 81.24 + t * (442.36 - t * (2482.43 - t * (6167.24 - t * (6614.94 - t * 2475.67))));
  return `rgb(${[r, g, b].map((part) => Math.round(clamp(part, 0, 255))).join(" ")})`;
}

/** Steps of the utilisation scale: as many strokes draw all links, however many there are. */
export const LEVELS = 40;
const COLOURS = Array.from({ length: LEVELS }, (_, index) => cividis(index / (LEVELS - 1)));

export const levelOf = (utilisation: number): number => clamp(Math.round(utilisation * (LEVELS - 1)), 0, LEVELS - 1);
export const levelColour = (level: number): string => COLOURS[level] ?? "#7c7b78";

/** Width of an arrow that stands for bytes held, in pixels: the same in every run and at every time. Its area tells the bytes. */
export const arrowWidth = (bytes: number): number => 2 + 12 * Math.sqrt(clamp(bytes / ARROW_FULL, 0, 1));
export const ARROW_FULL = 1e6;
export { clamp };
