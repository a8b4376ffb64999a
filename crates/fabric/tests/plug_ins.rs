//! Scenarios can name mechanisms of other crates, which are registered, parsed, serialised and
//! described like built-in mechanisms.

#[allow(dead_code, unused_macros, reason = "needs only some of the helpers")]
mod common;

use backwater_engine::{Duration, Rate};
use backwater_fabric::contract::Diagnostic;
use backwater_fabric::contract::{CongestionOptions, LoadBalanceOptions, Options, SenderFacts, Site};
use backwater_fabric::fixtures::{flow, leaf_spine};
use backwater_fabric::mechanisms::congestion::{
    AnyCongestionPoint, AnyNotificationPoint, AnyReactionPoint, CongestionConfig,
};
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::load_balance::spray::SprayConfig;
use backwater_fabric::network::spec::SwitchGroup;
use common::run;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::mpsc;
use std::thread;
use std::time;

/// Sprays.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Toy {
    /// Nothing. Default 1 us.
    pause: Option<Duration>,
    /// Nothing either. Default 7.
    #[schemars(range(max = 9))]
    most: u32,
    inner: Inner,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Inner {
    deep: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
enum Choice {
    Some(u32),
    None,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct HasKind {
    kind: u32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct HasItself {
    more: Vec<HasItself>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Required {
    least: u32,
}

/// A congestion control that delegates to its base.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Around {
    base: CongestionConfig,
}

/// A congestion control whose options contain the slot and, through `spare`, themselves.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Chain {
    links: Vec<CongestionConfig>,
    spare: Option<Box<Chain>>,
}

macro_rules! delegates {
    ($($name:ident to $base:ident $([$index:literal])?)+) => {
        $(impl Options for $name {}

        impl CongestionOptions for $name {
            type Point = AnyCongestionPoint;
            type Notification = AnyNotificationPoint;
            type Reaction = AnyReactionPoint;

            fn point(&self, site: &Site<'_>) -> AnyCongestionPoint {
                self.$base$([$index])?.point(site)
            }

            fn notification(&self, line_rate: Rate) -> AnyNotificationPoint {
                self.$base$([$index])?.notification(line_rate)
            }

            fn reaction(&self, sender: &SenderFacts) -> AnyReactionPoint {
                self.$base$([$index])?.reaction(sender)
            }
        })+
    };
}

delegates!(Around to base Chain to links[0]);

/// Options that register a mechanism when they are read.
#[derive(Debug, Serialize, JsonSchema)]
struct Registers {}

impl<'de> Deserialize<'de> for Registers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Registers, D::Error> {
        LoadBalanceConfig::register::<Toy>("toy-within", "1").map_err(serde::de::Error::custom)?;
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Registers {})
    }
}

/// Returns the result of `ask`. Panics if `ask` takes 20 seconds.
fn soon<T: Send + 'static>(ask: impl FnOnce() -> T + Send + 'static) -> T {
    let (answer, answers) = mpsc::channel();
    thread::spawn(move || answer.send(ask()));
    answers.recv_timeout(time::Duration::from_secs(20)).expect("the call hangs or panicked")
}

macro_rules! sprays {
    ($($name:ident)+) => {
        $(impl Options for $name {}

        impl LoadBalanceOptions for $name {
            type Instance = <SprayConfig as LoadBalanceOptions>::Instance;

            fn reorders(&self) -> bool {
                SprayConfig::default().reorders()
            }

            fn build(&self, site: &Site<'_>) -> Self::Instance {
                SprayConfig::default().build(site)
            }
        })+
    };
}

sprays!(Toy Choice HasKind HasItself Required Registers);

fn read(value: Value) -> Result<LoadBalanceConfig, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[test]
fn what_is_registered_is_read_and_written_with_its_defaults() {
    LoadBalanceConfig::register::<Toy>("toy-read", "1.2.3").unwrap();
    let config = read(json!({ "most": 3, "kind": "toy-read" })).unwrap();
    assert_eq!((config.name(), config.plug_in()), ("toy-read", Some(("toy-read", "1.2.3"))));
    let written = json!({ "kind": "toy-read", "pause": null, "most": 3, "inner": { "deep": false } });
    assert_eq!(serde_json::to_value(&config).unwrap(), written);
    assert_eq!(serde_json::to_value(read(written.clone()).unwrap()).unwrap(), written);
    let error = read(json!({ "kind": "toy-read", "most": "three" })).unwrap_err();
    assert!(error.starts_with("invalid type: string \"three\", expected u32"), "{error}");
}

#[test]
fn what_is_not_registered_is_neither_read_nor_written() {
    let error = read(json!({ "kind": "toy-other" })).unwrap_err();
    assert!(error.starts_with("unknown variant `toy-other`, expected one of `ecmp`, "), "{error}");
    let config = LoadBalanceConfig::custom(Toy::default());
    assert_eq!((config.name(), config.plug_in()), ("custom", None));
    let error = serde_json::to_value(&config).unwrap_err().to_string();
    assert_eq!(error, "the mechanism is not registered, so it has no name in scenarios");
    // Built-ins are unchanged.
    let ecmp = read(json!({ "kind": "ecmp" })).unwrap();
    assert_eq!((ecmp.name(), ecmp.plug_in()), ("ecmp", None));
    assert_eq!(serde_json::to_value(&ecmp).unwrap()["kind"], "ecmp");
    assert!(read(json!({})).unwrap_err().starts_with("missing field `kind`"));
}

#[test]
fn the_schema_describes_it_like_a_built_in() {
    LoadBalanceConfig::register::<Toy>("toy-described", "1").unwrap();
    LoadBalanceConfig::register::<Required>("toy-required", "1").unwrap();
    let schema = schema_for!(LoadBalanceConfig).to_value();
    let kind = |name| {
        let is_it = |kind: &&Value| kind["properties"]["kind"]["const"] == name;
        schema["oneOf"].as_array().unwrap().iter().find(is_it).unwrap()
    };
    let toy = kind("toy-described");
    let built_in = kind("ecmp");
    for keyword in ["type", "required"] {
        assert_eq!(toy[keyword], built_in[keyword], "{keyword}");
    }
    assert_eq!(toy["properties"]["kind"], json!({ "type": "string", "const": "toy-described" }));
    assert_eq!(toy["description"], "Sprays.");
    assert_eq!(toy["additionalProperties"], false);
    let fields: Vec<_> = toy["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["kind", "pause", "most", "inner"]);
    assert_eq!(toy["properties"]["most"]["maximum"], 9);
    assert_eq!(toy["properties"]["inner"]["properties"]["deep"]["type"], "boolean");
    assert_eq!(kind("toy-required")["required"], json!(["kind", "least"]));
}

#[test]
fn names_are_given_once_and_options_are_tables() {
    LoadBalanceConfig::register::<Toy>("toy-twice", "1").unwrap();
    let refused = |result: Result<(), Diagnostic>| result.unwrap_err().message;
    let message = refused(LoadBalanceConfig::register::<Toy>("toy-twice", "2"));
    assert!(
        message.starts_with("mechanism \"toy-twice\": the name is already in use (used names: ecmp, "),
        "{message}"
    );
    assert!(refused(LoadBalanceConfig::register::<Toy>("spray", "1")).contains("the name is already in use"));
    for name in ["", "Toy", "my toy"] {
        let message = refused(LoadBalanceConfig::register::<Toy>(name, "1"));
        assert_eq!(
            message,
            format!(
                "mechanism \"{name}\": the name must consist of one or more lower-case letters, digits and hyphens"
            )
        );
    }
    assert_eq!(
        refused(LoadBalanceConfig::register::<Choice>("toy-choice", "1")),
        "mechanism \"toy-choice\": its options must be a struct with named fields; without options, use struct Config \
            {}"
    );
    assert_eq!(
        refused(LoadBalanceConfig::register::<HasKind>("toy-kind", "1")),
        "mechanism \"toy-kind\": no option may be called kind: that key names the mechanism"
    );
    assert_eq!(
        refused(LoadBalanceConfig::register::<HasItself>("toy-itself", "1")),
        "mechanism \"toy-itself\": its options must not be recursive"
    );
    assert!(read(json!({ "kind": "toy-kind" })).is_err());
}

#[test]
fn it_runs_as_the_same_mechanism_does_inline_and_the_network_tells_its_version() {
    LoadBalanceConfig::register::<Toy>("toy-spray", "0.9").unwrap();
    let mut spec = leaf_spine(2, 2, 2);
    let flows = || vec![flow(0, 2, 50_000, 0), flow(1, 3, 50_000, 0)];
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig::default());
    assert!(spec.plug_ins().is_empty());
    let inline = run(&spec, flows()).0.fingerprint();
    spec.load_balance = read(json!({ "kind": "toy-spray" })).unwrap();
    let boxed = run(&spec, flows()).0.fingerprint();
    assert_eq!(inline, boxed);
    spec.groups = vec![SwitchGroup { switches: Vec::new(), flow_control: None, headroom: None }];
    assert_eq!(Vec::from_iter(spec.plug_ins()), [("load_balance.toy-spray".to_owned(), "0.9")]);
}

#[test]
fn options_may_contain_a_mechanism_of_their_own_slot() {
    soon(|| CongestionConfig::register::<Around>("around", "1")).unwrap();
    let written = json!({ "kind": "around", "base": { "kind": "dcqcn" } });
    let config: CongestionConfig = serde_json::from_value(written).unwrap();
    let resolved = serde_json::to_value(&config).unwrap();
    let base = serde_json::to_value(CongestionConfig::Dcqcn(Default::default())).unwrap();
    assert_eq!(resolved, json!({ "kind": "around", "base": base }));
    assert_eq!(
        serde_json::to_value(serde_json::from_value::<CongestionConfig>(resolved.clone()).unwrap()).unwrap(),
        resolved
    );
    let unknown = json!({ "kind": "around", "base": { "kind": "dcqnc" } });
    let error = serde_json::from_value::<CongestionConfig>(unknown).unwrap_err().to_string();
    assert!(error.starts_with("unknown variant `dcqnc`, expected one of `none`, "), "{error}");
}

/// Options may contain any built-in mechanism of the slot, and any mechanism that was registered
/// earlier.
#[test]
fn the_schema_says_which_mechanisms_of_the_slot_options_may_contain() {
    soon(|| CongestionConfig::register::<Around>("around-first", "1")).unwrap();
    soon(|| CongestionConfig::register::<Around>("around-second", "1")).unwrap();
    let schema = schema_for!(CongestionConfig).to_value();
    let kinds = |schema: &Value| -> Vec<String> {
        let kinds = schema["oneOf"].as_array().unwrap().iter();
        kinds.map(|kind| kind["properties"]["kind"]["const"].as_str().unwrap().to_owned()).collect()
    };
    let base_of = |name: &str| {
        let all = schema["oneOf"].as_array().unwrap();
        let it = all.iter().find(|kind| kind["properties"]["kind"]["const"] == name).unwrap();
        kinds(&it["properties"]["base"])
    };
    let (first, second) = (base_of("around-first"), base_of("around-second"));
    let number = CongestionConfig::NAMES.len();
    assert!(first[..number] == *CongestionConfig::NAMES && second[..number] == *CongestionConfig::NAMES, "{first:?}");
    let has = |kinds: &[String], name: &str| kinds.iter().any(|kind| kind == name);
    assert!(!has(&first, "around-first") && !has(&first, "around-second"), "{first:?}");
    assert!(has(&second, "around-first") && !has(&second, "around-second"), "{second:?}");
}

#[test]
fn options_that_contain_themselves_beside_their_slot_are_refused() {
    let refused = soon(|| CongestionConfig::register::<Chain>("chain", "1")).unwrap_err();
    assert_eq!(refused.to_string(), "error: mechanism \"chain\": its options must not be recursive");
}

#[test]
fn what_reads_options_may_register_others() {
    LoadBalanceConfig::register::<Registers>("toy-registers", "1").unwrap();
    let config = soon(|| read(json!({ "kind": "toy-registers" }))).unwrap();
    assert_eq!(config.name(), "toy-registers");
    assert_eq!(read(json!({ "kind": "toy-within" })).unwrap().name(), "toy-within");
}
