//! Mechanisms from other crates in a scenario: diagnostics match those of built-in mechanisms, and
//! the resolved scenario can be read again.

use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::{
    CongestionOptions, Diagnostics, FlowControlFacts, FlowControlOptions, Options, SchemeContext, SenderFacts, Shape,
    Site,
};
use backwater_fabric::mechanisms::congestion::{
    AnyCongestionPoint, AnyNotificationPoint, AnyReactionPoint, CongestionConfig,
};
use backwater_fabric::mechanisms::flow_control::FlowControlConfig;
use backwater_fabric::mechanisms::flow_control::none::NoneConfig;
use backwater_scenario::{Diagnostic, Document, Plan, explain};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Once;

/// Options of a flow control that does nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct IdleConfig {
    /// Start of an interval. Default 1 us.
    from: Duration,
    /// End of the interval. Default 2 us.
    to: Duration,
    /// A word with initial "a". Default `all`.
    word: Word,
    /// Number of links. Default 3.
    #[schemars(range(min = 1, max = 8))]
    links: u32,
}

/// Word with initial "a". The JSON schema does not express this rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
struct Word(String);

impl TryFrom<String> for Word {
    type Error = String;

    fn try_from(word: String) -> Result<Word, String> {
        if word.starts_with('a') { Ok(Word(word)) } else { Err(format!("{word} does not begin with an a")) }
    }
}

impl Default for IdleConfig {
    fn default() -> IdleConfig {
        IdleConfig { from: Duration::from_us(1), to: Duration::from_us(2), word: Word("all".into()), links: 3 }
    }
}

impl Options for IdleConfig {
    fn check(&self, _scheme: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        diagnostics.ordered([("from", self.from), ("to", self.to)]);
    }

    fn applies(&self, shape: &Shape) -> Result<(), String> {
        if shape.layers > 1 { Err("runs in a star alone".into()) } else { Ok(()) }
    }
}

impl FlowControlOptions for IdleConfig {
    type Instance = <NoneConfig as FlowControlOptions>::Instance;

    fn facts(&self, is_host: bool) -> FlowControlFacts {
        NoneConfig::default().facts(is_host)
    }

    fn build(&self, site: &Site<'_>) -> Self::Instance {
        NoneConfig::default().build(site)
    }
}

/// Options of a congestion control that delegates to another.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct AroundConfig {
    /// The other congestion control.
    base: CongestionConfig,
}

impl Options for AroundConfig {
    fn check(&self, context: &SchemeContext<'_>, diagnostics: &mut Diagnostics) {
        self.base.options().check(context, diagnostics);
    }
}

impl CongestionOptions for AroundConfig {
    type Point = AnyCongestionPoint;
    type Notification = AnyNotificationPoint;
    type Reaction = AnyReactionPoint;

    fn point(&self, site: &Site<'_>) -> AnyCongestionPoint {
        self.base.point(site)
    }

    fn notification(&self, line_rate: Rate) -> AnyNotificationPoint {
        self.base.notification(line_rate)
    }

    fn reaction(&self, sender: &SenderFacts) -> AnyReactionPoint {
        self.base.reaction(sender)
    }
}

fn planned(topology: &str, options: &str) -> Result<(Document, Plan), Vec<String>> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| FlowControlConfig::register::<IdleConfig>("idle", "4.5").expect("an unused name"));
    let text = format!(
        "[switch]\nlossless = []\nflow_control = {{ {options} }}\n[topology]\n{topology}\n[[traffic]]\nkind = \
            \"permutation\"\nsizes = \"10 KB\"\n"
    );
    let document = Document::from_toml("s.toml", &text).expect("valid TOML");
    let plan = Plan::from_document(&document, Path::new("."));
    let messages = |diagnostics: Vec<Diagnostic>| diagnostics.iter().map(ToString::to_string).collect();
    plan.map(|plan| (document, plan)).map_err(messages)
}

const STAR: &str = "kind = \"star\"\nhosts = 4";

#[test]
fn errors_name_the_position_and_the_allowed_values() {
    let names = FlowControlConfig::NAMES.join(", ");
    for (options, message) in [
        (
            r#"kind = "idel""#,
            format!(
                "3:25: error: switch.flow_control.kind = \"idel\": unknown name; did you mean \"idle\"? (allowed: \
                {names}, idle)"
            ),
        ),
        (
            r#"kind = "idle", form = "1 us""#,
            "3:33: error: switch.flow_control.form: unknown key; did you mean \"from\"? (allowed: kind, from, to, \
                word, links)"
                .into(),
        ),
        (
            r#"kind = "idle", from = "1""#,
            "3:40: error: switch.flow_control.from = \"1\": has no unit; write for example \"1 us\" (units: ps, ns, \
                us, ms, s)"
                .into(),
        ),
        (r#"kind = "idle", links = 9"#, "3:41: error: switch.flow_control.links = 9: must be from 1 to 8".into()),
        (
            r#"kind = "idle", from = "3 us""#,
            "3:40: error: switch.flow_control.from = \"3 us\": must be at most to, 2 us".into(),
        ),
        (r#"kind = "idle", word = "none""#, "3:16: error: switch.flow_control: none does not begin with an a".into()),
    ] {
        assert_eq!(planned(STAR, options).unwrap_err(), [format!("s.toml:{message}")], "{options}");
    }
    let refused = planned("kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2", r#"kind = "idle""#);
    let refused = refused.unwrap_err();
    assert!(refused.len() == 1 && refused[0].ends_with("runs in a star alone"), "{refused:?}");
}

#[test]
fn resolved_options_are_read_again_and_explained() {
    let (document, plan) = planned(STAR, r#"kind = "idle", to = "5 us""#).unwrap();
    let resolved = plan.resolved();
    let written = serde_json::json!({ "kind": "idle", "from": "1 us", "to": "5 us", "word": "all", "links": 3 });
    assert_eq!(resolved["switch"]["flow_control"], written);
    let again = Plan::from_document(&Document::from_json(&resolved), Path::new(".")).unwrap();
    assert_eq!(again.resolved(), resolved);
    let settings = explain(&document, &plan);
    let origin = |path: &str| settings.iter().find(|it| it.path == path).unwrap().origin.clone();
    assert_eq!(origin("switch.flow_control.to"), "s.toml:3");
    assert_eq!(origin("switch.flow_control.from"), "default");
    assert_eq!(Vec::from_iter(plan.spec().plug_ins()), [("flow_control.idle".to_owned(), "4.5")]);
}

/// Nested options of a mechanism in the same slot are read and checked like all options.
#[test]
fn nested_mechanism_options_are_read_and_explained() {
    CongestionConfig::register::<AroundConfig>("around", "1").unwrap();
    let planned = |base: &str| {
        let text = format!(
            "[congestion_control]\nkind = \"around\"\nbase = {{ {base} }}\n[topology]\nkind = \"star\"\nhosts = \
                4\n[[traffic]]\nkind = \"permutation\"\nsizes = \"10 KB\"\n"
        );
        let document = Document::from_toml("s.toml", &text).expect("valid TOML");
        let plan = Plan::from_document(&document, Path::new("."));
        plan.map(|plan| (document, plan))
            .map_err(|diagnostics| diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let (document, plan) = planned(r#"kind = "dcqcn", gain = 0.125"#).unwrap();
    let resolved = plan.resolved();
    assert_eq!(resolved["congestion_control"]["base"]["gain"], 0.125);
    let again = Plan::from_document(&Document::from_json(&resolved), Path::new(".")).unwrap();
    assert_eq!(again.resolved(), resolved);
    let settings = explain(&document, &plan);
    let origin = |path: &str| settings.iter().find(|it| it.path == path).unwrap().origin.clone();
    assert_eq!(origin("congestion_control.base.gain"), "s.toml:3");
    let allowed = CongestionConfig::NAMES.join(", ");
    assert_eq!(
        planned(r#"kind = "dcqnc""#).unwrap_err(),
        [format!(
            "s.toml:3:17: error: congestion_control.base.kind = \"dcqnc\": unknown name; did you mean \"dcqcn\"? \
                (allowed: {allowed})"
        )]
    );
    let found = planned(r#"kind = "dcqcn", gain = 2"#).unwrap_err();
    assert!(found.len() == 1 && found[0].contains("congestion_control.base.gain = 2: must be "), "{found:?}");
}

/// `host.scheduler` has no effect if hosts queue frames of the control class only. Built-in flow
/// controls guarantee this. A flow control from another crate may send frames of any class.
#[test]
fn the_host_scheduler_warning_needs_a_built_in_flow_control() {
    let topology = format!("{STAR}\n[host]\nscheduler = {{ kind = \"fair\" }}");
    let warns = |options: &str| -> bool {
        let (_, plan) = planned(&topology, options).unwrap();
        plan.warnings.iter().any(|warning| warning.to_string().contains("host.scheduler: has no effect"))
    };
    assert_eq!([r#"kind = "none""#, r#"kind = "idle""#].map(warns), [true, false]);
}
