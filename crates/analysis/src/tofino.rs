//! SRAM for the tables of a Pyrrha switch on Tofino2 in a k-ary fat-tree (section V of the Pyrrha
//! paper, "Complexity and overhead").
//!
//! Tofino2 allocates SRAM in blocks of 16 KiB. All figures of the paper for k = 36 are whole
//! numbers of blocks. 0.44 MB are 28 blocks, 176 KB are 11, 8.64 MB are 553, and 1.88 MB are 120.
//! Their sum, 712 of 1600 blocks, is the paper's 44.5 %.
//!
//! The paper publishes the contents of the tables, and the number of entries of the root table, but
//! no widths. The widths below reproduce the paper's figures. Only the width of a root follows from
//! the text; all other widths are assumptions.

use serde::Serialize;

/// Bytes of an SRAM block of Tofino2.
pub const BLOCK_BYTES: u64 = 16 << 10;

/// SRAM blocks of Tofino2, 80 in each of 20 stages. Only this number gives the paper's 44.5 %.
pub const BLOCKS: u64 = 1600;

/// Largest supported k: with 1024 ports per switch, a fat-tree has 268 million hosts.
pub const MAX_K: u64 = 1024;

/// Bits of a next hop in the forwarding table of another switch. Assumed.
pub const NEXT_HOP_BITS: u64 = 16;

/// Bits of the flag that a root has a queue at a port. Assumed.
pub const IS_ASSIGNED_BITS: u64 = 1;

/// Bits of the number and state of a root's queue at a port. Assumed.
pub const QUEUE_RECORD_BITS: u64 = 32;

/// Bits of an entry in a port's stack of free queues: a word of SRAM. Assumed.
pub const FREE_QUEUE_BITS: u64 = 128;

/// SRAM blocks of the processing logic. Published for k = 36, assumed for other k.
pub const LOGIC_BLOCKS: u64 = 120;

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Unit of the paper to which the table belongs.
    pub unit: &'static str,
    /// Contents.
    pub name: &'static str,
    /// Number of entries; `None` if only the blocks are known.
    pub entries: Option<u64>,
    /// Bits per entry.
    pub bits: Option<u64>,
    /// SRAM blocks of [`BLOCK_BYTES`].
    pub blocks: u64,
}

/// The tables of one switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Ports per switch.
    pub k: u64,
    /// Hosts of the fat-tree.
    pub hosts: u64,
    /// Switches of the fat-tree.
    pub switches: u64,
    /// Tables, unit by unit.
    pub tables: Vec<Table>,
    /// SRAM blocks of all tables.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// SRAM blocks of the chip.
    pub chip_blocks: u64,
}

/// An error: no fat-tree has this k.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("k = {0}: the ports per switch of a fat-tree must be an even number from 2 to {MAX_K}")]
pub struct NoFatTree(pub u64);

/// Returns the tables of a switch in a fat-tree of switches with `k` ports.
///
/// # Errors
/// If there is no such fat-tree.
pub fn memory(k: u64) -> Result<Memory, NoFatTree> {
    if !(2..=MAX_K).contains(&k) || !k.is_multiple_of(2) {
        return Err(NoFatTree(k));
    }
    let (hosts, edges, switches) = (k * k * k / 4, k * k / 2, 5 * k * k / 4);
    // Any port of the network can be a root for any port of this switch.
    let roots = switches * k;
    // A root is <switch-id, port-id>, in whole bytes.
    let root = (bits_for(switches) + bits_for(k)).next_multiple_of(8);
    let table = |unit, name, entries: u64, bits: u64| {
        let blocks = (entries * bits).div_ceil(BLOCK_BYTES * 8);
        Table { unit, name, entries: Some(entries), bits: Some(bits), blocks }
    };
    // Paths branch only at the first two hops, and all core switches have equal tables, so one copy
    // is enough (section IV-B).
    let forwarding = (k / 2 + 1) * hosts;
    let tables = vec![
        table("path calculation", "forwarding of aggregation and core switches", forwarding, NEXT_HOP_BITS),
        table("root table", "congestion roots", roots, root),
        table("queue manager", "IsAssigned", k * roots, IS_ASSIGNED_BITS),
        table("queue manager", "QueueId record", k * roots, QUEUE_RECORD_BITS),
        // At most, every ToR has a root (section IV-E).
        table("queue manager", "QueueId stack", k * edges, FREE_QUEUE_BITS),
        Table { unit: "processing logic", name: "", entries: None, bits: None, blocks: LOGIC_BLOCKS },
    ];
    let blocks = tables.iter().map(|table| table.blocks).sum();
    Ok(Memory { k, hosts, switches, tables, blocks, block_bytes: BLOCK_BYTES, chip_blocks: BLOCKS })
}

/// Returns the number of bits of an index of `count` items.
fn bits_for(count: u64) -> u64 {
    (count - 1).checked_ilog2().map_or(0, |log| u64::from(log) + 1)
}

impl Memory {
    /// Returns the SRAM blocks of the tables of `unit`.
    pub fn blocks_of(&self, unit: &str) -> u64 {
        self.tables.iter().filter(|table| table.unit == unit).map(|table| table.blocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn megabytes(blocks: u64) -> f64 {
        (blocks * BLOCK_BYTES) as f64 / f64::from(1 << 20)
    }

    /// Checks the figures of section V to the last printed digit.
    #[test]
    fn the_papers_fat_tree() {
        let memory = memory(36).unwrap();
        assert_eq!((memory.hosts, memory.switches), (11_664, 1620));
        let printed = |unit| format!("{:.2}", megabytes(memory.blocks_of(unit)));
        assert_eq!(printed("path calculation"), "0.44");
        assert_eq!(memory.blocks_of("root table") * BLOCK_BYTES, 176 << 10);
        assert_eq!(printed("queue manager"), "8.64");
        assert_eq!(printed("processing logic"), "1.88");
        let units: u64 =
            ["path calculation", "root table", "queue manager"].map(|unit| memory.blocks_of(unit)).iter().sum();
        assert_eq!(format!("{:.2}", megabytes(units)), "9.25");
        assert_eq!(format!("{:.1}", 100.0 * memory.blocks as f64 / BLOCKS as f64), "44.5");
        assert_eq!(format!("{:.0}", megabytes(memory.blocks)), "11");
    }

    /// For 1620 switches with 36 ports, <switch-id, port-id> takes 11 + 6 bits, or 24 bits in whole
    /// bytes, for each of 58,320 ports.
    #[test]
    fn the_width_of_a_root_follows_from_the_text() {
        let memory = memory(36).unwrap();
        let roots = memory.tables.iter().find(|table| table.unit == "root table").unwrap();
        assert_eq!((roots.entries, roots.bits, roots.blocks), (Some(58_320), Some(24), 11));
        assert_eq!([1, 2, 3, 36, 1620, 2048, 2049].map(bits_for), [0, 1, 2, 6, 11, 11, 12]);
    }

    #[test]
    fn memory_grows_with_k() {
        let blocks: Vec<u64> = [4, 8, 16, 36, 48, 64, MAX_K].map(|k| memory(k).unwrap().blocks).to_vec();
        assert!(blocks.is_sorted_by(|smaller, larger| smaller < larger), "{blocks:?}");
        assert!([0, 1, 37, MAX_K + 2, u64::MAX].iter().all(|k| memory(*k) == Err(NoFatTree(*k))));
    }
}
