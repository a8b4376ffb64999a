/** Formats of quantities, as in `python/backwater/style.py`. */

type Units = readonly (readonly [number, string])[];

const TIME: Units = [
  [1e12, "s"],
  [1e9, "ms"],
  [1e6, "µs"],
  [1e3, "ns"],
  [1, "ps"],
];
const BYTES: Units = [
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "KB"],
  [1, "B"],
];
const RATE: Units = [
  [1e12, "Tb/s"],
  [1e9, "Gb/s"],
  [1e6, "Mb/s"],
  [1e3, "kb/s"],
  [1, "b/s"],
];

export const PS_PER_US = 1e6;
/** Text of an unknown or missing value. */
export const DASH = "–";

export const count = (number: number): string => Math.round(number).toLocaleString("en-US");

function unitOf(value: number, units: Units): readonly [number, string] {
  return units.find(([scale]) => Math.abs(value) >= scale) ?? units[units.length - 1] ?? [1, ""];
}

function scaled(value: number | null, units: Units): string {
  if (value === null || Number.isNaN(value)) return DASH;
  const [scale, unit] = unitOf(value, units);
  const number = value / scale;
  return `${Math.abs(number) >= 9999.5 ? count(number) : String(Number(number.toPrecision(4)))} ${unit}`;
}

export const duration = (ps: number | null): string => (ps === 0 ? "0 µs" : scaled(ps, TIME));
export const size = (bytes: number | null): string => scaled(bytes, BYTES);
export const rate = (bps: number | null): string => scaled(bps, RATE);
export const ratio = (value: number | null): string =>
  value === null || Number.isNaN(value) ? DASH : value.toFixed(2);

/** Formats a share as a percentage, with one decimal below 10 %. */
export function percent(share: number): string {
  if (Number.isNaN(share)) return DASH;
  const value = share * 100;
  return value > 0 && value < 9.95 ? `${value.toFixed(1)} %` : `${value.toFixed(0)} %`;
}

/** Formats a number with its noun in singular or plural. */
export function counted(number: number, noun: string): string {
  const ending = number === 1 ? "" : /(ss|ch)$/.test(noun) ? "es" : "s";
  return `${count(number)} ${noun}${ending}`;
}

/** Formats a point in time, with enough digits to distinguish times that are `step` apart. */
export function instant(ps: number, step: number): string {
  if (ps === 0) return `0 ${unitOf(Math.max(step, PS_PER_US), TIME)[1]}`;
  const [scale, unit] = unitOf(Math.abs(ps) < step ? step : ps, TIME);
  const decimals = Math.max(0, Math.min(12, -Math.floor(Math.log10(Math.max(1, step) / scale) + 1e-9)));
  return `${(ps / scale).toFixed(Math.min(decimals, Math.round(Math.log10(scale))))} ${unit}`;
}

/** Parses a time such as `512.25 us` or `1200000` (picoseconds); null if the text is no time. */
export function parseTime(text: string): number | null {
  const match = /^\s*([\d.,]+)\s*(ps|ns|us|µs|μs|ms|s)?\s*$/i.exec(text);
  if (!match) return null;
  const unit = (match[2] ?? "ps").toLowerCase().replace(/[µμ]s/, "us");
  const scale = { ps: 1, ns: 1e3, us: 1e6, ms: 1e9, s: 1e12 }[unit] ?? 1;
  const value = Number((match[1] ?? "").replaceAll(",", "")) * scale;
  return Number.isFinite(value) ? Math.round(value) : null;
}
