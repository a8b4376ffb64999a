//! The registry of a slot: one list from which the configuration enum and its names are made.

/// Declares a slot's mechanisms. For every line `Variant = "name": Config`, a scenario accepts `kind = "name"` with the fields of `Config`,
/// whose documented defaults are the registry's entry.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $config:ident, factory $factory:path;
        $($(#[$variant_meta:meta])* $variant:ident = $name:literal: $inner:ty;)+
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        pub enum $config {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant($inner),)+
            /// A mechanism that another crate plugs in; not reachable from a scenario file.
            #[serde(skip)]
            Custom(std::sync::Arc<dyn $factory>),
        }

        impl $config {
            /// Names of the built-in mechanisms, as a scenario writes them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Every built-in mechanism with its default configuration: what the contract tests run over.
            pub fn all() -> Vec<$config> {
                vec![$($config::$variant(<$inner>::default())),+]
            }

            /// The name a scenario gives this mechanism; `custom` for one of another crate.
            pub fn name(&self) -> &'static str {
                match self {
                    $($config::$variant(_) => $name,)+
                    $config::Custom(_) => "custom",
                }
            }
        }
    };
}
pub(crate) use registry;
