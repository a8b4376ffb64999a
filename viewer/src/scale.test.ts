import { expect, it } from "vitest";
import { ARROW_FULL, arrowWidth, between, levelOf, LEVELS, ticks } from "./scale";

it("ticks are round and within the range", () => {
  expect(ticks(0, 525e6, 11)).toEqual([0, 50e6, 100e6, 150e6, 200e6, 250e6, 300e6, 350e6, 400e6, 450e6, 500e6]);
  expect(ticks(51e6, 53.5e6, 5).length).toBe(6);
  expect(ticks(5, 5, 5)).toEqual([]);
});

it("utilisation maps to colours and is clamped to the scale", () => {
  const stops = ["#000000", "#64c800", "#ffffff"];
  expect([0, 0.25, 0.5, 0.75, 1].map((share) => between(stops, share))).toEqual([
    "rgb(0 0 0)",
    "rgb(50 100 0)",
    "rgb(100 200 0)",
    "rgb(178 228 128)",
    "rgb(255 255 255)",
  ]);
  expect([between(stops, -1), between(stops, 2)]).toEqual(["rgb(0 0 0)", "rgb(255 255 255)"]);
  expect([levelOf(-1), levelOf(0), levelOf(1), levelOf(1.06)]).toEqual([0, 0, LEVELS - 1, LEVELS - 1]);
});

it("arrows grow with the bytes up to a maximum width", () => {
  const widths = [0, 1e3, 1e5, ARROW_FULL, 1e9].map(arrowWidth);
  expect(widths).toEqual([...widths].sort((a, b) => a - b));
  expect(widths[4]).toBe(widths[3]);
});
