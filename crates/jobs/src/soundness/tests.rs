//! Tests of the checks of listed operations.

use super::*;
use crate::graph::RankBuilder;
use crate::operation::StreamIx;
use backwater_engine::Duration;

/// Builds two ranks.
fn two(build: impl FnOnce(&mut RankBuilder, &mut RankBuilder)) -> Vec<Unsound> {
    let (mut one, mut other) = (RankBuilder::default(), RankBuilder::default());
    build(&mut one, &mut other);
    check(&Graph::new([one, other]))
}

#[test]
fn receives_without_a_send_are_found() {
    let errors = two(|one, other| {
        one.send(Rank(1), 100, 0);
        other.receive(Some(Rank(0)), 0, Some(0));
        other.receive(Some(Rank(0)), 0, Some(1));
    });
    let message = "can never end: no message from rank 0 with tag 1 is left for it".to_owned();
    assert_eq!(errors, [Unsound { rank: Rank(1), operation: OperationIx(1), message }]);
}

#[test]
fn receives_that_are_too_small_are_found() {
    let errors = two(|one, other| {
        one.send(Rank(1), 100, 0);
        other.receive(Some(Rank(0)), 99, Some(0));
    });
    let message = "receives 99 B, but the message from rank 0 with tag 0 has 100 B".to_owned();
    assert_eq!(errors, [Unsound { rank: Rank(1), operation: OperationIx(0), message }]);
}

/// An operation that waits for the start of another one does not wait for its end.
#[test]
fn waits_for_starts_are_no_waits_for_ends() {
    for (after, is_sound) in [(After::Start, true), (After::End, false)] {
        let errors = two(|one, other| {
            let receive = one.receive(Some(Rank(1)), 0, Some(0));
            let send = one.send(Rank(1), 100, 0);
            one.wait(send, receive, after);
            let answered = other.receive(Some(Rank(0)), 0, Some(0));
            let answer = other.send(Rank(0), 100, 0);
            other.wait(answer, answered, After::End);
        });
        assert_eq!(errors.is_empty(), is_sound, "{errors:?}");
    }
}

/// Of two receives that wait for one message, one never ends, at any rank.
#[test]
fn receives_that_compete_for_one_message_are_found() {
    for receiver in [0, 1] {
        let errors = two(|one, other| {
            let (to, from) = if receiver == 0 { (one, other) } else { (other, one) };
            to.receive(Some(Rank(1 - receiver)), 0, Some(0));
            to.receive(Some(Rank(1 - receiver)), 0, Some(0));
            from.send(Rank(receiver), 100, 0);
        });
        let message = format!("can never end: no message from rank {} with tag 0 is left for it", 1 - receiver);
        assert_eq!(errors, [Unsound { rank: Rank(receiver), operation: OperationIx(1), message }]);
    }
}

/// Rank 1 sends its second message only after an answer. With `then`, the answer follows the
/// receive that must come first. If the receives may start in any order, the order decides.
#[test]
fn competing_receives_are_refused_only_if_their_order_is_known() {
    let build = |is_ordered: bool, answers: usize| {
        two(|one, other| {
            let receives = [one.receive(Some(Rank(1)), 0, Some(0)), one.receive(Some(Rank(1)), 0, Some(0))];
            if is_ordered {
                one.wait(receives[1], receives[0], After::End);
            }
            let answer = one.send(Rank(1), 100, 0);
            one.wait(answer, receives[answers], After::End);
            other.send(Rank(0), 100, 0);
            let answered = other.receive(Some(Rank(0)), 0, Some(0));
            let second = other.send(Rank(0), 100, 0);
            other.wait(second, answered, After::End);
        })
    };
    assert_eq!(build(true, 0), []);
    assert_eq!(build(false, 0), []);
    assert_eq!(build(false, 1), []);
    let errors = build(true, 1);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.starts_with("can never start: "), "{errors:?}");
}

/// With a receive from any rank, the order of arrivals decides which messages it takes.
/// Operations of one rank that wait for each other never start in any order.
#[test]
fn wildcards_hide_only_waits_for_messages() {
    let errors = two(|one, other| {
        one.receive(None, 0, None);
        one.receive(Some(Rank(1)), 0, Some(0));
        other.send(Rank(0), 100, 0);
        other.send(Rank(0), 100, 1);
    });
    assert_eq!(errors, []);
    let errors = two(|one, other| {
        one.receive(None, 0, None);
        one.receive(Some(Rank(1)), 0, Some(0));
        other.send(Rank(0), 100, 0);
    });
    let message = "can never end: no message is left for it".to_owned();
    assert_eq!(errors, [Unsound { rank: Rank(0), operation: OperationIx(1), message }]);
    let errors = two(|one, other| {
        one.receive(None, 0, Some(0));
        other.send(Rank(0), 100, 0);
        let computations = [1, 2].map(|length| one.compute(Duration::from_us(length), StreamIx(0)));
        one.wait(computations[0], computations[1], After::End);
        one.wait(computations[1], computations[0], After::Start);
    });
    let message = "can never start: the computation of 1 us (operation 1 of rank 0) waits for the computation of 2 us (operation 2 of rank 0), \
        which waits for the computation of 1 us (operation 1 of rank 0)";
    assert_eq!(errors, [Unsound { rank: Rank(0), operation: OperationIx(1), message: message.to_owned() }]);
}
