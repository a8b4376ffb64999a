/**
 * Time navigation on a chart: a drag selects a range, a click or a drag of the cursor sets the
 * time, the wheel zooms, a drag with shift moves the range.
 */

import { duration, instant } from "../format";
import type { Store } from "../state";
import { h } from "./dom";

/** Time axis of an element: position and width in pixels from the left edge, and time range. */
export interface Axis {
  left: number;
  width: number;
  from: number;
  to: number;
}

export interface Clock {
  /** Updates the position of the cursor after a change of the axis or the time. */
  place(): void;
  timeAt(clientX: number): number;
  destroy(): void;
}

/** Movements of fewer pixels count as a click. */
export const CLICK = 4;
const GRAB = 6;
/** Minimum height of a chart with a label, in pixels. */
const ROOM = 40;
/** Zoom factor per unit of `deltaY` of the wheel. */
export const NOTCH = 1.0018;

/** Adds time navigation to an element. `clicked` is called on clicks, not on drags. */
export function bindClock(
  element: HTMLElement,
  axis: () => Axis,
  store: Store,
  clicked: (event: PointerEvent, time: number) => void = () => {},
): Clock {
  const cursor = h("div", { class: "clock-cursor", "aria-hidden": "true" });
  const brush = h("div", { class: "clock-brush", "aria-hidden": "true", hidden: true });
  element.classList.add("clock");
  const label = h("div", { class: "clock-label", "aria-hidden": "true", hidden: true });
  element.append(brush, cursor, label);
  let drag: { mode: "brush" | "cursor" | "pan"; x: number; time: number; hasMoved: boolean } | null = null;

  const xOf = (time: number): number => {
    const { left, width, from, to } = axis();
    return left + ((time - from) / (to - from)) * width;
  };
  const timeAt = (clientX: number): number => {
    const { left, width, from, to } = axis();
    const x = (clientX - element.getBoundingClientRect().left - left) / Math.max(1, width);
    return from + Math.min(1, Math.max(0, x)) * (to - from);
  };
  const place = (): void => {
    const { left, width } = axis();
    const x = xOf(store.state.time);
    cursor.hidden = x < left - 1 || x > left + width + 1;
    cursor.style.transform = `translateX(${x}px)`;
  };
  /** Shows a label at the pointer: the time, or the length of the selection. */
  const showLabel = (event: PointerEvent, text: string): void => {
    const { left, width } = axis();
    const x = event.clientX - element.getBoundingClientRect().left;
    label.hidden = x < left || x > left + width || element.clientHeight < ROOM;
    if (label.hidden) return;
    label.textContent = text;
    const isRight = x > left + width - 90;
    label.style.transform = `translateX(${x + (isRight ? -6 : 6)}px) translateX(${isRight ? "-100%" : "0"})`;
  };
  const showBrush = (a: number, b: number): void => {
    brush.hidden = false;
    brush.style.left = `${Math.min(xOf(a), xOf(b))}px`;
    brush.style.width = `${Math.abs(xOf(a) - xOf(b))}px`;
  };
  const isOnCursor = (event: PointerEvent): boolean => {
    const x = event.clientX - element.getBoundingClientRect().left;
    return !cursor.hidden && Math.abs(x - xOf(store.state.time)) <= GRAB;
  };

  element.addEventListener("pointerdown", (event) => {
    const { left, width } = axis();
    const x = event.clientX - element.getBoundingClientRect().left;
    if (event.button !== 0 || x < left - GRAB || x > left + width + GRAB) return;
    const mode = event.shiftKey ? "pan" : isOnCursor(event) ? "cursor" : "brush";
    drag = { mode, x: event.clientX, time: timeAt(event.clientX), hasMoved: false };
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const here = timeAt(event.clientX);
    if (!drag) {
      const { width, from, to } = axis();
      showLabel(event, instant(here, (to - from) / Math.max(1, width)));
      element.classList.toggle("clock-grab", isOnCursor(event));
      return;
    }
    drag.hasMoved ||= Math.abs(event.clientX - drag.x) >= CLICK;
    if (!drag.hasMoved) return;
    if (drag.mode === "cursor") store.set({ time: here });
    else if (drag.mode === "brush") {
      showBrush(drag.time, here);
      showLabel(event, duration(Math.abs(here - drag.time)));
    } else {
      const { width, from, to } = axis();
      store.pan(((drag.x - event.clientX) / width) * (to - from));
      drag.x = event.clientX;
    }
  });
  const cancel = (): void => {
    drag = null;
    brush.hidden = true;
  };
  element.addEventListener("pointerup", (event) => {
    if (!drag) return;
    const { mode, time, hasMoved } = drag;
    cancel();
    if (!hasMoved) {
      store.set({ time: timeAt(event.clientX) });
      clicked(event, timeAt(event.clientX));
    } else if (mode === "brush") store.range(time, timeAt(event.clientX));
  });
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { width, from, to } = axis();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) store.pan((event.deltaX / width) * (to - from));
    else store.zoom(NOTCH ** event.deltaY, timeAt(event.clientX));
  };

  element.addEventListener("pointercancel", cancel);
  element.addEventListener("pointerleave", () => (label.hidden = true));
  element.addEventListener("wheel", wheel, { passive: false });
  element.addEventListener("dblclick", () => store.whole());
  place();
  // The listeners need no removal: they end with the element.
  return { place, timeAt, destroy: store.on(["time", "from", "to"], place) };
}
