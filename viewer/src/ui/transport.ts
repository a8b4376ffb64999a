/** Playback controls, cursor time and time range, above the overview. */

import { duration, instant, parseTime } from "../format";
import type { Store } from "../state";
import { fill, h } from "./dom";
import { type Player, SPEEDS } from "./player";

export function transport(store: Store, player: Player): HTMLElement {
  const play = h("button", {
    class: "play",
    "aria-label": "Play",
    title: "Play or stop (space)",
    onclick: () => player.toggle(),
  });
  const time = h("input", {
    class: "time",
    "aria-label": "Time of the cursor",
    title: "Time of the cursor; enter a time such as 120 us",
    spellcheck: "false",
    autocomplete: "off",
    "data-readout": "time",
  });
  const range = h("span", { class: "range", "data-readout": "range" });
  const speed = h(
    "select",
    { "aria-label": "Playback time of the range", title: "Playback time of the range" },
    ...SPEEDS.map((seconds) => h("option", { value: seconds, selected: seconds === player.speed }, `${seconds} s`)),
  );
  speed.addEventListener("change", () => {
    player.speed = Number(speed.value);
    speed.blur();
  });
  const write = (): void => {
    const { from, to } = store.state;
    const step = Math.max(1, store.span / 2000);
    if (document.activeElement !== time) time.value = instant(store.state.time, step);
    time.dataset["value"] = String(store.state.time);
    range.dataset["value"] = `${from} ${to}`;
    const start = from === 0 ? "0" : instant(from, step);
    const length = `${duration(to - from)} of ${duration(store.end)}`;
    range.textContent = `${start} – ${instant(to, step)} (${length})`;
  };
  time.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const entered = parseTime(time.value);
      if (entered !== null) store.jump({ time: entered });
      time.blur();
    } else if (event.key === "Escape") time.blur();
  });
  time.addEventListener("focus", () => time.select());
  time.addEventListener("blur", write);
  player.onChange = () => {
    fill(play, player.isPlaying ? "❚❚" : "▶");
    play.setAttribute("aria-label", player.isPlaying ? "Stop" : "Play");
  };
  player.onChange();
  store.on(["time", "from", "to"], write);
  write();
  const button = (label: string, title: string, act: () => void): HTMLElement =>
    h("button", { title, "aria-label": title, onclick: act }, label);
  return h(
    "div",
    { class: "transport", role: "group", "aria-label": "Time" },
    play,
    speed,
    time,
    range,
    h(
      "div",
      { class: "buttons" },
      button("+", "Zoom in (+)", () => store.zoom(0.5)),
      button("−", "Zoom out (-)", () => store.zoom(2)),
      button("Whole run", "Show the whole run (0)", () => store.whole()),
    ),
  );
}
