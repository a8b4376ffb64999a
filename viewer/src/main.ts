/** The page of `backwater view`. */

import "uplot/dist/uPlot.min.css";
import "./style/index.css";
import { mount } from "./app";
import { openRuns } from "./data/run";
import { failure, h, notice } from "./ui/dom";
import { start } from "./ui/theme";

start();
const root = document.getElementById("app") ?? document.body;
root.append(h("div", { class: "notice", role: "status" }, "Loading the run …"));
openRuns().then(
  (runs) => {
    if (runs.length === 0) root.replaceChildren(notice("No run to show."));
    else mount(root, runs);
  },
  (error: unknown) => root.replaceChildren(failure("Cannot read the run.", error)),
);
