/**
 * Frames as slanted bars between the departure at one edge of a track and the arrival at the other.
 */

import { frameColour, isLinkLocal } from "../../colours";
import type { Frame } from "../../data/model";
import { duration, instant, size } from "../../format";
import { flowNumber, nodeName, portName, portTitle } from "../../names";
import { faded } from "../../ui/chart";
import { inkOn } from "../../ui/ink";
import { Lanes, type Sheet, clipped, gutterText, strokeLine } from "../../ui/lanes";
import { token } from "../../ui/theme";
import { type Line, hide, show } from "../../ui/tooltip";
import type { Context } from "../../ui/view";
import type { Track } from "./tracks";

/** Heights of a track: for up to `MAX_HIGH` tracks, and for more. */
const HEIGHT = 92;
const LOW_HEIGHT = 58;
const MAX_HIGH = 5;
const GAP = 26;
const TOP = 12;

export class Ladder {
  readonly element: HTMLElement;
  readonly #lanes: Lanes;
  readonly destroy: () => void;
  #tracks: Track[] = [];
  #tops: number[] = [];
  #trackHeight = HEIGHT;
  #frames: Frame[] = [];
  /** Track of each sending port, and its direction. */
  #place = new Map<number, { track: number; isDown: boolean }>();
  #hovered: Frame | null = null;

  constructor(readonly context: Context) {
    this.#lanes = new Lanes({
      store: context.store,
      label: "Frames on the links; the table below has the same data",
      height: HEIGHT,
      hasAxis: true,
      paint: (sheet) => this.#paint(sheet),
      hover: (event, y, time) => this.#hover(event, y, time),
      click: (_, y, time) => {
        const flow = this.#at(y, time)?.flow;
        if (flow != null) context.store.jump({ flow: String(flow) });
      },
    });
    this.element = this.#lanes.element;
    this.destroy = this.#lanes.destroy;
  }

  set(tracks: Track[], frames: Frame[]): void {
    const { topology } = this.context.data;
    this.#tracks = tracks;
    this.#frames = frames;
    this.#place.clear();
    this.#tops = [];
    this.#trackHeight = tracks.length > MAX_HIGH ? LOW_HEIGHT : HEIGHT;
    let top = TOP;
    tracks.forEach(({ port, isJoined }, index) => {
      if (index > 0) top += this.#trackHeight + (isJoined ? 0 : GAP);
      this.#tops.push(top);
      this.#place.set(port, { track: index, isDown: true });
      const back = topology.ports[port]?.peerPort;
      if (back !== undefined && !this.#place.has(back)) this.#place.set(back, { track: index, isDown: false });
    });
    this.#lanes.resize(top + this.#trackHeight + TOP);
  }

  #at(y: number, time: number): Frame | null {
    const { topology } = this.context.data;
    const slack = this.#lanes.step;
    let found: Frame | null = null;
    for (const frame of this.#frames) {
      const place = this.#place.get(frame.port);
      const top = this.#tops[place?.track ?? -1];
      if (!place || top === undefined || y < top || y > top + this.#trackHeight) continue;
      const along = (y - top) / this.#trackHeight;
      const shift = (topology.ports[frame.port]?.delayPs ?? 0) * (place.isDown ? along : 1 - along);
      if (time >= frame.start + shift - slack && time <= frame.end + shift + slack) found = frame;
    }
    return found;
  }

  #hover(event: PointerEvent, y: number, time: number): void {
    const frame = this.#at(y, time);
    if (frame !== this.#hovered) this.#lanes.redraw();
    this.#hovered = frame;
    if (!frame) return hide();
    show(event, frameTitle(frame), this.#fields(frame), frame.flow !== null ? "click to select the flow" : undefined);
  }

  #fields(frame: Frame): Line[] {
    const { data, store } = this.context;
    const step = Math.max(1, store.span / 10000);
    const port = data.topology.ports[frame.port];
    const fields: [string, string | number | null][] = [
      ["sent by", portTitle(data.topology, frame.port)],
      ["first bit leaves", instant(frame.start, step)],
      ["last bit leaves", instant(frame.end, step)],
      ["last bit arrives", instant(frame.end + (port?.delayPs ?? 0), step)],
      ["flow", frame.flow],
      ["packet number", frame.psn],
      ["class", frame.class],
      ["bytes", frame.bytes === null ? null : size(frame.bytes)],
      ["ECN mark", frame.isMarked ? "yes" : null],
      ["PFC classes", frame.pfcClasses === null ? null : classes(frame.pfcClasses)],
      [
        "PFC time",
        frame.pfcQuanta === null
          ? null
          : frame.pfcQuanta === 0
            ? "0 quanta: RESUME"
            : `${frame.pfcQuanta} quanta, ${duration(((frame.pfcQuanta * 512) / (port?.rateBps ?? 1)) * 1e12)}`,
      ],
    ];
    return fields.flatMap(([label, value]) => (value === null ? [] : [[label, String(value)] as const]));
  }

  #paint({ draw, left, width, height, x }: Sheet): void {
    const { topology } = this.context.data;
    this.#tracks.forEach(({ port, isJoined }, index) => {
      const top = this.#tops[index] ?? 0;
      draw.fillStyle = token("lane");
      draw.fillRect(left, top, width, this.#trackHeight);
      const found = topology.ports[port];
      const [middle, bottom] = [top + this.#trackHeight / 2, top + this.#trackHeight];
      if (!isJoined) gutterText(draw, nodeName(topology, found?.node ?? 0), top, true);
      gutterText(draw, nodeName(topology, found?.peer ?? 0), bottom, true);
      gutterText(draw, `${portName(topology, port)} ↓`, middle - 7);
      gutterText(draw, `${portName(topology, found?.peerPort ?? 0)} ↑`, middle + 8);
    });
    clipped(draw, [left, 0, width, height], () => {
      const name = this.context.store.state.flow;
      const flow = name === null ? null : flowNumber(name);
      // Frames of the selected flow are painted above others, link-local frames above all.
      const rank = (frame: Frame): number => (isLinkLocal(frame.kind) ? 2 : frame.flow === flow ? 1 : 0);
      const strong = flow === null ? 0 : 1;
      for (const turn of [0, 1, 2])
        for (const frame of this.#frames) if (rank(frame) === turn) this.#paintFrame(draw, frame, x, turn >= strong);
      draw.strokeStyle = token("line");
      draw.lineWidth = 1;
      for (const top of this.#tops) {
        for (const y of [top, top + this.#trackHeight])
          strokeLine(draw, left, Math.round(y) + 0.5, left + width, Math.round(y) + 0.5);
      }
    });
  }

  #paintFrame(draw: CanvasRenderingContext2D, frame: Frame, x: (time: number) => number, isStrong: boolean): void {
    const place = this.#place.get(frame.port);
    const top = this.#tops[place?.track ?? -1];
    if (!place || top === undefined) return;
    const delay = this.context.data.topology.ports[frame.port]?.delayPs ?? 0;
    const [leaves, arrives] = place.isDown ? [top, top + this.#trackHeight] : [top + this.#trackHeight, top];
    const [a, c] = [x(frame.start), x(frame.start + delay)];
    const frameWidth = Math.max(isLinkLocal(frame.kind) ? 2.5 : 1.2, x(frame.end) - a);
    const colour = frameColour(frame.kind);
    draw.beginPath();
    draw.moveTo(a, leaves);
    draw.lineTo(a + frameWidth, leaves);
    draw.lineTo(c + frameWidth, arrives);
    draw.lineTo(c, arrives);
    draw.closePath();
    draw.fillStyle = isStrong ? colour : faded(colour, 0.42);
    draw.fill();
    const isHovered = frame === this.#hovered;
    // On long links, short frames become too thin to fill.
    const thick = (frameWidth * this.#trackHeight) / Math.hypot(c - a, this.#trackHeight);
    if (thick < 1.5 && !isHovered) {
      draw.strokeStyle = isStrong ? colour : faded(colour, 0.42);
      draw.lineWidth = isLinkLocal(frame.kind) ? 2 : 0.8;
      draw.stroke();
    } else if (frameWidth > 5 || isHovered) {
      draw.strokeStyle = isHovered ? token("ink") : token("canvas");
      draw.lineWidth = isHovered ? 2 : 0.8;
      draw.stroke();
    }
    if (frame.isMarked && frameWidth > 3) {
      // An ECN mark is a dark line along the front of the frame.
      draw.strokeStyle = token("ink");
      draw.lineWidth = 2;
      strokeLine(draw, a + 1, leaves, c + 1, arrives);
    }
    if (!isStrong || frame.psn === null || frameWidth < 24) return;
    draw.font = `600 11px ${token("sans")}`;
    draw.textAlign = "center";
    draw.textBaseline = "middle";
    const text = String(frame.psn);
    if (draw.measureText(text).width + 6 > frameWidth) return;
    draw.fillStyle = inkOn(colour);
    draw.fillText(text, (a + c + frameWidth) / 2, top + this.#trackHeight / 2);
  }
}

export function frameTitle({ kind, psn, pfcQuanta }: Frame): string {
  if (kind === "pfc") return pfcQuanta === 0 ? "PFC RESUME" : "PFC PAUSE";
  const name = kind.length <= 4 && kind !== "data" ? kind.toUpperCase() : kind;
  return psn === null ? name : `${name} ${psn}`;
}

/** Formats the classes of a mask, in which bit i stands for class i. */
export const classes = (mask: number): string => [0, 1, 2, 3, 4, 5, 6, 7].filter((bit) => (mask >> bit) & 1).join(", ");
