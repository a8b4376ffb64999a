import { expect, it } from "vitest";
import { ARROW_FULL, arrowWidth, cividis, levelOf, LEVELS, ticks } from "./scale";

it("ticks are nice and within the range", () => {
  expect(ticks(0, 525e6, 11)).toEqual([0, 50e6, 100e6, 150e6, 200e6, 250e6, 300e6, 350e6, 400e6, 450e6, 500e6]);
  expect(ticks(51e6, 53.5e6, 5).length).toBe(6);
  expect(ticks(5, 5, 5)).toEqual([]);
});

it("utilisation runs from blue to yellow, and stays on the scale", () => {
  expect(cividis(0)).toBe("rgb(0 32 81)");
  expect(cividis(1)).toBe("rgb(253 234 69)");
  expect([levelOf(-1), levelOf(0), levelOf(1), levelOf(1.06)]).toEqual([0, 0, LEVELS - 1, LEVELS - 1]);
});

it("arrows grow with the bytes, up to a width", () => {
  const widths = [0, 1e3, 1e5, ARROW_FULL, 1e9].map(arrowWidth);
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  expect(widths[4]).toBe(widths[3]);
});
