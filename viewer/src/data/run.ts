/** A run, read from its files. */

import { findFlow, flowsBetween, senderOf, signalsOf, stepsOf } from "./flows";
import { type EventIndex, framesOf } from "./frames";
import type {
  Band,
  Flow,
  FlowDetail,
  Frame,
  Info,
  PauseBar,
  PortSeries,
  Snapshot,
  Step,
  Tree,
  Victim,
  VictimOrder,
  Why,
} from "./model";
import { flowNumber } from "../names";
import { Pauses, treesOf } from "./pauses";
import { ALL_PORTS, EMPTY_BAND, Pyramid } from "./pyramid";
import { type RunFiles, openSources, request } from "./source";
import { Table } from "./tables";
import { Topology } from "./topology";

interface Summary {
  outcome: string;
  simulated_ps: number;
  version: string;
  seed: number;
  scenario: { probes: { pauses?: boolean; queues?: boolean }; network: { framing?: string } };
  deadlock: { onset_ps: number; cycle: { node: string; port: number; queue: number; bytes: number }[] } | null;
}

interface Index {
  /** Checksums of the tables from which the files were derived. */
  of: Record<string, number>;
  sample_ps: number;
  samples: number;
  pauses: { width_ps: number; causes: number[] };
  flows: { count: number; listed: Record<string, string> } & Record<VictimOrder, Victim[]>;
  events: EventIndex;
}

/** Answer of the server to `why`. */
interface Explained {
  sentences: string[];
  flow: { start_ps: number };
  steps: { port: [string, number]; term: string; root: [string, number] | null; length_ps: number }[];
}

/** Opens the runs of the page. */
export async function openRuns(): Promise<Data[]> {
  return Promise.all((await openSources()).map(openRun));
}

async function openRun(files: RunFiles): Promise<Data> {
  const documents = ["run.json", "topology.json", "view/index.json"].map((name) => files.json(name));
  const [summary, topology, index] = (await Promise.all(documents)) as [Summary, unknown, Index];
  return new Data(files, summary, new Topology(topology, summary.simulated_ps), index);
}

const UTILISATION = { name: "tx_bytes" };
const BYTES = { name: "bytes" };

/** Data of a run for the views. The methods read only the parts of files that they need. */
export class Data {
  readonly info: Info;
  /** True if `why` is available, which may run the scenario again; false in an exported page. */
  readonly canAsk: boolean;
  readonly #hasQueues: boolean;
  readonly #hasCaptures: boolean;
  readonly #tables = new Map<string, Promise<Table>>();

  constructor(
    private readonly files: RunFiles,
    summary: Summary,
    readonly topology: Topology,
    private readonly index: Index,
  ) {
    this.canAsk = files.address("why") !== null;
    const { deadlock, scenario } = summary;
    this.#hasQueues = scenario.probes.queues !== false && "egress" in index.of;
    this.#hasCaptures = scenario.network.framing === "rocev2";
    const cycle = deadlock?.cycle.map(({ node, port, ...held }) => ({ port: topology.portAt(node, port), ...held }));
    const { events } = index;
    this.info = {
      name: files.label,
      outcome: summary.outcome,
      end: summary.simulated_ps,
      sampleInterval: index.sample_ps,
      flows: index.flows.count,
      flowColumns: index.flows.listed,
      deadlock: deadlock && cycle ? { onset: deadlock.onset_ps, cycle } : null,
      hasPauses: scenario.probes.pauses !== false,
      causes: index.pauses.causes,
      trace: events.rows ? [events.times[0] ?? 0, events.last] : null,
      version: summary.version,
      seed: summary.seed,
    };
  }

  #table(name: string): Promise<Table> {
    const known = this.#tables.get(name);
    if (known) return known;
    const table = Table.open(this.files.buffer(`${name}.parquet`));
    this.#tables.set(name, table);
    // Forget a failed attempt, because a later one may succeed.
    table.catch(() => this.#tables.delete(name));
    return table;
  }

  /** Opens the samples of a table; null without samples. */
  async #pyramid(name: string): Promise<Pyramid | null> {
    if (this.index.sample_ps === 0 || !this.files.has(`view/${name}.parquet`)) return null;
    return new Pyramid(await this.#table(`view/${name}`), this.index.sample_ps, this.index.samples);
  }

  async #pauses(): Promise<Pauses> {
    const tables = await Promise.all([this.#table("view/pauses"), this.#table("view/paused")]);
    return new Pauses(...tables, this.index.pauses.width_ps, this.info.end);
  }

  /** Totals of the whole fabric: bytes in egress queues, number of paused queues. */
  async overview(from: number, to: number, bins: number): Promise<{ queued: Band; paused: Band }> {
    const queues = await this.#pyramid("queues");
    const bands = await queues?.single(ALL_PORTS, { from, to, bins }, [BYTES, { name: "paused_queues" }]);
    return { queued: bands?.[0] ?? EMPTY_BAND, paused: bands?.[1] ?? EMPTY_BAND };
  }

  /** State of the fabric at a time. */
  async snapshot(time: number): Promise<Snapshot> {
    const names = ["queues", "egress", "ports"].map((name) => this.#pyramid(name));
    const [[queues, egress, ports], pauses] = await Promise.all([Promise.all(names), this.#pauses()]);
    const sample = queues?.sampleAt(time) ?? -1;
    const interval = ports?.intervalAt(time) ?? -1;
    const blank = (isKnown: boolean): Float64Array =>
      new Float64Array(this.topology.ports.length).fill(isKnown ? 0 : NaN);
    const queueBytes = this.#hasQueues && sample >= 0 ? new Map<number, number>() : null;
    const found: Snapshot = {
      time,
      sampled: queues && sample >= 0 ? queues.timeOf(sample) : null,
      queued: blank(sample >= 0),
      utilisation: blank(interval >= 0),
      queueBytes,
      pauses: [],
    };
    const toBits = 8e12 / this.index.sample_ps;
    await Promise.all([
      queues?.sample(sample, "bytes", false, (port, _, bytes) => (found.queued[port] = bytes)),
      egress?.sample(sample, "bytes", true, (port, queue, bytes) => queueBytes?.set(port * 65536 + queue, bytes)),
      ports?.sample(interval, "tx_bytes", false, (port, _, bytes) => {
        found.utilisation[port] = (bytes * toBits) / (this.topology.ports[port]?.rateBps ?? 1);
      }),
      pauses.at(time).then((active) => (found.pauses = active)),
    ]);
    return found;
  }

  /** Congestion trees of a snapshot, the one with most bytes first. */
  trees(snapshot: Snapshot): Tree[] {
    return treesOf(snapshot);
  }

  async port(port: number, from: number, to: number, bins: number): Promise<PortSeries> {
    const window = { from, to, bins };
    const names = ["queues", "ports", "egress", "ingress"].map((name) => this.#pyramid(name));
    const [queues, ports, egress, ingress] = await Promise.all(names);
    const factor = 8e12 / this.index.sample_ps / (this.topology.ports[port]?.rateBps ?? 1);
    const [total, sent, byQueue, byClass] = await Promise.all([
      queues?.single(port, window, [BYTES]),
      ports?.single(port, { ...window, isOfIntervals: true }, [{ ...UTILISATION, factor }]),
      egress?.series(port, window, [BYTES]),
      ingress?.series(port, window, [
        BYTES,
        { name: "threshold_bytes", isUnknownWhenAbsent: true },
        { name: "headroom_bytes" },
      ]),
    ]);
    const empty = EMPTY_BAND;
    const ingressOf = [...(byClass ?? [])].map(
      ([queue, [bytes = empty, threshold = empty, headroom = empty]]) =>
        [queue, { bytes, threshold, headroom }] as const,
    );
    return {
      total: total?.[0] ?? EMPTY_BAND,
      utilisation: sent?.[0] ?? EMPTY_BAND,
      egress: new Map([...(byQueue ?? [])].map(([queue, [bytes = EMPTY_BAND]]) => [queue, bytes])),
      ingress: new Map(ingressOf),
    };
  }

  /** Pauses of the queues of a port. */
  async pauses(port: number, from: number, to: number, bins: number): Promise<PauseBar[]> {
    return (await this.#pauses()).bars(port, { from, to, bins });
  }

  /** Buffered bytes of a switch, and the part in headroom; null for a node without a buffer. */
  async buffer(node: number, from: number, to: number, bins: number): Promise<{ used: Band; headroom: Band } | null> {
    if (this.topology.nodes[node]?.kind === "host") return null;
    const fields = [{ name: "used_bytes" }, { name: "headroom_bytes" }];
    const bands = await (await this.#pyramid("buffers"))?.single(node, { from, to, bins }, fields);
    return bands?.[0] && bands[1] ? { used: bands[0], headroom: bands[1] } : null;
  }

  victims(order: VictimOrder): Promise<Victim[]> {
    return Promise.resolve(this.index.flows[order]);
  }

  async flow(name: string): Promise<FlowDetail | null> {
    const found = await findFlow(await this.#table("view/flows"), name);
    if (!found) return null;
    const hasSignals = this.files.has("signals.parquet") && found.signals[0] < found.signals[1];
    const [steps, signals, sender] = await Promise.all([
      this.files.has("waits.parquet") ? stepsOf(await this.#table("waits"), found, this.topology) : [],
      hasSignals ? signalsOf(await this.#table("signals"), found, this.topology) : [],
      senderOf(await this.#table("view/senders"), flowNumber(name)),
    ]);
    return { flow: found.flow, steps, signals, sender };
  }

  /** Flows between two hosts, the slowest first; null stands for any host. */
  async flowsBetween(src: number | null, dst: number | null, most: number): Promise<Flow[]> {
    return flowsBetween(await this.#table("view/flows"), src, dst, most);
  }

  /** Frames of these ports that are on wires in the range; null if there are more than `most`. */
  async frames(ports: number[], from: number, to: number, most: number): Promise<Frame[] | null> {
    if (!this.info.trace) return [];
    const events = await this.#table("events");
    return framesOf(events, this.index.events, this.topology, new Set(ports), from, to, most);
  }

  async why(flow: string): Promise<Why> {
    const address = this.files.address(`why/${flow}`);
    if (address === null) throw new Error("an exported page cannot run a scenario; use `backwater why`");
    const found = (await (await request(address)).json()) as Explained;
    let now = found.flow.start_ps;
    const steps = found.steps.map(({ port: [node, number], term, root, length_ps: length }): Step => {
      const step = { port: this.topology.portAt(node, number), term, start: now, length };
      now += length;
      return { ...step, cause: root && this.topology.portAt(...root) };
    });
    return { sentences: found.sentences, steps };
  }

  /** Address of a capture of the frames between two times; null without a server or a trace. */
  captureUrl(from: number, to: number): string | null {
    const address = this.#hasCaptures && this.info.trace && this.files.address("frames.pcapng");
    return address ? `${address}?from=${Math.floor(from)}&until=${Math.ceil(to)}` : null;
  }
}
