/** Black or white text, whichever has the higher contrast on a colour. */

import { channels } from "../scale";

const known = new Map<string, string>();

export function inkOn(colour: string): string {
  const found = known.get(colour);
  if (found !== undefined) return found;
  const linear = (value: number): number => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => linear(channel / 255));
  const light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  // Compares the contrast with white and with near-black.
  const ink = 1.05 / (light + 0.05) >= (light + 0.05) / 0.06 ? "#ffffff" : "#11161c";
  known.set(colour, ink);
  return ink;
}
