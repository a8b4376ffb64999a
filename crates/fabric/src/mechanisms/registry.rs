//! Registry of a slot: one list defines the configuration enum, its names, and the instances.

/// Declares a slot's mechanisms. For every line `Variant = "name": Config`, a scenario accepts
/// `kind = "name"` with the fields of `Config`, and the documentation of `Config` describes the
/// mechanism. Every instance enum has a variant for the mechanism that `Config` builds.
///
/// Built-in mechanisms are dispatched statically, mechanisms of other crates through a box. A
/// registered mechanism of another crate ([`plug_in`](crate::mechanisms::plug_in)) is read, written
/// and described like a built-in one.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $config:ident, factory $factory:ident;
        $(
            instances $any:ident: $trait:ident $(+ $accounts:ident)*, of $options:ident::$instance:ident,
            by $build:ident($($site:ident: $place:ty)?) or $boxed:ident;
        )+
        mechanisms $mechanisms:tt
    ) => {
        $crate::mechanisms::registry::configuration! { $(#[$meta])* $config, $factory, $mechanisms }
        $(
            $crate::mechanisms::registry::instances! {
                $config, $any, $trait $(+ $accounts)*, $options::$instance, $build($($site: $place)?), ($($site)?),
                $boxed, $mechanisms
            }
        )+
    };
}

macro_rules! configuration {
    (
        $(#[$meta:meta])* $config:ident, $factory:ident,
        { $($variant:ident = $name:literal: $options:ty;)+ }
    ) => {
        $(#[$meta])*
        // `remote` generates functions instead of implementations. The implementations below call
        // them for built-in mechanisms.
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind", remote = "Self")]
        #[schemars(transform = |schema: &mut schemars::Schema| PLUG_INS.describe(schema))]
        pub enum $config {
            $(
                #[serde(rename = $name)]
                #[allow(missing_docs, reason = "documented by its options")]
                $variant($options),
            )+
            /// Mechanism of another crate.
            #[serde(skip)]
            Custom($crate::mechanisms::plug_in::Custom<dyn $factory>),
        }

        static PLUG_INS: $crate::mechanisms::plug_in::PlugIns<dyn $factory> =
            $crate::mechanisms::plug_in::PlugIns::none();

        impl<'de> serde::Deserialize<'de> for $config {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<$config, D::Error> {
                use serde::de::Error as _;
                let options = serde_json::Map::deserialize(deserializer)?;
                let read = match PLUG_INS.read(&options) {
                    Some(plugged_in) => plugged_in.map($config::Custom),
                    None => $config::deserialize(serde_json::Value::Object(options)),
                };
                read.map_err(D::Error::custom)
            }
        }

        impl serde::Serialize for $config {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $config::Custom(custom) => {
                        custom.written().map_err(serde::ser::Error::custom)?.serialize(serializer)
                    }
                    built_in => $config::serialize(built_in, serializer),
                }
            }
        }

        impl $config {
            /// Names of the built-in mechanisms in scenarios.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns every built-in mechanism with its default configuration, for the contract
            /// tests.
            pub fn all() -> Vec<$config> {
                vec![$($config::$variant(<$options>::default())),+]
            }

            /// Returns a mechanism of another crate for a network that a program builds. No
            /// scenario can name it.
            pub fn custom(options: impl $factory + 'static) -> $config {
                $config::Custom($crate::mechanisms::plug_in::Custom::unnamed(std::sync::Arc::new(options)))
            }

            /// Registers a mechanism of another crate under a name for scenarios, until the process
            /// ends. The options may contain a mechanism of the same slot: a built-in one, or one
            /// that is already registered.
            ///
            /// # Errors
            ///
            /// If the name is taken or invalid, or if a scenario cannot write the options.
            pub fn register<T>(name: &'static str, version: &'static str) -> Result<(), $crate::contract::Diagnostic>
            where
                T: $factory + serde::Serialize + serde::de::DeserializeOwned + schemars::JsonSchema + 'static,
            {
                PLUG_INS.add::<T>($config::NAMES, name, version, |options| {
                    let options: T = serde_json::from_value(options)?;
                    let written = serde_json::to_value(&options)?;
                    let factory: std::sync::Arc<dyn $factory> = std::sync::Arc::new(options);
                    Ok((factory, written))
                })
            }

            /// Returns name and version of a registered mechanism of another crate.
            pub fn plug_in(&self) -> Option<(&'static str, &'static str)> {
                match self {
                    $config::Custom(custom) => custom.plug_in(),
                    _ => None,
                }
            }

            /// Returns the mechanism's name in scenarios; `custom` for a mechanism that is not
            /// registered.
            pub fn name(&self) -> &'static str {
                match self {
                    $($config::$variant(_) => $name,)+
                    $config::Custom(custom) => custom.plug_in().map_or("custom", |(name, _)| name),
                }
            }

            /// Returns the options by the trait that all slots share.
            pub fn options(&self) -> &dyn $crate::contract::Options {
                &**self
            }
        }

        /// Access to the methods that all mechanisms of the slot share.
        impl std::ops::Deref for $config {
            type Target = dyn $factory;

            fn deref(&self) -> &(dyn $factory + 'static) {
                match self {
                    $($config::$variant(options) => options,)+
                    $config::Custom(custom) => custom.factory(),
                }
            }
        }
    };
}

macro_rules! instances {
    (
        $config:ident, $any:ident, $trait:ident $(+ $accounts:ident)*, $options:ident::$instance:ident,
        $build:ident($($site:ident: $place:ty)?), $arguments:tt, $boxed:ident,
        { $($variant:ident = $name:literal: $mechanism:ty;)+ }
    ) => {
        #[doc = concat!("Any [`", stringify!($trait), "`]: built-ins inline, others boxed.")]
        #[derive(ambassador::Delegate, get_size2::GetSize)]
        #[delegate($trait, inline = "always")]
        $(#[delegate($accounts, inline = "always")])*
        #[allow(missing_docs, clippy::large_enum_variant, reason = "large variants stay inline, for speed")]
        // With `repr(u8)`, the tag is separate and can be read with one instruction.
        #[repr(u8)]
        pub enum $any {
            $($variant(<$mechanism as $options>::$instance),)+
            Custom(#[get_size(size_fn = size_of_plug_in)] Box<dyn $trait>),
        }

        impl $any {
            /// Returns the mechanism, for rare calls. Calls on the path of packets are inlined only
            /// while they are few.
            pub fn mechanism(&self) -> &dyn $trait {
                match self {
                    $($any::$variant(mechanism) => mechanism,)+
                    $any::Custom(mechanism) => &**mechanism,
                }
            }
        }

        impl $config {
            #[doc = concat!("The [`", stringify!($trait), "`] that the options select.")]
            pub fn $build(&self, $($site: $place)?) -> $any {
                match self {
                    $($config::$variant(options) => $any::$variant(options.$build $arguments),)+
                    $config::Custom(custom) => $any::Custom(custom.factory().$boxed $arguments),
                }
            }
        }
    };
}

pub(crate) use {configuration, instances, registry};
