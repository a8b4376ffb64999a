//! PFC*: PFC with a lossless class per switch on a packet's path, so that PAUSEs cannot form a
//! cycle (section 5.1 of PortFC's paper, after Tagger).
//!
//! A packet moves up one class when it arrives from another switch and when a server relays it. A
//! full ingress queue pauses the class in which its packets arrived: Tagger's transition between
//! queues.

use super::pfc::{PauseModel, Pfc, PfcConfig};
use crate::contract::{
    Diagnostics, FlowControlContext, FlowControlFacts, FlowControlOptions, Neighbour, Options, Shape, Site,
};
use crate::ids::{CLASSES, Class, ClassMask, PortIx};
use backwater_engine::Duration;
use backwater_engine::index::IndexVec;
use get_size2::GetSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// PFC with a lossless class for each switch on a path, which prevents deadlock (PortFC's PFC*,
/// after Tagger, CoNEXT 2017). From switch to switch, a packet moves up to the next higher class
/// of `switch.lossless`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PfcStarConfig {
    /// Duration of a PAUSE, as with `pfc`.
    pub pause: PauseModel,
    /// Pause time in quanta of 512 bit times that a PAUSE frame carries. Default 65535, the
    /// longest.
    #[schemars(range(min = 1))]
    pub quanta: u16,
    /// Time from a PFC frame's arrival to its effect at the receiver. Default 0.
    pub response: Duration,
}

impl Default for PfcStarConfig {
    fn default() -> Self {
        let PfcConfig { pause, quanta, response, .. } = PfcConfig::default();
        PfcStarConfig { pause, quanta, response }
    }
}

impl PfcStarConfig {
    fn pfc(&self) -> PfcConfig {
        let PfcStarConfig { pause, quanta, response } = *self;
        PfcConfig { pause, quanta, response, ..Default::default() }
    }
}

impl Options for PfcStarConfig {
    fn applies(&self, shape: &Shape) -> Result<(), String> {
        let classes = shape.lossless.iter().count();
        if shape.stages > classes {
            return Err(format!(
                "pfc-star needs one lossless class per switch of a path: paths have up to {} switches, but \
                    switch.lossless has {classes}",
                shape.stages
            ));
        }
        Ok(())
    }
}

impl FlowControlOptions for PfcStarConfig {
    /// Boxed, so that the common per-packet path of switches without PFC* is compiled once.
    type Instance = Box<Pfc>;

    fn facts(&self, is_host: bool) -> FlowControlFacts {
        FlowControlFacts { raises_classes: true, ..self.pfc().facts(is_host) }
    }

    fn check_among(&self, network: &FlowControlContext<'_>, diagnostics: &mut Diagnostics) {
        self.pfc().check_among(network, diagnostics);
    }

    fn build(&self, site: &Site<'_>) -> Box<Pfc> {
        let raises = |neighbour: &Neighbour| site.relays || !site.is_host && !neighbour.is_host;
        let raises: Vec<bool> = site.neighbours.iter().map(raises).collect();
        let pfc = Pfc::new(&self.pfc(), site);
        let has_any = raises.contains(&true);
        Box::new(if has_any { pfc.raising(Raises { next: ladder(site.lossless), raises: raises.into() }) } else { pfc })
    }
}

/// Packets that move up a class.
#[derive(Debug, GetSize)]
pub(super) struct Raises {
    /// Next higher class of each class.
    next: [Class; CLASSES],
    /// True for each ingress port whose packets move up.
    raises: IndexVec<PortIx, bool>,
}

impl Raises {
    /// Returns the egress class of a packet that arrived at `ingress` in class `came`.
    pub(super) fn class(&self, ingress: PortIx, came: Class) -> Class {
        if self.raises[ingress] { self.next[came.index()] } else { came }
    }
}

/// Maps each lossless class to the next. The last class and classes that are not lossless stay the
/// same.
fn ladder(lossless: ClassMask) -> [Class; CLASSES] {
    let mut next = [0, 1, 2, 3, 4, 5, 6, 7].map(Class);
    for (class, above) in lossless.iter().zip(lossless.iter().skip(1)) {
        next[class.index()] = above;
    }
    next
}
