/** Descriptions of terms, as in `python/backwater/why/render.py`. */

const REASONS: Record<string, string> = {
  serialisation: "serialisation",
  propagation: "propagation",
  forwarding: "forwarding in the server",
  "earlier-message": "sending earlier messages of the connection",
  sending: "sending new data of the flow",
  resending: "retransmitting data of the flow",
  unanswered: "all data sent, waiting for an ACK, a NACK or a timer",
  window: "window full",
  pacing: "paced by congestion control",
  "link-down": "link down",
  "own-queue": "behind packets of its own queue",
  paused: "behind a PAUSE rooted at {root}",
  order: "held to preserve packet order",
  "other-flow": "port busy with another flow",
  "other-queue": "port busy with another queue of the packet's class",
  "other-class": "port busy with another class",
  ack: "port busy with an ACK or NACK",
  cnp: "port busy with a CNP or a notice",
  "control-class": "port busy with the control class",
  "link-local": "port busy with a link-local frame",
  unexplained: "unexplained: a bug in Backwater",
};
const UNKNOWN_ROOT = "an unknown port";

export function reasonOf(term: string, root: string | null): string {
  return (REASONS[term] ?? term).replace("{root}", root ?? UNKNOWN_ROOT);
}
