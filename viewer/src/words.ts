/** What a packet does or waits for, in words: as in `python/backwater/why/words.py`. */

const REASONS: Record<string, string> = {
  serialisation: "on the wire",
  propagation: "on its way along the link",
  forwarding: "being forwarded by the server",
  sending: "new data of its flow on the wire",
  resending: "data of its flow on the wire that had been sent before",
  unanswered: "all sent, waiting for an answer or a timer",
  window: "window full",
  pacing: "paced by its congestion control",
  "link-down": "link down",
  "own-queue": "behind packets of its own queue",
  paused: "behind a PAUSE rooted at {root}",
  order: "held so that order is kept",
  "other-flow": "another flow had the port",
  "other-queue": "another queue of its class had the port",
  "other-class": "another class had the port",
  ack: "an ACK or NACK had the port",
  cnp: "a CNP or a notice had the port",
  "control-class": "a packet of the control class had the port",
  "link-local": "a link-local frame had the port",
  unexplained: "not explained: a bug of Backwater",
};
const UNKNOWN_ROOT = "ports that are not known any more";

export function reasonOf(term: string, root: string | null): string {
  return (REASONS[term] ?? term).replace("{root}", root ?? UNKNOWN_ROOT);
}
