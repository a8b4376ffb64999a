//! Large pages for memory that events touch.
//!
//! With a few hundred hosts, events touch more small pages than the TLB covers. On Linux, pages of
//! 2 MiB save 8 to 12 % of the run time with 1024 hosts (`benches/`). All functions are hints, and
//! do nothing on other systems.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;

/// Requests large pages for the current contents of the main heap. Takes some milliseconds per 100
/// MB. Later allocations may use small pages.
#[cfg(target_os = "linux")]
pub fn enlarge_heap() {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else { return };
    let heap = maps.lines().find(|line| line.ends_with("[heap]")).and_then(|line| line.split_once(' '));
    let range = heap.and_then(|(range, _)| range.split_once('-'));
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    let Some((start, end)) = range.and_then(|(start, end)| Some((address(start)?, address(end)?))) else { return };
    advise(start, end, libc::MADV_COLLAPSE);
}

/// Requests large pages for `memory`, which has not been written yet.
#[cfg(target_os = "linux")]
pub fn prefer_large<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    let start = memory.as_ptr().addr();
    advise(start, start + size_of_val(memory), libc::MADV_HUGEPAGE);
}

/// Advises the kernel on the large pages that lie completely between two addresses.
#[cfg(target_os = "linux")]
fn advise(start: usize, end: usize, advice: i32) {
    let (start, end) = (start.next_multiple_of(LARGE), end / LARGE * LARGE);
    if start < end {
        // SAFETY: the advice changes neither the contents nor the protection of any memory.
        unsafe { libc::madvise(std::ptr::without_provenance_mut(start), end - start, advice) };
    }
}

/// Does nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn enlarge_heap() {}

/// Does nothing on this system.
#[cfg(not(target_os = "linux"))]
pub fn prefer_large<T>(_memory: &mut [std::mem::MaybeUninit<T>]) {}
