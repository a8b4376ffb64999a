/** Axes of time and of quantities, and the fixed scales of the fabric. */

/** Nice values from `from` to `to`, at most about `most`. */
export function ticks(from: number, to: number, most: number): number[] {
  const step = niceStep((to - from) / Math.max(1, most));
  const found: number[] = [];
  if (!(step > 0)) return found;
  // Not minus zero.
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to * (1 + 1e-12); index++)
    found.push(index * step || 0);
  return found;
}

/** The least of 1, 2, 5, 10, ... that is not below a number. */
function niceStep(least: number): number {
  if (!(least > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(least) + 1e-12);
  const digit = [1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** The same for bytes, which count in thousands. */
export const niceBytes = (most: number): number => Math.max(1000, niceStep(most));

export const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** A colour between those at equal distances along a scale, given as `#rrggbb`. */
export function between(stops: readonly string[], share: number): string {
  const at = clamp(share, 0, 1) * (stops.length - 1);
  const index = Math.min(Math.floor(at), stops.length - 2);
  const [low, high] = [channels(stops[index]), channels(stops[index + 1])];
  return `rgb(${low.map((part, i) => Math.round(part + ((high[i] ?? part) - part) * (at - index))).join(" ")})`;
}

const channels = (colour = "#000000"): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Steps of the utilisation scale: as many strokes draw all links, however many there are. */
export const LEVELS = 40;

export const levelOf = (utilisation: number): number => clamp(Math.round(utilisation * (LEVELS - 1)), 0, LEVELS - 1);

/**
 * Width of an arrow that stands for bytes held, in pixels: the same in every run and at every time. It grows with the square root, so that few bytes are seen
 * beside many, up to [ARROW_FULL]; bytes that are not known are drawn as none.
 */
export const arrowWidth = (bytes: number): number => 2 + 12 * Math.sqrt(clamp((bytes || 0) / ARROW_FULL, 0, 1));
export const ARROW_FULL = 1e6;
