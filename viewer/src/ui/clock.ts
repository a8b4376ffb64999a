/** The clock on a chart: drag selects a range, a click or a drag of the cursor sets the time, the wheel zooms, shift drags the range along. */

import { duration, instant } from "../format";
import type { Store } from "../state";
import { h } from "./dom";

/** Where time runs on an element: pixels from its left edge. */
export interface Axis {
  left: number;
  width: number;
  from: number;
  to: number;
}

export interface Clock {
  /** Puts the cursor where it belongs, after a change of axis or time. */
  place(): void;
  timeAt(clientX: number): number;
  destroy(): void;
}

/** Less than this is a click. */
export const CLICK = 4;
const GRAB = 6;
/** Lower charts have no room for a label. */
const ROOM = 40;
/** A notch of a wheel, as a factor of the range. */
export const NOTCH = 1.0018;

/** Puts the clock on an element; `clicked` is told of clicks, which drags are not. */
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
  let held: { mode: "brush" | "cursor" | "pan"; x: number; time: number; hasMoved: boolean } | null = null;

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
  /** Tells the time under the pointer, or how long a brush is. */
  const tell = (event: PointerEvent, text: string): void => {
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

  const down = (event: PointerEvent): void => {
    const { left, width } = axis();
    const x = event.clientX - element.getBoundingClientRect().left;
    if (event.button !== 0 || x < left - GRAB || x > left + width + GRAB) return;
    const mode = event.shiftKey ? "pan" : isOnCursor(event) ? "cursor" : "brush";
    held = { mode, x: event.clientX, time: timeAt(event.clientX), hasMoved: false };
    element.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent): void => {
    const here = timeAt(event.clientX);
    if (!held) {
      const { width, from, to } = axis();
      tell(event, instant(here, (to - from) / Math.max(1, width)));
      element.classList.toggle("clock-grab", isOnCursor(event));
      return;
    }
    held.hasMoved ||= Math.abs(event.clientX - held.x) >= CLICK;
    if (!held.hasMoved) return;
    if (held.mode === "cursor") store.set({ time: here });
    else if (held.mode === "brush") {
      showBrush(held.time, here);
      tell(event, duration(Math.abs(here - held.time)));
    } else {
      const { width, from, to } = axis();
      store.pan(((held.x - event.clientX) / width) * (to - from));
      held.x = event.clientX;
    }
  };
  const up = (event: PointerEvent): void => {
    if (!held) return;
    const { mode, time, hasMoved } = held;
    held = null;
    brush.hidden = true;
    if (!hasMoved) {
      store.set({ time: timeAt(event.clientX) });
      clicked(event, timeAt(event.clientX));
    } else if (mode === "brush") store.range(time, timeAt(event.clientX));
  };
  const cancel = (): void => {
    held = null;
    brush.hidden = true;
  };
  const leave = (): void => {
    label.hidden = true;
  };
  const wheel = (event: WheelEvent): void => {
    event.preventDefault();
    const { width, from, to } = axis();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) store.pan((event.deltaX / width) * (to - from));
    else store.zoom(NOTCH ** event.deltaY, timeAt(event.clientX));
  };
  const whole = (): void => store.whole();

  element.addEventListener("pointerdown", down);
  element.addEventListener("pointermove", move);
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", cancel);
  element.addEventListener("pointerleave", leave);
  element.addEventListener("wheel", wheel, { passive: false });
  element.addEventListener("dblclick", whole);
  const unsubscribe = store.subscribe(place);
  place();
  return {
    place,
    timeAt,
    destroy: () => {
      unsubscribe();
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", move);
      element.removeEventListener("pointerup", up);
      element.removeEventListener("pointercancel", cancel);
      element.removeEventListener("pointerleave", leave);
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("dblclick", whole);
      cursor.remove();
      brush.remove();
      label.remove();
    },
  };
}
