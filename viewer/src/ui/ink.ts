/** Black or white text, whichever has the higher contrast on a colour. */

const known = new Map<string, string>();

export function inkOn(colour: string): string {
  const found = known.get(colour);
  if (found !== undefined) return found;
  const part = (at: number): number => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const light = 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
  // Compares the contrast with white and with near-black.
  const ink = 1.05 / (light + 0.05) >= (light + 0.05) / 0.06 ? "#ffffff" : "#11161c";
  known.set(colour, ink);
  return ink;
}
