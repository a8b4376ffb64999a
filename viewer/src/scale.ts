/** Ticks of axes, and the fixed scales of the fabric. */

/** Returns about `count` round values between `from` and `to`. */
export function ticks(from: number, to: number, count: number): number[] {
  const step = niceStep((to - from) / Math.max(1, count));
  const found: number[] = [];
  if (!(step > 0)) return found;
  // `|| 0` turns -0 into 0.
  for (let index = Math.ceil(from / step - 1e-9); index * step <= to * (1 + 1e-12); index++)
    found.push(index * step || 0);
  return found;
}

/** Returns the smallest of 1, 2, 5, 10, ... that is at least `least`. */
function niceStep(least: number): number {
  if (!(least > 0)) return 0;
  const power = 10 ** Math.floor(Math.log10(least) + 1e-12);
  const digit = [1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10;
  return digit * power;
}

/** Returns a round upper bound for bytes, at least 1000. */
export const niceBytes = (maximum: number): number => Math.max(1000, niceStep(maximum));

/** Returns the first index up to `count` that is not `isBefore`, by binary search. */
export function bisect(count: number, isBefore: (index: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

/** Interpolates a colour between equidistant stops, given as `#rrggbb`. */
export function between(stops: readonly string[], share: number): string {
  const at = clamp(share, 0, 1) * (stops.length - 1);
  const index = Math.min(Math.floor(at), stops.length - 2);
  const [low, high] = [channels(stops[index]), channels(stops[index + 1])];
  return `rgb(${low.map((part, i) => Math.round(part + ((high[i] ?? part) - part) * (at - index))).join(" ")})`;
}

/** Red, green and blue of a colour `#rrggbb`, 0 to 255. */
export const channels = (colour = "#000000"): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

/** Steps of the utilisation scale; all links are drawn with at most this many strokes. */
export const LEVELS = 40;

export const levelOf = (utilisation: number): number => clamp(Math.round(utilisation * (LEVELS - 1)), 0, LEVELS - 1);

/**
 * Width in pixels of an arrow for queued bytes, independent of run and time. It grows with the
 * square root, so that small queues stay visible, up to [ARROW_FULL]. Unknown bytes count as 0.
 */
export const arrowWidth = (bytes: number): number => 2 + 12 * Math.sqrt(clamp((bytes || 0) / ARROW_FULL, 0, 1));
export const ARROW_FULL = 1e6;
