//! Options of mechanisms with profiles, and the parameters that follow from options and profile.

/// Defines the options of a mechanism, and its parameters at one sender, from one list of fields.
/// An option `field?: Type` overrides the profile's value of the parameter `field`. An option
/// `field: Type` has no parameter. A parameter in braces has no option. By default, no option is
/// set.
macro_rules! parameters {
    (
        $(#[$about:meta])*
        $config:ident => $name:ident $({ $($fixed:ident: $fixed_type:ty),+ })?;
        $($(#[$meta:meta])* $field:ident $(?: $type:ty)? $(: $option:ty)?,)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $config {
            $($(#[$meta])* pub $field: $($option)? $(Option<$type>)?,)+
        }

        #[doc = concat!("Effective parameters of a [`", stringify!($config), "`] at one sender.")]
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, get_size2::GetSize)]
        pub(super) struct $name {
            $($(pub(super) $field: $type,)?)+
            $($(pub(super) $fixed: $fixed_type,)+)?
        }

        impl $config {
            /// Returns the parameters of a profile, overridden by the options that are set.
            fn over(&self, profile: $name) -> $name {
                $name {
                    $($($field: <Option<$type>>::unwrap_or(self.$field, profile.$field),)?)+
                    $($($fixed: profile.$fixed,)+)?
                }
            }
        }
    };
}

pub(super) use parameters;
