//! Parts of test mechanisms: a shared log, and macros for the options of a slot.

use backwater_engine::{Rate, Time};
use backwater_fabric::contract::{Entropy, LoadBalanceOptions, Options, PathChoice, ReactionPoint, SenderFacts, Site};
use backwater_fabric::frame::Psn;
use backwater_fabric::mechanisms::load_balance::ecmp::{Ecmp, EcmpConfig};
use std::sync::{Arc, Mutex};

/// Events recorded by all instances of a test mechanism.
#[derive(Debug)]
pub struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Log<T> {
    pub fn push(&self, event: T) {
        self.0.lock().unwrap().push(event);
    }

    /// Removes and returns all events.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<T: Ord> Log<T> {
    /// Removes all events and returns them in ascending order.
    pub fn take_sorted(&self) -> Vec<T> {
        let mut events = self.take();
        events.sort_unstable();
        events
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Log<T> {
        Log(self.0.clone())
    }
}

impl<T> Default for Log<T> {
    fn default() -> Log<T> {
        Log(Arc::default())
    }
}

/// Reaction point with a constant rate.
pub struct FixedRate(pub Rate);

impl ReactionPoint for FixedRate {
    fn rate(&mut self, _now: Time) -> Rate {
        self.0
    }
}

/// Load balancer that cycles through sixteen paths at the sender. If there is a log, the path of
/// every ACK and NACK is recorded, and whether the ACK or NACK is marked.
#[derive(Clone, Debug)]
pub struct PathCycling(pub Option<Log<(Entropy, bool)>>);

impl Options for PathCycling {}

impl LoadBalanceOptions for PathCycling {
    type Instance = Ecmp;

    fn is_static(&self) -> bool {
        true
    }

    fn build(&self, site: &Site<'_>) -> Ecmp {
        EcmpConfig {}.build(site)
    }

    fn chooses_paths(&self) -> bool {
        true
    }

    fn path_choice(&self, _sender: &SenderFacts) -> Option<Box<dyn PathChoice>> {
        Some(Box::new(self.clone()))
    }
}

impl PathChoice for PathCycling {
    fn next(&mut self, psn: Psn, _now: Time) -> Entropy {
        Entropy((psn % 16) as u16)
    }

    fn on_answer(&mut self, path: Entropy, marked: bool, _now: Time) {
        if let Some(log) = &self.0 {
            log.push((path, marked));
        }
    }
}

/// Makes `$options` the options of a flow control that does not count packets or bytes.
macro_rules! flow_control {
    ($options:ty, $instance:ty: |$this:ident, $site:ident| $build:expr $(, $facts:expr)?) => {
        impl Options for $options {}
        impl FlowControlAccounts for $instance {}

        impl FlowControlOptions for $options {
            type Instance = $instance;

            fn facts(&self, _is_host: bool) -> FlowControlFacts {
                FlowControlFacts { $(protocols: vec![$facts],)? ..Default::default() }
            }

            fn build(&self, $site: &Site<'_>) -> $instance {
                let $this = self;
                $build
            }
        }
    };
}

/// Makes `$options` the options of a congestion control without notification point. The methods of
/// `CongestionOptions` that `$flag` lists return true.
macro_rules! congestion_control {
    ($options:ty, $reaction:ty: |$this:ident, $sender:ident| $build:expr $(, $flag:ident)*) => {
        impl Options for $options {}

        impl CongestionOptions for $options {
            backwater_fabric::no_congestion_point!();
            congestion_control!(@senders $reaction: |$this, $sender| $build $(, $flag)*);
        }
    };
    (
        $options:ty,
        $point:ty: |$this:ident, $site:ident| $build_point:expr,
        $reaction:ty: |$that:ident, $sender:ident| $build:expr $(, $flag:ident)*
    ) => {
        impl Options for $options {}
        impl CongestionPoint for $point {}

        impl CongestionOptions for $options {
            type Point = $point;

            fn point(&self, $site: &Site<'_>) -> $point {
                let $this = self;
                $build_point
            }

            congestion_control!(@senders $reaction: |$that, $sender| $build $(, $flag)*);
        }
    };
    (@senders $reaction:ty: |$this:ident, $sender:ident| $build:expr $(, $flag:ident)*) => {
        backwater_fabric::no_notification_point!();
        type Reaction = $reaction;

        fn reaction(&self, $sender: &SenderFacts) -> $reaction {
            let $this = self;
            $build
        }

        $(fn $flag(&self) -> bool {
            true
        })*
    };
}

/// Makes `$options` the options of a load balancer that runs in switches.
macro_rules! load_balancer {
    ($options:ty, $instance:ty: |$this:ident, $site:ident| $build:expr) => {
        impl Options for $options {}

        impl LoadBalanceOptions for $options {
            type Instance = $instance;

            fn build(&self, $site: &Site<'_>) -> $instance {
                let $this = self;
                $build
            }
        }
    };
}
