use super::*;
use schemars::JsonSchema;

#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
struct Toy {
    rate: Rate,
    #[schemars(range(min = 0.0, max = 1.0))]
    load: Option<f64>,
    mode: Option<Mode>,
    shape: Option<Shape>,
    #[schemars(length(min = 1))]
    ends: Vec<[u8; 2]>,
    size: Option<Size>,
    loud: Option<bool>,
}

#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Mode {
    Fast,
    Slow,
}

#[derive(JsonSchema)]
#[schemars(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
enum Shape {
    Star { hosts: u32 },
    Line { length: Duration },
}

#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum Size {
    Bytes(Bytes),
    Choice(Vec<Bytes>),
}

fn diagnostics(text: &str) -> Vec<String> {
    let schema = schemars::schema_for!(Toy).to_value();
    let document = Document::from_toml("a", text).unwrap();
    check(&schema, &document).iter().map(ToString::to_string).collect()
}

#[test]
fn what_fits_is_silent() {
    let text = "rate = \"1 Gbps\"\nload = 1\nmode = \"slow\"\nends = [[1, 2]]\nsize = [\"1 B\"]\nshape = { kind = \
        \"star\", hosts = 3 }";
    assert_eq!(diagnostics(text), [""; 0]);
    let nulls = serde_json::json!({
        "rate": "1 Gbps", "load": null, "mode": null, "shape": null, "ends": [[1, 2]], "size": null
    });
    let schema = schemars::schema_for!(Toy).to_value();
    assert_eq!(check(&schema, &Document::from_json(&nulls)), []);
}

#[test]
fn every_misfit_is_named() {
    let fine = "rate = \"1 Gbps\"\nends = [[1, 2]]\n";
    for (line, message) in [
        (
            "lod = 1",
            "a:3:1: error: lod: unknown key; did you mean \"load\"? (allowed: rate, load, mode, shape, ends, size, \
                loud)",
        ),
        ("load = 1.5", "a:3:8: error: load = 1.5: must be from 0 to 1"),
        ("load = \"0.5\"", "a:3:8: error: load = \"0.5\": must be a number from 0 to 1; write 0.5 without quotes"),
        (
            "mode = \"fats\"",
            "a:3:8: error: mode = \"fats\": unknown name; did you mean \"fast\"? (allowed: fast, slow)",
        ),
        ("mode = 3", "a:3:8: error: mode = 3: must be a name; allowed: fast, slow"),
        (
            "shape = \"star\"",
            "a:3:9: error: shape = \"star\": must be a table; write shape = { kind = \"star\" } (allowed: star, line)",
        ),
        ("[shape]", "a:3:1: error: shape.kind: is missing; allowed: star, line"),
        ("[[shape]]", "a:3:1: error: shape: must be a table; write [shape], with one pair of brackets"),
        (
            "shape.kind = \"stra\"",
            "a:3:14: error: shape.kind = \"stra\": unknown name; did you mean \"star\"? (allowed: star, line)",
        ),
        ("shape = { kind = \"star\" }", "a:3:9: error: shape.hosts: is missing"),
        (
            "shape = { kind = \"star\", hosts = 1, length = \"1 s\" }",
            "a:3:37: error: shape.length: unknown key; this key belongs to kind \"line\"; allowed: kind, hosts",
        ),
        (
            "shape = { kind = \"line\", length = 3 }",
            "a:3:35: error: shape.length = 3: must be a number with a unit, in quotes; write \"3 us\"",
        ),
        (
            "size = \"3 bits\"",
            "a:3:8: error: size = \"3 bits\": \"bits\" is not a unit; allowed: B, KB, KiB, MB, MiB, GB, GiB",
        ),
        ("size = [\"1 B\", 2]", "a:3:16: error: size[1] = 2: must be a number with a unit, in quotes; write \"2 B\""),
        ("loud = 1", "a:3:8: error: loud = 1: must be true or false"),
    ] {
        let found = diagnostics(&format!("{fine}{line}"));
        assert!(found.len() == 1 && found[0].starts_with(message), "{line}\n{found:#?}\n{message}");
    }
}

#[test]
fn quantities_are_read_in_base_units() {
    for (kind, text, value) in [
        (Quantity::Rate, "400G", 400_000_000_000),
        (Quantity::Size, "113MiB", 113 << 20),
        (Quantity::Time, "1us", 1_000_000),
    ] {
        assert_eq!(read_quantity(kind, text), Ok(value));
    }
    for (kind, text, message) in [
        (
            Quantity::Rate,
            "400 Gbsp",
            "\"Gbsp\" is not a unit; did you mean \"Gbps\"? (allowed: bps, Kbps, Mbps, Gbps, Tbps)",
        ),
        (
            Quantity::Rate,
            "400 GBit",
            "\"GBit\" is not a unit; did you mean \"Gbps\"? (allowed: bps, Kbps, Mbps, Gbps, Tbps)",
        ),
        (Quantity::Size, "20 KG", "\"KG\" is not a unit; did you mean \"KB\"? (allowed: B, KB, KiB, MB, MiB, GB, GiB)"),
        (Quantity::Size, "3 bits", "\"bits\" is not a unit; allowed: B, KB, KiB, MB, MiB, GB, GiB"),
        (Quantity::Time, "7", "has no unit; write for example \"7 us\" (units: ps, ns, us, ms, s)"),
        (Quantity::Time, "soon", "does not start with a number; write for example \"2 us\""),
        (Quantity::Time, "9999999 s", "must be at most 1000000 s"),
        (Quantity::Rate, "99999999999999 Tbps", "must be at most 1000 Tbps"),
        (Quantity::Size, "-1 B", "is negative"),
        (Quantity::Time, "0.5 ps", "is not a whole number of ps"),
    ] {
        let refused = Diagnostic { path: "x".into(), ..*read_quantity(kind, text).unwrap_err() };
        assert_eq!(refused.to_string(), format!("error: x = \"{text}\": {message}"));
    }
}

#[test]
fn lists_and_quantities_are_checked() {
    assert_eq!(
        diagnostics("rate = \"100\"\nends = [[1], [300, 2.5]]"),
        [
            "a:1:8: error: rate = \"100\": has no unit; write for example \"100 Gbps\" (units: bps, Kbps, Mbps, Gbps, \
                Tbps)",
            "a:2:9: error: ends[0]: must have exactly 2 entries; found 1",
            "a:2:15: error: ends[1][0] = 300: must be from 0 to 255",
            "a:2:20: error: ends[1][1] = 2.5: must be a whole number from 0 to 255",
        ]
    );
    assert_eq!(
        diagnostics("ends = []"),
        [
            "a:1:8: error: ends: must have at least 1 entry; found 0",
            "a:1:1: error: rate: is missing; write for example rate = \"100 Gbps\"",
        ]
    );
}
