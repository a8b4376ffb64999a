/** Content without a selected flow: the most delayed flows. */

import { duration, ratio } from "../../format";
import { flowEnds } from "../../names";
import { h, link, notice } from "../../ui/dom";
import { type Row, table } from "../../ui/table";
import type { Context } from "../../ui/view";
import { openVictim } from "../victims";

const MAX_FLOWS = 12;

export function chooseFlow(context: Context, box: HTMLElement): void {
  const { data, store } = context;
  void data.victims(store.state.order).then(
    (victims) => {
      if (box.querySelector("table, p.quiet")) return;
      const rows = victims.slice(0, MAX_FLOWS).map((victim): Row => {
        const { name, slowdown, blocked } = victim;
        const open = link(`flow ${name}`, `flow ${name}`, () => void openVictim(context, victim));
        return [{ "data-flow": name }, open, flowEnds(data.topology, victim), ratio(slowdown), duration(blocked)];
      });
      box.append(
        notice(
          "Choose a flow: search for its number or for a pair of hosts such as h2->h5, " +
            "or open one of the most delayed flows.",
        ),
        rows.length > 0
          ? table(["<flow", "<from → to", "slowdown", "blocked"], rows)
          : h("p", { class: "quiet" }, "No flow of this run was delayed."),
      );
    },
    () => {},
  );
}
