//! Asking the memory for what will be needed soon.
//!
//! The one place of the project with `unsafe`: a hint to the processor that touches nothing and can not fail. It saves 8 to 17 % of the time
//! at 1024 hosts (`benches/`: incast-1024, perm-1024, websearch-1024), where most of what an event touches is in no cache near the core.
#![allow(unsafe_code)]

/// Bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks for the cache lines of `value`, which is read or written soon. A hint: nothing happens where the processor has none.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(value).cast::<i8>();
        let into_line = start.addr() % LINE;
        for line in 0..(into_line + size_of_val(value)).div_ceil(LINE) {
            // SAFETY: prefetching dereferences nothing, and any address is allowed.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * LINE)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
