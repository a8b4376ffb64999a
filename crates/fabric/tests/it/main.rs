//! Tests of the model, its mechanisms and its driver through their public interface: one binary
//! with a module per subject.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[macro_use]
#[path = "../common/mod.rs"]
mod common;

mod balancers;
mod bfc;
mod closed_forms;
mod congestion;
mod connections;
mod contract;
mod deadlock;
mod determinism;
mod dsh;
mod faults;
mod flb;
mod flb_switch;
mod flowlets;
mod headroom;
mod hooks;
mod ledger;
mod lossless;
mod lossy;
mod mp_rdma;
mod pairs;
mod pcn;
mod per_hop;
mod pfc;
mod pfc_star;
mod port_fc;
mod prelude;
mod probe;
mod promises;
mod proteus;
mod pyrrha;
mod pyrrha_merges;
mod pyrrha_networks;
mod relay_hooks;
mod relays;
mod reordering;
mod rerouting;
mod sender_hooks;
mod signals;
mod srcc;
mod srcc_switch;
mod stopping;
mod swift;
mod switch_hooks;
mod threads;
mod timers;
mod trace;
mod waiting;
