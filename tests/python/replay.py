"""Parts (terms) of flows' times, recomputed from `events.parquet`.

The code shares nothing with the core. The core keeps clocks per queue during the run; the replay reads
the complete history backwards. Each wait is split at every change at its port, and each part is
attributed to the first applicable reason.
"""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from backwater import Result, units

Port = tuple[str, int]
# Node, port, reason, node and port of the cause.
Term = tuple[str, int, str, str | None, int | None]
FOREVER = 1 << 62
PACKETS = ("data", "ack", "nack", "cnp", "notice")


class Frame(NamedTuple):
    """Frame on the wire of a port."""

    start: int
    until: int
    kind: str
    cls: int
    flow: int | None
    psn: int | None
    # Queues of the port that contained the frame, in order.
    queues: tuple[int, ...]


@dataclass
class Visit:
    """Packet in the queues of a port, with the time in each."""

    flow: int
    psn: int
    kind: str
    cls: int
    port: Port
    came: int
    # Ingress port, if known.
    ingress: int | None
    # Queues with start and end.
    stays: list[tuple[int, int, int]]
    # Frame in which the packet left.
    frame: Frame | None = None


@dataclass
class History:
    """History of a port. Each state is valid from its time on."""

    frames: list[Frame] = field(default_factory=list)
    down: list[tuple[int, bool]] = field(default_factory=list)
    gates: dict[int, list[tuple[int, tuple[str, int, bool] | None]]] = field(default_factory=lambda: defaultdict(list))


class Sender(NamedTuple):
    """State of a sender from a time on."""

    time: int
    port: Port
    queue: int
    psn: int | None
    in_flight: int
    window: int
    departure: int

    def is_full(self) -> bool:
        """True if the window blocks data."""
        return self.psn is not None and self.in_flight >= self.window


def _at(states: list[Any], time: int) -> Any:  # noqa: ANN401 - of any kind
    """Returns the state at `time`; states start with their time."""
    index = bisect.bisect_right(states, time, key=lambda state: state[0])
    return states[index - 1] if index else None


class Replay:
    """History of a fully traced run."""

    def __init__(self, result: Result) -> None:
        self.end = result.summary.simulated_ps
        self.mtu = units.size(result.summary.scenario["network"]["mtu"])
        recovery = result.summary.scenario["recovery"]
        # Reordering window of a receiver.
        self.room = 1 if recovery["kind"] == "go-back-n" else recovery.get("bitmap") or recovery.get("room") or FOREVER
        self.flows = {flow["id"]: flow for flow in result.flows.iter_rows(named=True)}
        links = result.topology.egress_ports.iter_rows(named=True)
        self.links = {(link["node"], link["port"]): (link["peer"], link["delay_ps"]) for link in links}
        self.ports: dict[Port, History] = defaultdict(History)
        self.senders: dict[int, list[Sender]] = defaultdict(list)
        # Visits by node and packet, in order of time.
        self.visits: dict[tuple[str, int, int, str], list[Visit]] = defaultdict(list)
        # Departed packets, by port and start of their frame.
        self.left: dict[tuple[Port, int], Visit] = {}
        # A host's own data frames and their egress ports, by flow.
        self.own: dict[int, list[tuple[Frame, Port]]] = defaultdict(list)
        self.received: dict[int, tuple[int, int]] = {}
        # Lost packets, by ingress port and time.
        self.lost: set[tuple[Port, str | None, int | None, int | None, int]] = set()
        self._read(result)
        # Arrivals of a packet's copies with their frames, in order, by node, flow, packet and kind.
        self.arrivals: dict[tuple[str, int, int, str], list[tuple[int, Frame, Port]]] = defaultdict(list)
        ends = list(result.topology.links.select("a", "a_port", "b", "b_port").iter_rows())
        self.others = {(a, i): (b, j) for a, i, b, j in [*ends, *((b, j, a, i) for a, i, b, j in ends)]}
        for port, history in self.ports.items():
            peer, delay = self.links[port]
            for frame in history.frames:
                if frame.kind in ("data", "ack", "nack") and frame.flow is not None and frame.psn is not None:
                    arrival = frame.until + delay
                    if (self.others[port], frame.kind, frame.flow, frame.psn, arrival) not in self.lost:
                        self.arrivals[peer, frame.flow, frame.psn, frame.kind].append((arrival, frame, port))
        # Data packets at the receiver and answers at the sender, by flow, in order.
        self.data: dict[int, list[tuple[int, Frame, Port]]] = defaultdict(list)
        self.answers: dict[int, list[tuple[int, Frame, Port]]] = defaultdict(list)
        for (node, flow, _, kind), arrivals in self.arrivals.items():
            arrivals.sort(key=lambda arrival: arrival[0])
            if kind == "data" and node == self.flows[flow]["dst"]:
                self.data[flow] += (arrival for arrival in arrivals if arrival[0] < self.end)
            elif kind != "data" and node == self.flows[flow]["src"]:
                self.answers[flow] += arrivals
        for arrivals in self.data.values():
            arrivals.sort(key=lambda arrival: arrival[0])

    def _read(self, result: Result) -> None:
        columns = (
            "time_ps node port event frame class flow psn queue to_queue until_ps cause_node cause_port reason "
            "ingress_port in_flight_bytes window_bytes departure_ps"
        )
        queues: dict[tuple[Port, int], list[Visit]] = defaultdict(list)
        leaving: dict[Port, Visit] = {}
        for row in result.events.select(columns.split()).iter_rows():
            time, node, ix, event, kind, cls, flow, psn, queue, to, until, *more = row
            cause_node, cause_port, reason, ingress, *sender = more
            port = (node, ix)
            history = self.ports[port] if ix is not None else History()
            if event == "enqueue":
                visit = Visit(flow, psn, kind, cls, port, time, ingress, [(queue, time, FOREVER)])
                queues[port, queue].append(visit)
                self.visits[node, flow, psn, kind].append(visit)
            elif event in ("move", "dequeue"):
                visit = queues[port, queue].pop(0)
                assert (visit.flow, visit.psn, visit.kind) == (flow, psn, kind), "queues are first in, first out"
                visit.stays[-1] = (queue, visit.stays[-1][1], time)
                if event == "move":
                    visit.stays.append((to, time, FOREVER))
                    queues[port, to].append(visit)
                else:
                    leaving[port] = visit
            elif event == "sent":
                from_queue = leaving.pop(port, None)
                is_from_queue = from_queue is not None and (from_queue.flow, from_queue.psn) == (flow, psn)
                passed = tuple(stay[0] for stay in from_queue.stays) if from_queue and is_from_queue else ()
                frame = Frame(time, until, kind, cls, flow, psn, passed)
                history.frames.append(frame)
                if from_queue is not None and is_from_queue:
                    from_queue.frame = frame
                    self.left[port, time] = from_queue
                elif kind == "data":
                    self.own[flow].append((frame, port))
            elif event in ("pause", "resume"):
                why = (cause_node, cause_port, reason == "order") if event == "pause" else None
                history.gates[queue].append((time, why))
            elif event in ("link-down", "link-up"):
                history.down.append((time, event == "link-down"))
            elif event == "sender":
                in_flight, window, departure = sender
                state = Sender(time, port, queue, psn, in_flight, FOREVER if window is None else window, departure)
                self.senders[flow].append(state)
            elif event == "received":
                self.received[flow] = (time, psn)
            elif event == "drop":
                self.lost.add((port, kind, flow, psn, time))

    # --- single waits

    def _pieces(
        self, port: Port, queues: Iterable[int], start: int, end: int, more: Iterable[int] = ()
    ) -> Iterator[tuple[int, int]]:
        """Splits the time from `start` to `end` at every change at a port, and at the times `more`."""
        history = self.ports[port]
        first = bisect.bisect_right(history.frames, start, key=lambda frame: frame.until)
        last = bisect.bisect_left(history.frames, end, key=lambda frame: frame.start)
        cuts = {time for frame in history.frames[first:last] for time in (frame.start, frame.until)}
        cuts.update(time for time, _ in history.down)
        cuts.update(time for queue in queues for time, _ in history.gates.get(queue, ()))
        cuts.update(more)
        times = [start, *sorted(time for time in cuts if start < time < end), end]
        return pairwise(times)

    def _on_wire(self, port: Port, time: int) -> Frame | None:
        frame = _at(self.ports[port].frames, time)
        return frame if frame is not None and time < frame.until else None

    def _gate(self, port: Port, queue: int, time: int) -> tuple[str, int, bool] | None:
        state = _at(self.ports[port].gates.get(queue, []), time)
        return state[1] if state else None

    def _is_down(self, port: Port, time: int) -> bool:
        state = _at(self.ports[port].down, time)
        return bool(state and state[1])

    def in_queue(self, port: Port, queue: int, cls: int, start: int, end: int) -> Counter[Term]:
        """Returns the time for which a packet of a class waits in a queue, by reason."""
        waits: Counter[Term] = Counter()
        for begin, until in self._pieces(port, [queue], start, end):
            frame, gate = self._on_wire(port, begin), self._gate(port, queue, begin)
            if self._is_down(port, begin):
                reason, cause = "link-down", None
            elif frame is not None and queue in frame.queues:
                reason, cause = "own-queue", None
            elif gate is not None:
                reason, cause = ("order", None) if gate[2] else ("paused", gate[:2])
            elif frame is None:
                reason, cause = "unexplained", None
            elif frame.kind not in PACKETS:
                reason, cause = "link-local", None
            elif frame.cls == cls:
                reason, cause = "other-queue", None
            else:
                reason, cause = "control-class" if frame.cls == 0 else "other-class", None
            waits[(*port, reason, *(cause or (None, None)))] += until - begin
        return waits

    def at_source(self, flow: int, end: int) -> Counter[Term]:
        """Returns the time that a flow's sender spends on each activity and wait, from the flow's start to `end`."""
        start, cls = self.flows[flow]["start_ps"], self.flows[flow]["class"]
        states = self.senders[flow]
        own = sorted((frame.start, frame.until, frame.psn or 0) for frame, _ in self.own[flow])
        highest, again = -1, []
        for begin, until, psn in own:
            again.append((begin, until, psn <= highest))
            highest = max(highest, psn)
        cuts = {time for begin, until, _ in own for time in (begin, until)}
        cuts.update(time for state in states for time in (state.time, state.departure))
        waits: Counter[Term] = Counter()
        times = [start, *sorted(time for time in cuts if start < time < end), end]
        for first, last in pairwise(times):
            state = _at(states, first)
            for begin, until in self._pieces(state.port, [state.queue, cls], first, last):
                sending = _at(again, begin)
                frame = self._on_wire(state.port, begin)
                gate = self._gate(state.port, state.queue, begin) or self._gate(state.port, cls, begin)
                cause: tuple[str, int] | None = None
                if sending is not None and begin < sending[1]:
                    reason = "resending" if sending[2] else "sending"
                elif state.psn is None:
                    reason = "unanswered"
                elif state.is_full():
                    reason = "window"
                elif begin < state.departure:
                    reason = "pacing"
                elif self._is_down(state.port, begin):
                    reason = "link-down"
                elif gate is not None:
                    reason, cause = ("order", None) if gate[2] else ("paused", gate[:2])
                elif frame is None:
                    reason = "unexplained"
                elif frame.kind not in PACKETS:
                    reason = "link-local"
                elif frame.kind in ("ack", "nack"):
                    reason = "ack"
                elif frame.kind in ("cnp", "notice"):
                    reason = "cnp"
                else:
                    reason = "other-flow" if frame.cls == cls else "other-class"
                waits[(*state.port, reason, *(cause or (None, None)))] += until - begin
        return waits

    # --- whole journeys

    def _before(self, visit: Visit) -> tuple[int, Frame, Port]:
        """Returns the frame in which a queued packet arrived. Copies of a packet join queues in order of arrival."""
        node = visit.port[0]
        same = self.visits[node, visit.flow, visit.psn, visit.kind]
        arrivals = self.arrivals[node, visit.flow, visit.psn, visit.kind]
        found = arrivals[next(i for i, other in enumerate(same) if other is visit)]
        # Among simultaneous arrivals, choose the arrival at the packet's ingress port.
        through = (
            arrival for arrival in arrivals if arrival[0] == found[0] and self.others[arrival[2]][1] == visit.ingress
        )
        return next(through, found)

    def journey(self, frame: Frame, port: Port, arrived: int) -> tuple[Counter[Term], int, Port]:
        """Returns a packet's terms from its first link to its arrival in `frame`, and its departure's time and port."""
        waits: Counter[Term] = Counter()
        while True:
            waits[(*port, "serialisation", None, None)] += min(frame.until, arrived) - frame.start
            waits[(*port, "propagation", None, None)] += max(0, arrived - frame.until)
            visit = self.left.get((port, frame.start))
            if visit is None:
                return waits, frame.start, port
            waits += self._stays(visit, frame.start)
            is_answer = visit.kind != "data" and visit.port[0] == self.flows[visit.flow]["dst"]
            # The receiver sends an answer when a data packet arrives: continue with that packet.
            arrived, frame, port = self._data_at(visit.flow, visit.came) if is_answer else self._before(visit)
            waits += self._forwarding(visit, arrived)

    def _data_at(self, flow: int, time: int) -> tuple[int, Frame, Port]:
        """Returns the data packet of a flow that arrived at its receiver at `time`."""
        arrivals = self.data[flow]
        first = bisect.bisect_left(arrivals, time, key=lambda arrival: arrival[0])
        last = bisect.bisect_right(arrivals, time, key=lambda arrival: arrival[0])
        (found,) = arrivals[first:last]
        return found

    def _stays(self, visit: Visit, end: int) -> Counter[Term]:
        waits: Counter[Term] = Counter()
        for queue, start, until in visit.stays:
            waits += self.in_queue(visit.port, queue, visit.cls, start, min(until, end))
        return waits

    def _forwarding(self, visit: Visit, arrived: int) -> Counter[Term]:
        return Counter({(*visit.port, "forwarding", None, None): visit.came - arrived})

    def packets(self, flow: int) -> tuple[int, dict[Term, int]]:
        """Returns the number of delivered packets of a flow, and their terms from the first link on."""
        expected, seen, waits = 0, set[int](), Counter[Term]()
        for arrived, frame, port in self.data[flow]:
            assert frame.psn is not None
            is_new = frame.psn >= expected and frame.psn not in seen
            if is_new and frame.psn < expected + self.room:
                seen.add(frame.psn)
                while expected in seen:
                    expected += 1
                waits += self.journey(frame, port, arrived)[0]
        return len(seen), {term: length for term, length in waits.items() if length}

    def window(self, flow: int) -> tuple[int, dict[Term, int]]:
        """Returns the number of ACKs that opened a full window, and the terms of these ACKs and their packets."""
        count, waits, states = 0, Counter[Term](), self.senders[flow]
        for arrived, frame, port in self.answers[flow]:
            before = _at(states, arrived - 1)
            first = bisect.bisect_left(states, arrived, key=lambda state: state.time)
            after = states[first] if first < len(states) and states[first].time == arrived else None
            if after is not None and before is not None and before.is_full() and not after.is_full():
                count += 1
                waits += self.journey(frame, port, arrived)[0]
        return count, {term: length for term, length in waits.items() if length}

    def completion(self, flow: int) -> dict[Term, int]:
        """Returns the terms of the packet that completed a flow.

        For an incomplete flow, returns the terms of the packet that the receiver expects. If no copy of that packet is
        in the network, returns the terms of the sender.
        """
        if flow in self.received:
            time, psn = self.received[flow]
            arrived, frame, port = self._data_at(flow, time)
            assert frame.psn == psn
            waits, left, _ = self.journey(frame, port, arrived)
        else:
            waits, left = self._stuck(flow)
        return {term: length for term, length in (waits + self.at_source(flow, left)).items() if length}

    def _stuck(self, flow: int) -> tuple[Counter[Term], int]:
        psn = self.flows[flow]["delivered_bytes"] // self.mtu
        copies: list[tuple[int, Counter[Term]]] = []
        for port, history in self.ports.items():
            _, delay = self.links[port]
            for frame in history.frames:
                if (frame.kind, frame.flow, frame.psn) == ("data", flow, psn) and frame.until + delay >= self.end:
                    waits, left, _ = self.journey(frame, port, self.end)
                    copies.append((left, waits))
        waiting = [visits for (_, *packet), visits in self.visits.items() if packet == [flow, psn, "data"]]
        for visit in (visit for visits in waiting for visit in visits if visit.stays[-1][2] == FOREVER):
            arrived, frame, before = self._before(visit)
            waits, left, _ = self.journey(frame, before, arrived)
            copies.append((left, waits + self._stays(visit, self.end) + self._forwarding(visit, arrived)))
        for (node, *packet), arrivals in list(self.arrivals.items()):
            joined = len(self.visits.get((node, flow, psn, "data"), ()))
            for arrived, frame, before in arrivals[joined:] if packet == [flow, psn, "data"] else ():
                if node != self.flows[flow]["dst"] and arrived < self.end:
                    # The server still forwards the packet to the flow's queue.
                    others = (visits for (at, of, *_), visits in self.visits.items() if (at, of) == (node, flow))
                    port = next(visit.port for visits in others for visit in visits if visit.kind == "data")
                    waits, left, _ = self.journey(frame, before, arrived)
                    waits[(*port, "forwarding", None, None)] += self.end - arrived
                    copies.append((left, waits))
        left, waits = min(copies, key=lambda copy: copy[0], default=(self.end, Counter()))
        return waits, left
