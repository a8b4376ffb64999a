//! Messages of connections at a host: posting, completion, and the host's application.

use super::Nic;
use super::messages::Posted;
use super::sender::QueuePair;
use crate::contract::report::Report;
use crate::contract::{Announcement, Application, FlowControl, Message, Posting, ReactionPoint};
use crate::frame::Direction;
use crate::frame::journey::Span;
use crate::ids::{FlowId, QueueIx, Slot};
use crate::model::io::NodeIo;
use crate::model::sink::{MessageEvent, Sink, Wakeup};
use crate::network::flows::Flow;
use backwater_engine::{Duration, Time};

impl<S: Sink> Nic<'_, '_, S> {
    /// Installs the application of this host, and sets its first timer.
    pub(crate) fn install(&mut self, application: Box<dyn Application>) {
        self.node.endpoint_mut().tasks.get_or_insert_default().application = Some(application);
        self.call_application(|_, _, _| {});
    }

    /// Calls the application, if there is one. Then sends the messages that it posted, and sets its
    /// timer.
    fn call_application(&mut self, call: impl FnOnce(&mut dyn Application, Time, &mut Vec<Posting>)) {
        let Some(mut tasks) = self.node.endpoint_mut().tasks.take() else { return };
        if let Some(application) = &mut tasks.application {
            call(&mut **application, self.env.now, &mut tasks.posts);
            for posting in tasks.posts.drain(..) {
                self.post(posting);
            }
            let (at, host) = (application.wake_at(), self.node.id);
            if std::mem::replace(&mut tasks.timer_at, at) != at && at != Time::NEVER {
                let timers = &mut self.node.endpoint_mut().mechanism_timers;
                timers.set((at, FlowId::NONE, Slot::NONE), Wakeup::Node(host), self.env);
            }
        }
        self.node.endpoint_mut().tasks = Some(tasks);
    }

    /// Fires the timer of the application.
    pub(super) fn wake_application(&mut self) {
        if let Some(tasks) = &mut self.node.endpoint_mut().tasks {
            tasks.timer_at = Time::NEVER;
        }
        self.call_application(|application, now, posts| {
            application.on_timer(now, posts);
            debug_assert!(application.wake_at() > now, "the clock goes on");
        });
    }

    /// Posts a message. The connection gets a queue pair with its first message.
    fn post(&mut self, posting: Posting) {
        let Posting { connection, bytes, tag, id } = posting;
        let fabric = self.env.fabric;
        let (flow, now) = (fabric.live_flow(connection), self.env.now);
        let slot = flow.sender.get().unwrap_or_else(|| self.open_connection(connection, flow));
        self.resume(slot);
        let (mtu, pair) = (fabric.spec.mtu.get(), &mut self.node.endpoint_mut().queue_pairs[slot]);
        let outgoing = pair.outgoing.as_mut().expect("connections have messages");
        let Posted { number, packets, .. } = outgoing.post(id, bytes, [pair.packets.into(), mtu], now);
        pair.packets = packets[1];
        let ix = pair.port;
        if let Some(ledger) = &mut self.node.io.ledger {
            ledger.post(slot, packets, now);
        }
        self.schedule_timer(slot);
        self.reschedule(slot);
        self.env.sink.report(Report::Posted { flow: connection, psn: packets[0] }, now);
        let message = Message { connection, number, bytes, tag };
        self.env.sink.announce(flow.spec.dst, Announcement { message, at: now });
        self.pipeline().schedule(ix);
    }

    /// Resumes a connection that is idle, since a message is posted on it.
    fn resume(&mut self, slot: Slot) {
        let (fabric, now) = (self.env.fabric, self.env.now);
        let NodeIo { ports, endpoint, .. } = &mut self.node.io;
        let endpoint = endpoint.as_mut().expect("connections start at nodes with an endpoint");
        let pair = &mut endpoint.queue_pairs[slot];
        let Some(outgoing) = &mut pair.outgoing else { return };
        let Some(since) = outgoing.idle_since.take() else { return };
        if fabric.spec.host.idle.is_over(now.since(since)) {
            outgoing.start_afresh();
            pair.reaction = fabric.spec.congestion.reaction(&fabric.sender_of(pair.flow, ports[pair.port].rate));
        } else {
            pair.reaction.on_resume(now, since);
        }
        let QueuePair { flow, class, port, route, .. } = *pair;
        let (starting, mut queue) = (self.starting(flow, class, port, route), QueueIx::default());
        self.node.call_flow_control(self.env, |mechanism, node| queue = mechanism.on_flow_start(starting, node));
        self.node.endpoint_mut().set_queue(slot, queue);
    }

    /// Gives a queue pair to a connection. Its place in the round follows those of all flows that
    /// have started.
    #[cold]
    fn open_connection(&mut self, id: FlowId, flow: &Flow) -> Slot {
        let fabric = self.env.fabric;
        let (port, _) = fabric.route(id, &flow.spec, Direction::Data);
        let NodeIo { ports, endpoint, .. } = &mut self.node.io;
        let endpoint = endpoint.as_mut().expect("connections start at nodes with an endpoint");
        endpoint.start_waiting_at(&ports[port], fabric);
        self.start_flow(id, flow.spec.class, port);
        flow.sender.get().expect("the flow has just started")
    }

    /// Completes the messages of a connection whose last packets are delivered, and notifies the
    /// application.
    #[inline(never)]
    pub(super) fn complete_messages(&mut self, id: FlowId) {
        let fabric = self.env.fabric;
        let flow = fabric.live_flow(id);
        let mut completion: Option<(Time, Vec<Span>)> = None;
        loop {
            let NodeIo { endpoint, ledger, .. } = &mut self.node.io;
            let endpoint = endpoint.as_mut().expect("connections end at nodes with an endpoint");
            let (Announcement { message, at }, reception) = endpoint.take_complete(id, flow);
            let mut account = ledger.as_mut().map(|ledger| Box::new(ledger.take(id)));
            if let Some(account) = &mut account {
                // One packet may complete several messages. Its time before a message was posted
                // does not count for this message.
                if let Some((posted, spans)) = &completion {
                    account.completion = without_first(spans, at - *posted);
                }
                completion = Some((at, account.completion.clone()));
            }
            let received = MessageEvent::Received { message, posted: at, reception: Box::new(reception), account };
            self.env.sink.message(received, self.env.now);
            self.call_application(|application, now, posts| application.on_received(now, &message, posts));
            // Packets of the next message may have arrived before.
            if !self.node.endpoint_mut().continue_message(id, flow, fabric) {
                return;
            }
            let psn = self.node.endpoint_mut().expected(flow) - 1;
            self.env.sink.report(Report::Received { flow: id, psn }, self.env.now);
        }
    }

    /// Ends the messages of a connection whose packets are all acknowledged, and notifies the
    /// application. The connection then falls idle unless the application posts another message.
    #[inline(never)]
    pub(super) fn end_messages(&mut self, id: FlowId, slot: Slot) {
        let mut has_ended = false;
        while let Some(ended) = self.take_acknowledged(slot) {
            has_ended = true;
            let account = self.node.io.ledger.as_mut().map(|ledger| Box::new(ledger.end_message(slot, id)));
            let Posted { number, retransmitted, .. } = ended;
            let event = MessageEvent::Acknowledged { connection: id, number, retransmitted, account };
            self.env.sink.message(event, self.env.now);
            self.env.sink.report(Report::Acknowledged { flow: id, packets: 0, retransmitted }, self.env.now);
            self.call_application(|application, now, posts| application.on_acknowledged(now, id, ended.id, posts));
        }
        let pair = &mut self.node.endpoint_mut().queue_pairs[slot];
        let outgoing = pair.outgoing.as_mut().expect("connections have messages");
        if has_ended && pair.progress.acked == pair.packets {
            outgoing.idle_since = Some(self.env.now);
            pair.reaction.on_idle(self.env.now);
            let QueuePair { port, queue, .. } = *pair;
            self.schedule_timer(slot);
            self.node.call_flow_control(self.env, |mechanism, node| mechanism.on_flow_end(id, port, queue, node));
        }
    }

    fn take_acknowledged(&mut self, slot: Slot) -> Option<Posted> {
        let pair = &mut self.node.endpoint_mut().queue_pairs[slot];
        pair.outgoing.as_mut()?.take_acknowledged(pair.progress.acked)
    }
}

/// Returns the spans without their first part, which takes `length`.
fn without_first(spans: &[Span], mut length: Duration) -> Vec<Span> {
    let mut rest = spans.to_vec();
    for span in &mut rest {
        let cut = span.length.min(length);
        (span.length, length) = (span.length - cut, length - cut);
    }
    rest.retain(|span| span.length > Duration::ZERO);
    rest
}
