"""An explanation in sentences and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from backwater import style
from backwater.reasons import CONTROLLED
from backwater.style import listed
from backwater.topology import Port
from backwater.views.view import FEW, View
from backwater.why.explanation import Explanation, Root, Signal, Wait

# What a packet does or waits for, in words; {root} is the port whose congestion closed the gate.
REASONS: Final = {
    "serialisation": "on the wire",
    "propagation": "on its way along the link",
    "forwarding": "being forwarded by the server",
    "sending": "new data of its flow on the wire",
    "resending": "data of its flow on the wire that had been sent before",
    "unanswered": "all sent, waiting for an answer or a timer",
    "window": "window full",
    "pacing": "paced by its congestion control",
    "link-down": "link down",
    "own-queue": "behind packets of its own queue",
    "paused": "behind a PAUSE rooted at {root}",
    "order": "held so that order is kept",
    "other-flow": "another flow had the port",
    "other-queue": "another queue of its class had the port",
    "other-class": "another class had the port",
    "ack": "an ACK or NACK had the port",
    "cnp": "a CNP or a notice had the port",
    "control-class": "a packet of the control class had the port",
    "link-local": "a link-local frame had the port",
    "unexplained": "not explained: a bug of Backwater",
}
# The same in a sentence, where it is that of the source or of the packet itself.
_SENTENCES: Final = {
    "sending": "For {share}, {src} was sending its own data.",
    "resending": "For {share}, {src} was sending data again that it had sent before.",
    "unanswered": "For {share}, {src} had sent everything and waited for an ACK, a NACK or a timer.",
    "pacing": "For {share}, its congestion control allowed for no packet.",
    "serialisation": "The packet itself was {share} on wires.",
    "propagation": "The packet itself was {share} on its way along links.",
}
# The signals of a kind that a flow got; {total} is their number, or of delays their time.
_SIGNALS: Final = {
    "mark": "Of the {total} that it got",
    "load": "Of {total} whose telemetry told it to slow down",
    "delay": "Of {total} of queueing that told it to slow down",
    "notice": "Of the {total} of switches that it got",
}
_UNITS: Final = {"mark": "ECN mark", "load": "ACK", "notice": "notice"}
_PLACES: Final = {
    "mark": "{share} was set at {port}",
    "load": "{share} named {port}",
    "delay": "{share} was at {port}",
    "notice": "{share} was about {port}",
}
# Rows of the table of all packets.
MOST: Final = 10
_HEADERS: Final = ("port", "what it did or waited for", "µs", "share")


def sentences(found: Explanation) -> list[str]:
    """Describes the flow, then every reason that took a hundredth of its time at least.

    The reason with most time in all comes first; of PAUSEs, the root with most time.
    """
    sums: Counter[tuple[str, Port | None]] = Counter()
    terms: Counter[str] = Counter()
    for step in found.steps:
        sums[step.term, step.root] += step.length_ps
        terms[step.term] += step.length_ps
    longest = sorted(sums.items(), key=lambda item: (-terms[item[0][0]], item[0][0], -item[1]))
    told = [(term, root, length) for (term, root), length in longest if 100 * length >= found.total_ps]
    # Signals are told once, behind the first term that they explain.
    controlled = next((term for term, _, _ in told if term in CONTROLLED), None)
    lines = [_head(found)]
    for term, root, length in told:
        lines.append(_sentence(found, term, root, length))
        lines += _signals(found) if term == controlled else []
    return lines


def _head(found: Explanation) -> str:
    flow = found.flow
    size = "endless" if flow["bytes"] is None else style.size(flow["bytes"])
    name = f"Flow {flow['id']}, {flow['src']} → {flow['dst']}, {size}"
    if flow["fct_ps"] is None:
        at = f"{style.size(flow['delivered_bytes'])} delivered" if flow["delivered_bytes"] else "nothing delivered"
        return f"{name}: not complete after {style.duration(found.total_ps)}, {at}."
    ideal, slowdown = style.duration(flow["ideal_fct_ps"]), style.ratio(flow["slowdown"])
    return f"{name}: {style.duration(found.total_ps)}, {slowdown} times the {ideal} that it takes on an idle fabric."


def _sentence(found: Explanation, term: str, port: Port | None, length: int) -> str:
    share = f"{style.duration(length)} ({length / max(1, found.total_ps):.0%})"
    root = next((root for root in found.roots if root.port == port), None)
    if root is not None:
        name = f"{found.flow['src']} → {found.flow['dst']}"
        if all(step.port == root.port for step in found.steps if step.root == root.port):
            own = "closed by itself: its link had come back, or PAUSEs run in a circle"
            return f"{name} stood {share} behind the gate of {found.topology.described(root.port)}, {own}."
        return f"{name} stood {share} behind {_pauses(found, root)}"
    if term == "window":
        return f"For {share}, its window was full{_opened(found)}."
    if term in _SENTENCES:
        return _SENTENCES[term].format(share=share, src=found.flow["src"])
    ports = dict.fromkeys(step.port for step in found.steps if (step.term, step.root) == (term, port))
    where = listed([_place(found, port) for port in ports])
    return f"For {share}, it was at {where}: {REASONS[term].format(root='ports that are not known any more')}."


def _place(found: Explanation, port: Port) -> str:
    return f"{found.topology.port_name(port)} ({found.topology.leads_to(port)})"


def _pauses(found: Explanation, root: Root) -> str:
    """The end of a sentence about the PAUSEs that a port has caused."""
    total, sources = sum(culprit.bytes for culprit in root.culprits), Counter[str]()
    for culprit in root.culprits:
        sources["this flow" if culprit.flow == found.flow["id"] else culprit.src] += culprit.bytes
    shares = [f"{src} ({count / total:.0%})" for src, count in sources.most_common()]
    met = f", where {listed(shares)} met" if len(shares) > 1 else f", which {shares[0]} filled" if shares else ""
    victim = f" It does not pass that port: it is a victim.{_shared(found, root)}" if root.is_on_path is False else ""
    return f"PAUSEs rooted at {found.topology.described(root.port)}{met}.{victim}"


def _shared(found: Explanation, root: Root) -> str:
    """Which ports the flow shares, and with whose flows."""
    sources: dict[Port, dict[str, None]] = {}
    for culprit in root.culprits:
        for port in culprit.shared:
            sources.setdefault(port, {})[culprit.src] = None
    places: dict[tuple[str, ...], list[str]] = {}
    for port in found.way:
        if port in sources:
            places.setdefault(tuple(sources[port]), []).append(_place(found, port))
    shared = [f"{listed(ports)} with {listed(names)}" for names, ports in places.items()]
    return f" It shares {', and '.join(shared)}." if shared else ""


def _signals(found: Explanation) -> list[str]:
    """The congestion signals that the flow got: by kind, the ports and who shared them."""
    kinds: dict[str, list[Signal]] = {}
    for signal in found.signals:
        kinds.setdefault(signal.what.kind, []).append(signal)
    return [_signals_of(found, kind, signals) for kind, signals in kinds.items()]


def _signals_of(found: Explanation, kind: str, signals: Sequence[Signal]) -> str:
    if kind == "delay":
        total = style.duration(sum(signal.what.waited_ps or 0 for signal in signals))
    else:
        total = style.counted(sum(signal.what.count for signal in signals), _UNITS[kind])
    places = []
    for signal in signals[:FEW]:
        port = _place(found, signal.what.port) + _sharers(found, signal)
        places.append(_PLACES[kind].format(share=f"{signal.what.share:.0%}", port=port))
    if len(signals) > FEW:
        rest = sum(signal.what.share for signal in signals[FEW:])
        places.append(f"{rest:.0%} was of {style.counted(len(signals) - FEW, 'other port')}")
    return f"{_SIGNALS[kind].format(total=total)}, {'; '.join(places)}."


def _sharers(found: Explanation, signal: Signal) -> str:
    """Senders whose data left the port of a signal, with their shares."""
    total, sources = sum(sharer.bytes for sharer in signal.sharers), Counter[str]()
    for sharer in signal.sharers:
        sources["this flow" if sharer.flow == found.flow["id"] else sharer.src] += sharer.bytes
    shares = [f"{src} ({count / total:.0%})" for src, count in sources.most_common()]
    return f", where {listed(shares)} met" if len(shares) > 1 else ""


def _opened(found: Explanation) -> str:
    """Where the packets and ACKs waited that opened the window."""
    waits = [wait for wait in found.window if wait.term not in ("serialisation", "propagation")]
    longest = max(waits, key=lambda wait: wait.length_ps, default=None)
    if longest is None or not found.openings:
        return ""
    each, reason = style.duration(longest.length_ps / found.openings), _reason(found, longest)
    at, acks = found.topology.port_name(longest.port), style.counted(found.openings, "ACK")
    return f"; {acks} opened it, and on average each waited, with its packet, {each} at {at}: {reason}"


def _reason(found: Explanation, wait: Wait) -> str:
    root = found.topology.port_name(wait.root) if wait.root else "ports that are not known any more"
    return REASONS[wait.term].format(root=root)


def tables(found: Explanation) -> list[View]:
    """The time of the packet that completed the flow, step by step, and what all packets waited for."""
    of = "that completed the flow" if found.flow["fct_ps"] is not None else "that the flow waits for"
    steps = View(f"The packet {of}", _HEADERS, _rows(found, found.steps, found.total_ps), text_columns=2)
    rows = _rows(found, found.packets[:MOST], sum(wait.length_ps for wait in found.packets))
    note = "From the first wire on, all packets added up."
    if len(found.packets) > MOST:
        note += f" The first {MOST} of {len(found.packets)} rows."
    everything = View(f"All {found.delivered:,} packets delivered", _HEADERS, rows, text_columns=2, note=note)
    views = [steps, everything] if found.delivered else [steps]
    return [*views, _signal_table(found)] if found.signals else views


def _signal_table(found: Explanation) -> View:
    """Congestion signals by kind and port."""
    rows = []
    for signal in found.signals:
        what = signal.what
        waited = "" if what.waited_ps is None else _exact(what.waited_ps)
        span = f"{_exact(what.first_ps)} to {_exact(what.last_ps)}"
        rows.append((what.kind, found.topology.place(what.port), f"{what.count:,}", waited, f"{what.share:.1%}", span))
    headers = ("signal", "port", "number", "µs waited", "share", "from, to, µs")
    note = (
        "mark: a packet with ECN, as it came to the receiver; load: an ACK with telemetry, delay: of packet and ACK, "
        "notice: of a switch, as they came to the sender"
    )
    return View("Congestion signals", headers, rows, text_columns=2, note=note)


def _exact(length_ps: int) -> str:
    """A time in microseconds, to the picosecond."""
    whole, rest = divmod(length_ps, style.PS_PER_US)
    return f"{whole:,}.{rest:06}"


def _rows(found: Explanation, waits: Sequence[Wait], total_ps: int) -> list[tuple[str, str, str, str]]:
    """Cells of a table of waits: where, what, how long, and its share of `total_ps`."""
    return [
        (
            found.topology.place(wait.port),
            _reason(found, wait),
            _exact(wait.length_ps),
            f"{wait.length_ps / max(1, total_ps):.1%}",
        )
        for wait in waits
    ]
