//! Long-lived flows between listed pairs of hosts.

use super::config::{CommonConfig, TrafficOptions};
use super::part::Part;
use backwater_fabric::network::spec::FlowSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Long-lived flows, which send from `start` until the run ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LongLivedConfig {
    /// Options that all kinds share.
    #[serde(flatten)]
    pub common: CommonConfig,
    /// Pairs of source and destination: `[["h0", "h4"], ["h1", "h4"]]`.
    pub pairs: Vec<(String, String)>,
}

impl TrafficOptions for LongLivedConfig {
    fn generate(&self, part: &mut Part) -> Option<()> {
        for (i, (src, dst)) in self.pairs.iter().enumerate() {
            let (src_key, dst_key) = (format!(".pairs[{i}][0]"), format!(".pairs[{i}][1]"));
            if let Some((src, dst)) = part.endpoints((&src_key, src), (&dst_key, dst)) {
                part.push(part.flow(src, dst, FlowSpec::ENDLESS, part.window.start));
            }
        }
        if self.pairs.is_empty() {
            part.error(".pairs", "must not be empty");
        }
        part.note(format!("{} long-lived flows", self.pairs.len()));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::*;

    #[test]
    fn wrong_options_are_rejected() {
        check_rejected(&[
            (
                "{ kind = \"long-lived\", pairs = [[\"h0\", \"h0\"], [\"h1\", \"hh2\"]] }",
                "traffic[0].pairs[0][1]: \"h0\" cannot send to itself\ntraffic[0].pairs[1][1]: there is no host \
                 \"hh2\"; did you mean \"h12\"?",
            ),
            (
                "{ kind = \"long-lived\", pairs = [[\"h0\", \"h1\"]] }, { kind = \"long-lived\", role = \"incast\", \
                    pairs = [[\"h0\", \"h1\"]] }",
                "traffic[1].role: must equal the role of the earlier part with the tag \"long-lived\"",
            ),
            ("{ kind = \"long-lived\", pairs = [] }", "traffic[0].pairs: must not be empty"),
        ]);
    }
}
