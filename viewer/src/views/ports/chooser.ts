/** What to look at where no port is selected: ports that are paused or hold something now. */

import { percent, size } from "../../format";
import { portName, portTitle } from "../../names";
import { fill, h, notice, swatch } from "../../ui/dom";
import { table } from "../../ui/table";
import { type Context, reason } from "../../ui/view";

const MOST = 40;

export function chooser({ data, store, hues }: Context, box: HTMLElement): void {
  const { time } = store.state;
  void data.instant(time).then(
    (instant) => {
      if (store.state.port !== null || store.state.time !== time) return;
      const causes = new Map(instant.pauses.map((pause) => [pause.port, pause.cause]));
      const held = [...instant.queued.keys()].filter((port) => (instant.queued[port] ?? 0) > 0 || causes.has(port));
      held.sort((a, b) => (instant.queued[b] ?? 0) - (instant.queued[a] ?? 0) || a - b);
      const rows = held.slice(0, MOST).map((port) => {
        const cause = causes.get(port);
        const open = (): void => store.set({ port: portName(data.topology, port) }, "jump");
        return h(
          "tr",
          { "data-port": portName(data.topology, port) },
          h(
            "th",
            { scope: "row" },
            h("button", { class: "link", "data-key": `port ${port}`, onclick: open }, portTitle(data.topology, port)),
          ),
          h("td", {}, size(instant.queued[port] ?? 0)),
          h("td", {}, percent(instant.utilisation[port] ?? Number.NaN)),
          h(
            "td",
            { class: "causes" },
            cause !== undefined && swatch(hues.of(cause)),
            cause !== undefined && portName(data.topology, cause),
          ),
        );
      });
      fill(
        box,
        notice(
          "Choose a port: with search, by a click on a link of the fabric, or from those that are paused or hold something now.",
        ),
        rows.length > 0
          ? table(["<port", "queued", "utilisation", "<paused by"], rows)
          : h("p", { class: "quiet" }, "At this instant no port holds anything. Move the cursor."),
      );
    },
    (error) => fill(box, notice("The ports cannot be read.", h("p", {}, reason(error)))),
  );
}
