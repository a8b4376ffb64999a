//! Mechanisms of other crates that scenarios can name: registered, read, written and described like built-ins.

mod common;

use backwater_engine::Duration;
use backwater_fabric::contract::{LoadBalanceOptions, Options, Site};
use backwater_fabric::mechanisms::load_balance::LoadBalanceConfig;
use backwater_fabric::mechanisms::load_balance::spray::SprayConfig;
use backwater_fabric::mechanisms::plug_in::Refused;
use backwater_fabric::network::spec::SwitchGroup;
use common::{link, network, run};
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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

sprays!(Toy Choice HasKind HasItself Required);

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
    assert_eq!(error, "a mechanism that is not registered has no name to be written");
    // Built-ins are what they were.
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
    let refused = |result: Result<(), Refused>| result.unwrap_err().to_string();
    let message = refused(LoadBalanceConfig::register::<Toy>("toy-twice", "2"));
    assert!(message.starts_with("mechanism \"toy-twice\": the name is taken (taken: ecmp, "), "{message}");
    assert!(refused(LoadBalanceConfig::register::<Toy>("spray", "1")).contains("the name is taken"));
    for name in ["", "Toy", "my toy"] {
        let message = refused(LoadBalanceConfig::register::<Toy>(name, "1"));
        assert_eq!(message, format!("mechanism \"{name}\": a name is of lower-case letters, digits and hyphens"));
    }
    assert_eq!(
        refused(LoadBalanceConfig::register::<Choice>("toy-choice", "1")),
        "mechanism \"toy-choice\": its options must be a struct with named fields, or with none: struct Config {}"
    );
    assert_eq!(
        refused(LoadBalanceConfig::register::<HasKind>("toy-kind", "1")),
        "mechanism \"toy-kind\": no option can be called kind: that is the name of the mechanism"
    );
    assert_eq!(
        refused(LoadBalanceConfig::register::<HasItself>("toy-itself", "1")),
        "mechanism \"toy-itself\": its options contain themselves"
    );
    assert!(read(json!({ "kind": "toy-kind" })).is_err());
}

#[test]
fn it_runs_as_the_same_mechanism_does_inline_and_the_network_tells_its_version() {
    LoadBalanceConfig::register::<Toy>("toy-spray", "0.9").unwrap();
    let mut spec = network(4, 4);
    spec.links = (0..4).map(|host| link(host, 4 + host / 2, 100, 500)).collect();
    spec.links.extend([4, 5].into_iter().flat_map(|leaf| [6, 7].map(|spine| link(leaf, spine, 100, 500))));
    let flows = || vec![common::flow(0, 2, 50_000, 0), common::flow(1, 3, 50_000, 0)];
    spec.load_balance = LoadBalanceConfig::Spray(SprayConfig::default());
    assert!(spec.plug_ins().is_empty());
    let inline = run(&spec, flows()).0.fingerprint();
    spec.load_balance = read(json!({ "kind": "toy-spray" })).unwrap();
    let boxed = run(&spec, flows()).0.fingerprint();
    assert_eq!(inline, boxed);
    spec.groups = vec![SwitchGroup { switches: Vec::new(), flow_control: None, headroom: None }];
    assert_eq!(Vec::from_iter(spec.plug_ins()), [("load_balance.toy-spray".to_owned(), "0.9")]);
}
