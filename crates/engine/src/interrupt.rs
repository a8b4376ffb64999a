//! Interruption of long work, such as planning.
//!
//! Long work calls [`check`] between its steps. If [`interruptible`] started the work and its poll
//! fails, `check` unwinds the stack to `interruptible`. The work needs no parameters and no results
//! for interruptions (`docs/decisions/0021-interruption.md`).

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Wall-clock time between two polls.
const INTERVAL: Duration = Duration::from_millis(20);

/// Poll of the work in progress on a thread.
struct Watch {
    /// Returns the payload of an interruption, if the work must end.
    poll: Box<dyn FnMut() -> Option<Box<dyn Any + Send>>>,
    next: Instant,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Error of a poll, on its way from [`check`] to [`interruptible`].
struct Interruption<E>(E);

/// Runs `work` on this thread. The work's calls of [`check`] call `poll` from time to time.
///
/// # Errors
/// The error of `poll`, which ends the work. All values of the work are dropped.
pub fn interruptible<T, E: Send + 'static>(
    mut poll: impl FnMut() -> Result<(), E> + 'static,
    work: impl FnOnce() -> T,
) -> Result<T, E> {
    let poll = move || -> Option<Box<dyn Any + Send>> { Some(Box::new(Interruption(poll().err()?))) };
    let outer = WATCH.replace(Some(Watch { poll: Box::new(poll), next: Instant::now() }));
    // Unwind safe: after an error, callers drop what they have lent to the work.
    let result = catch_unwind(AssertUnwindSafe(work));
    WATCH.set(outer);
    result.or_else(|payload| match payload.downcast::<Interruption<E>>() {
        Ok(interruption) => Err(interruption.0),
        Err(panic) => resume_unwind(panic),
    })
}

/// Ends the work in progress on this thread if its poll fails. Calls the poll at most every 20 ms.
pub fn check() {
    let is_due = |watch: &mut Watch| Instant::now() >= watch.next;
    // The poll may itself run interruptible work, so it must not be borrowed.
    let Some(mut watch) = WATCH.with_borrow_mut(|watch| watch.take_if(is_due)) else { return };
    let payload = (watch.poll)();
    watch.next = Instant::now() + INTERVAL;
    WATCH.set(Some(watch));
    if let Some(payload) = payload {
        resume_unwind(payload);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    /// Returns a poll that fails with `error` at its `calls`-th call.
    fn fails_at(mut calls: u32, error: &'static str) -> impl FnMut() -> Result<(), &'static str> {
        move || {
            calls -= 1;
            if calls == 0 { Err(error) } else { Ok(()) }
        }
    }

    fn endless() {
        loop {
            check();
            sleep(INTERVAL / 4);
        }
    }

    #[test]
    fn work_ends_when_its_poll_fails() {
        assert_eq!(interruptible(fails_at(3, "stop"), endless), Err("stop"));
        assert_eq!(interruptible(fails_at(3, "stop"), || 5), Ok(5));
        // Nothing polls outside.
        check();
    }

    /// A poll may run work, and work may contain interruptible work.
    #[test]
    fn work_may_contain_work() {
        let outer = || {
            assert_eq!(interruptible(fails_at(2, "inner"), endless), Err("inner"));
            endless();
        };
        let mut within = fails_at(2, "outer");
        let poll = move || {
            assert_eq!(interruptible(fails_at(1, "poll"), endless), Err("poll"));
            within()
        };
        assert_eq!(interruptible(poll, outer), Err("outer"));
    }

    #[test]
    #[should_panic(expected = "a fault of the work")]
    fn other_panics_pass() {
        let _ = interruptible(fails_at(1, "stop"), || panic!("a fault of the work"));
    }
}
