//! The module `backwater._core`, with built-in mechanisms only. Its stub is
//! `python/backwater/_core.pyi`.
//!
//! The module is not part of `backwater-pymodule`, which would then be a `cdylib`. Cargo names the
//! file of a `cdylib` without a hash, so a build of another module with the same target directory
//! would overwrite this file.

#![forbid(unsafe_code)]

backwater_pymodule::extension!(_core);
