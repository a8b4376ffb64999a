//! The registry of a slot: one list from which the configuration enum, its names, and the instances are made.

/// Declares a slot's mechanisms. For every line `Variant = "name": Config`, a scenario accepts `kind = "name"` with the fields of `Config`, whose
/// documented defaults are the registry's entry; and every instance enum has a variant with what `Config` builds.
///
/// Built-ins are dispatched to inline, mechanisms of other crates through a box.
macro_rules! registry {
    (
        $(#[$meta:meta])*
        pub enum $config:ident, factory $factory:ident;
        $(
            instances $any:ident: $trait:ident $(+ $accounts:ident)?, of $options:ident::$instance:ident,
            by $build:ident($($site:ident: $place:ty)?) or $boxed:ident;
        )+
        mechanisms $mechanisms:tt
    ) => {
        $crate::mechanisms::registry::configuration! { $(#[$meta])* $config, $factory, $mechanisms }
        $(
            $crate::mechanisms::registry::instances! {
                $config, $any, $trait $(+ $accounts)?, $options::$instance, $build($($site: $place)?), ($($site)?), $boxed, $mechanisms
            }
        )+
    };
}

macro_rules! configuration {
    (
        $(#[$meta:meta])* $config:ident, $factory:ident,
        { $($(#[$variant_meta:meta])* $variant:ident = $name:literal: $options:ty;)+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        pub enum $config {
            $($(#[$variant_meta])* #[serde(rename = $name)] $variant($options),)+
            /// A mechanism that another crate plugs in; not reachable from a scenario file.
            #[serde(skip)]
            Custom(std::sync::Arc<dyn $factory>),
        }

        impl $config {
            /// Names of the built-in mechanisms, as a scenario writes them.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Every built-in mechanism with its default configuration: what the contract tests run over.
            pub fn all() -> Vec<$config> {
                vec![$($config::$variant(<$options>::default())),+]
            }

            /// The name a scenario gives this mechanism; `custom` for one of another crate.
            pub fn name(&self) -> &'static str {
                match self {
                    $($config::$variant(_) => $name,)+
                    $config::Custom(_) => "custom",
                }
            }

            /// What all mechanisms of all slots are asked alike.
            pub fn options(&self) -> &dyn $crate::contract::Options {
                &**self
            }
        }

        /// What all mechanisms of the slot are asked alike.
        impl std::ops::Deref for $config {
            type Target = dyn $factory;

            fn deref(&self) -> &(dyn $factory + 'static) {
                match self {
                    $($config::$variant(options) => options,)+
                    $config::Custom(factory) => &**factory,
                }
            }
        }
    };
}

macro_rules! instances {
    (
        $config:ident, $any:ident, $trait:ident $(+ $accounts:ident)?, $options:ident::$instance:ident,
        $build:ident($($site:ident: $place:ty)?), $arguments:tt, $boxed:ident,
        { $($(#[$variant_meta:meta])* $variant:ident = $name:literal: $mechanism:ty;)+ }
    ) => {
        #[doc = concat!("Any [`", stringify!($trait), "`]: built-ins inline, others boxed.")]
        #[derive(ambassador::Delegate)]
        #[delegate($trait)]
        $(#[delegate($accounts)])?
        #[allow(missing_docs, clippy::large_enum_variant, reason = "state is kept inline, not boxed")]
        pub enum $any {
            $($variant(<$mechanism as $options>::$instance),)+
            Custom(Box<dyn $trait>),
        }

        impl $config {
            #[doc = concat!("The [`", stringify!($trait), "`] that the options say.")]
            pub fn $build(&self, $($site: $place)?) -> $any {
                match self {
                    $($config::$variant(options) => $any::$variant(options.$build $arguments),)+
                    $config::Custom(factory) => $any::Custom(factory.$boxed $arguments),
                }
            }
        }
    };
}

pub(crate) use {configuration, instances, registry};
