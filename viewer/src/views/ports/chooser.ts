/** Content without a selected port: ports that are paused or hold bytes at the cursor. */

import { percent, size } from "../../format";
import { portName } from "../../names";
import { failure, fill, h, notice, swatch } from "../../ui/dom";
import { type Row, table } from "../../ui/table";
import { type Context, portLink } from "../../ui/view";

const MAX_PORTS = 40;

export function chooser(context: Context, box: HTMLElement): void {
  const { data, store, hues } = context;
  const { time } = store.state;
  void data.snapshot(time).then(
    (snapshot) => {
      if (store.state.port !== null || store.state.time !== time) return;
      const causes = new Map(snapshot.pauses.map((pause) => [pause.port, pause.cause]));
      const held = [...snapshot.queued.keys()].filter((port) => (snapshot.queued[port] ?? 0) > 0 || causes.has(port));
      held.sort((a, b) => (snapshot.queued[b] ?? 0) - (snapshot.queued[a] ?? 0) || a - b);
      const rows = held.slice(0, MAX_PORTS).map((port): Row => {
        const cause = causes.get(port);
        return [
          { "data-port": portName(data.topology, port) },
          portLink(context, port),
          size(snapshot.queued[port] ?? 0),
          percent(snapshot.utilisation[port] ?? Number.NaN),
          cause !== undefined && [swatch(hues.of(cause)), portName(data.topology, cause)],
        ];
      });
      fill(
        box,
        notice(
          "Choose a port: search for it, click a link in the fabric, " +
            "or open one of those that are paused or hold bytes now.",
        ),
        rows.length > 0
          ? table(["<port", "queued", "utilisation", "<paused by"], rows)
          : h("p", { class: "quiet" }, "All ports are empty at this time. Move the cursor."),
      );
    },
    (error) => fill(box, failure("Cannot read the ports.", error)),
  );
}
