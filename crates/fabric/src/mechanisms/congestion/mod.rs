//! Slot *congestion control*: congestion point (switch), notification point (receiver), reaction point (sender).

pub mod dcqcn;
pub mod ecn;
pub mod hpcc;
pub mod none;
pub mod pcn;
pub mod power_tcp;
pub mod swift;
pub mod telemetry;
pub mod timely;
mod window;

#[allow(unused_imports, reason = "for the methods that are generated")]
use crate::contract::signatures::*;
use crate::mechanisms::registry::registry;

registry! {
    /// End-to-end congestion control.
    pub enum CongestionConfig, factory CongestionFactory;
    instances AnyCongestionPoint: CongestionPoint + Station, of CongestionOptions::Point,
    by point(site: &Site<'_>) or boxed_point;
    instances AnyNotificationPoint: NotificationPoint, of CongestionOptions::Notification,
    by notification(line_rate: Rate) or boxed_notification;
    instances AnyReactionPoint: ReactionPoint, of CongestionOptions::Reaction,
    by reaction(sender: &SenderFacts) or boxed_reaction;
    mechanisms {
        /// None: every flow sends at line rate.
        None = "none": none::NoneConfig;
        /// DCQCN: ECN marks, CNPs, rate control at the sender (SIGCOMM 2015).
        Dcqcn = "dcqcn": dcqcn::DcqcnConfig;
        /// HPCC: in-band telemetry and window control (SIGCOMM 2019).
        Hpcc = "hpcc": hpcc::HpccConfig;
        /// TIMELY: rate control by the gradient of round-trip times (SIGCOMM 2015).
        Timely = "timely": timely::TimelyConfig;
        /// PowerTCP: window control by the product of queue length and arrival rate, from telemetry or from delays (NSDI 2022).
        PowerTcp = "power-tcp": power_tcp::PowerTcpConfig;
        /// Swift: window control by the distance of delays from a target (SIGCOMM 2020).
        Swift = "swift": swift::SwiftConfig;
        /// PCN: marks that leave out victims of PAUSEs, and senders that fall to the rate of arrival (NSDI 2020).
        Pcn = "pcn": pcn::PcnConfig;
    }
}
