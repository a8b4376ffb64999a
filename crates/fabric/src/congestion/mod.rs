//! Slot *congestion control*: congestion point (switch), notification point (receiver), reaction point (sender).

pub mod dcqcn;
pub mod hpcc;
pub mod none;

use crate::registry::registry;

registry! {
    /// End-to-end congestion control.
    pub enum CongestionConfig: std::fmt::Debug {
        /// None: every flow sends at line rate.
        None = "none": none::NoneConfig,
        /// DCQCN: ECN marks, CNPs, rate control at the sender (SIGCOMM 2015).
        Dcqcn = "dcqcn": dcqcn::DcqcnConfig,
        /// HPCC: in-band telemetry and window control (SIGCOMM 2019).
        Hpcc = "hpcc": hpcc::HpccConfig,
    }
}
