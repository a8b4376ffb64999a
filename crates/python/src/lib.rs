//! The Python module `backwater._core`. Its stub is `python/backwater/_core.pyi`.

#![forbid(unsafe_code)]

backwater_extension::extension!(_core);
