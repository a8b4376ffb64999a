//! Congestion control slot: congestion point (switch), notification point (receiver), reaction
//! point (sender).

pub mod dcqcn;
pub mod ecn;
pub mod flb_rc;
pub mod hpcc;
pub mod mp_rdma;
pub mod none;
mod parameters;
pub mod pcn;
pub mod power_tcp;
pub mod srcc;
pub mod swift;
pub mod telemetry;
pub mod timely;
mod window;

#[allow(unused_imports, reason = "macros generate methods that use them")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// End-to-end congestion control.
    pub enum CongestionConfig, factory CongestionFactory;
    instances AnyCongestionPoint: CongestionPoint + PipelineHooks, of CongestionOptions::Point,
    by point(site: &Site<'_>) or boxed_point;
    instances AnyNotificationPoint: NotificationPoint, of CongestionOptions::Notification,
    by notification(line_rate: Rate) or boxed_notification;
    instances AnyReactionPoint: ReactionPoint, of CongestionOptions::Reaction,
    by reaction(sender: &SenderFacts) or boxed_reaction;
    mechanisms {
        None = "none": none::NoneConfig;
        Dcqcn = "dcqcn": dcqcn::DcqcnConfig;
        Hpcc = "hpcc": hpcc::HpccConfig;
        Timely = "timely": timely::TimelyConfig;
        PowerTcp = "power-tcp": power_tcp::PowerTcpConfig;
        Swift = "swift": swift::SwiftConfig;
        Pcn = "pcn": pcn::PcnConfig;
        Srcc = "srcc": srcc::SrccConfig;
        FlbRc = "flb-rc": flb_rc::FlbRcConfig;
        MpRdma = "mp-rdma": mp_rdma::MpRdmaConfig;
    }
}
