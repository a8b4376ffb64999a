//! Parameters of a profile, overridden by the options that a scenario sets.

/// Declares the effective parameters of a configuration: for each `field: Type`, the configuration
/// has an option `field: Option<Type>` that overrides the profile's value. `fixed` parameters have
/// no option.
macro_rules! parameters {
    ($config:ident => $name:ident { $($option:ident: $type:ty,)+ } $(fixed { $($fixed:ident: $fixed_type:ty,)+ })?) => {
        #[doc = concat!("Effective parameters of a [`", stringify!($config), "`] at one sender.")]
        #[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, get_size2::GetSize)]
        pub(super) struct $name {
            $(pub(super) $option: $type,)+
            $($(pub(super) $fixed: $fixed_type,)+)?
        }

        impl $config {
            /// Returns the parameters of a profile, overridden by the options that are set.
            fn over(&self, profile: $name) -> $name {
                $name { $($option: self.$option.unwrap_or(profile.$option),)+ $($($fixed: profile.$fixed,)+)? }
            }
        }
    };
}

pub(super) use parameters;
