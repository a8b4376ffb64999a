//! The module `backwater._core`: built-in mechanisms only. Its stub is `python/backwater/_core.pyi`.
//!
//! It is not part of `backwater-pymodule`, which would then be a `cdylib` itself. Cargo names the
//! file of a `cdylib` without a hash. A build of another module with the same target directory
//! would overwrite it.

#![forbid(unsafe_code)]

backwater_pymodule::extension!(_core);
