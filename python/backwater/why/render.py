"""Explanations as sentences and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from backwater import style
from backwater.reasons import CONTROLLED
from backwater.style import listed
from backwater.topology import Port
from backwater.views.view import FEW, View
from backwater.why.explanation import Culprit, Explanation, Root, Signal, Wait

# Activities and waits of a packet by term; {root} is the port whose congestion closed the gate.
REASONS: Final = {
    "serialisation": "serialisation",
    "propagation": "propagation",
    "forwarding": "forwarding in the server",
    "earlier-message": "sending earlier messages of the connection",
    "sending": "sending new data of the flow",
    "resending": "retransmitting data of the flow",
    "unanswered": "all data sent, waiting for an ACK, a NACK or a timer",
    "window": "window full",
    "pacing": "paced by congestion control",
    "link-down": "link down",
    "own-queue": "behind packets of its own queue",
    "paused": "behind a PAUSE rooted at {root}",
    "order": "held to preserve packet order",
    "other-flow": "port busy with another flow",
    "other-queue": "port busy with another queue of the packet's class",
    "other-class": "port busy with another class",
    "ack": "port busy with an ACK or NACK",
    "cnp": "port busy with a CNP or a notice",
    "control-class": "port busy with the control class",
    "link-local": "port busy with a link-local frame",
    "unexplained": "unexplained: a bug in Backwater",
}
_UNKNOWN_ROOT: Final = "an unknown port"
# Sentences about terms of the source and of the packet itself. Sentences about other terms name a
# port.
_SENTENCES: Final = {
    "earlier-message": "Earlier messages of the connection took {share}.",
    "sending": "{src} took {share} to send the flow's data.",
    "resending": "{src} took {share} to retransmit data.",
    "unanswered": "{src} had sent all data and waited {share} for an ACK, a NACK or a timer.",
    "pacing": "Pacing took {share}: the flow's congestion control allowed no packet yet.",
    "serialisation": "Serialisation took {share}.",
    "propagation": "Propagation took {share}.",
}
# Congestion signals by kind; {total} is their number or, for delays, their time.
_SIGNALS: Final = {
    "mark": "The flow received {total}",
    "load": "The flow received {total} that reported congestion",
    "delay": "Queueing delays of {total} slowed the flow down",
    "notice": "The flow received {total} from switches",
}
_UNITS: Final = {"mark": "ECN mark", "load": "ACK", "notice": "notice"}
# Maximum number of rows in the table of all packets.
MOST: Final = 10
_HEADERS: Final = ("port", "reason", "µs", "share")


def sentences(found: Explanation) -> list[str]:
    """Describes the flow, then every reason with at least one per cent of its time.

    Reasons are sorted by their total time, and PAUSEs among them by the time of their root.
    """
    sums: Counter[tuple[str, Port | None]] = Counter()
    terms: Counter[str] = Counter()
    for step in found.steps:
        sums[step.term, step.root] += step.length_ps
        terms[step.term] += step.length_ps
    longest = sorted(sums.items(), key=lambda item: (-terms[item[0][0]], item[0][0], -item[1]))
    shown = [(term, root, length) for (term, root), length in longest if 100 * length >= found.total_ps]
    # Signals follow the first term that they explain.
    controlled = next((term for term, _, _ in shown if term in CONTROLLED), None)
    lines = [_head(found)]
    for term, root, length in shown:
        lines.append(_sentence(found, term, root, length))
        lines += _signals(found) if term == controlled else []
    return lines


def _head(found: Explanation) -> str:
    flow = found.flow
    size = "endless" if flow["bytes"] is None else style.size(flow["bytes"])
    name = f"Flow {flow['name']}, {flow['src']} → {flow['dst']}, {size}"
    if flow["fct_ps"] is None:
        at = f"{style.size(flow['delivered_bytes'])} delivered" if flow["delivered_bytes"] else "nothing delivered"
        return f"{name}: incomplete after {style.duration(found.total_ps)}, {at}."
    ideal, slowdown = style.duration(flow["ideal_fct_ps"]), style.ratio(flow["slowdown"])
    return f"{name}: {style.duration(found.total_ps)}, {slowdown} times the {ideal} on an idle fabric."


def _sentence(found: Explanation, term: str, port: Port | None, length: int) -> str:
    share = f"{style.duration(length)} ({length / max(1, found.total_ps):.0%})"
    root = next((root for root in found.roots if root.port == port), None)
    if root is not None:
        if all(step.port == root.port for step in found.steps if step.root == root.port):
            own = "closed by the port itself: its link had just come up, or PAUSEs form a cycle"
            return f"The flow waited {share} at the gate of {found.topology.described(root.port)}, {own}."
        return f"The flow waited {share} behind {_pauses(found, root)}"
    if term == "window":
        return f"The flow's window was full for {share}.{_opened(found)}"
    if term in _SENTENCES:
        return _SENTENCES[term].format(share=share, src=found.flow["src"])
    ports = dict.fromkeys(step.port for step in found.steps if (step.term, step.root) == (term, port))
    where = listed([_place(found, port) for port in ports])
    return f"The flow waited {share} at {where}: {REASONS[term].format(root=_UNKNOWN_ROOT)}."


def _place(found: Explanation, port: Port) -> str:
    return f"{found.topology.port_name(port)} ({found.topology.leads_to(port)})"


def _pauses(found: Explanation, root: Root) -> str:
    """Returns the end of a sentence about the PAUSEs that a port caused."""
    shares = _shares(found, root.culprits)
    by = f", congested by {listed(shares)}" if shares else ""
    text = f"PAUSEs rooted at {found.topology.described(root.port)}{by}."
    if root.is_on_path is False:
        text += f" The flow is a victim: it does not pass that port.{_shared(found, root)}"
    return text


def _shared(found: Explanation, root: Root) -> str:
    """Returns a sentence about the ports that the flow shares with culprits."""
    sources: dict[Port, dict[str, None]] = {}
    for culprit in root.culprits:
        for port in culprit.shared:
            sources.setdefault(port, {})[culprit.src] = None
    places: dict[tuple[str, ...], list[str]] = {}
    for port in found.path:
        if port in sources:
            places.setdefault(tuple(sources[port]), []).append(_place(found, port))
    shared = [f"{listed(ports)} with {listed(names)}" for names, ports in places.items()]
    return f" It shares {', and '.join(shared)}." if shared else ""


def _signals(found: Explanation) -> list[str]:
    """Returns a sentence for each kind of congestion signal: its ports and the flows that shared them."""
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
        shares = _shares(found, signal.sharers)
        shared = f", shared by {listed(shares)}" if len(shares) > 1 else ""
        places.append(f"{signal.what.share:.0%} at {_place(found, signal.what.port)}{shared}")
    if len(signals) > FEW:
        rest = sum(signal.what.share for signal in signals[FEW:])
        places.append(f"{rest:.0%} at {style.counted(len(signals) - FEW, 'other port')}")
    return f"{_SIGNALS[kind].format(total=total)}: {'; '.join(places)}."


def _shares(found: Explanation, flows: Sequence[Culprit]) -> list[str]:
    """Returns the senders of flows with their shares of the bytes."""
    total, sources = sum(flow.bytes for flow in flows), Counter[str]()
    for flow in flows:
        sources["this flow" if flow.flow == found.flow["id"] else flow.src] += flow.bytes
    return [f"{src} ({count / total:.0%})" for src, count in sources.most_common()]


def _opened(found: Explanation) -> str:
    """Returns a sentence about the port and the reason with the longest total wait of ACKs that opened the window.

    The wait of an ACK includes the wait of the packet that it acknowledges.
    """
    waits = [wait for wait in found.window if wait.term not in ("serialisation", "propagation")]
    longest = max(waits, key=lambda wait: wait.length_ps, default=None)
    if longest is None or not found.openings:
        return ""
    each, reason = style.duration(longest.length_ps / found.openings), _reason(found, longest)
    at, acks = found.topology.port_name(longest.port), style.counted(found.openings, "ACK")
    return f" The window was opened by {acks}; each ACK and its packet waited {each} on average at {at}: {reason}."


def _reason(found: Explanation, wait: Wait) -> str:
    root = found.topology.port_name(wait.root) if wait.root else _UNKNOWN_ROOT
    return REASONS[wait.term].format(root=root)


def tables(found: Explanation) -> list[View]:
    """Returns tables of the completing packet's time, step by step, of all packets' waits, and of signals."""
    of = "that completed the flow" if found.flow["fct_ps"] is not None else "that the receiver waits for"
    steps = View(f"Packet {of}", _HEADERS, _rows(found, found.steps, found.total_ps), text_columns=2)
    rows = _rows(found, found.packets[:MOST], sum(wait.length_ps for wait in found.packets))
    note = "Sums over all packets; the time of a packet begins with its serialisation at the source."
    if len(found.packets) > MOST:
        note += f" The longest {MOST} of {len(found.packets)} waits are shown."
    everything = View(f"All {found.delivered:,} packets delivered", _HEADERS, rows, text_columns=2, note=note)
    views = [steps, everything] if found.delivered else [steps]
    return [*views, _signal_table(found)] if found.signals else views


def _signal_table(found: Explanation) -> View:
    """Returns the congestion signals by kind and port."""
    rows = []
    for signal in found.signals:
        what = signal.what
        waited = "" if what.waited_ps is None else _exact(what.waited_ps)
        span = f"{_exact(what.first_ps)} to {_exact(what.last_ps)}"
        rows.append((what.kind, found.topology.place(what.port), f"{what.count:,}", waited, f"{what.share:.1%}", span))
    headers = ("signal", "port", "number", "delay (µs)", "share", "period (µs)")
    note = (
        "mark: packet with an ECN mark, counted at the receiver; load: ACK with telemetry; delay: queueing of a packet "
        "and its ACK; notice: notice from a switch; the sender counts loads, delays and notices"
    )
    return View("Congestion signals", headers, rows, text_columns=2, note=note)


def _exact(length_ps: int) -> str:
    """Returns a time in microseconds, exact to the picosecond."""
    whole, rest = divmod(length_ps, style.PS_PER_US)
    return f"{whole:,}.{rest:06}"


def _rows(found: Explanation, waits: Sequence[Wait], total_ps: int) -> list[tuple[str, str, str, str]]:
    """Returns the cells of a table of waits: port, reason, time, and share of `total_ps`."""
    return [
        (
            found.topology.place(wait.port),
            _reason(found, wait),
            _exact(wait.length_ps),
            f"{wait.length_ps / max(1, total_ps):.1%}",
        )
        for wait in waits
    ]
