//! Capture of all frames for Wireshark: one interface per link and direction, times in picoseconds.

use crate::ExportError;
use crate::frames::{Sent, bytes};
use crate::run::{Port, Run};
use crate::tables::{self, TimeWindow};
use backwater_columns::ByteArray;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Exponent of the time unit, 10^-12 s.
const PICOSECONDS: u8 = 12;

/// Writes the traced frames of the run in `directory` to `output`, all of them or those in a
/// window. Returns the number of frames written.
///
/// # Errors
///
/// If the run has no trace, frames do not match real headers, or a file cannot be read or written.
pub fn export(directory: &Path, output: &Path, window: Option<TimeWindow>) -> Result<u64, ExportError> {
    let run = Run::with_flows(directory)?;
    run.need_trace(directory)?;
    if run.framing != "rocev2" {
        let message = format!(
            "{} was simulated with network.framing = \"{}\", but a capture needs complete RoCEv2 headers: run the \
                scenario again with --set network.framing=rocev2",
            directory.display(),
            run.framing
        );
        return Err(ExportError::Missing(message));
    }
    let fail = |cause: std::io::Error| ExportError::Write { path: output.into(), cause };
    let fail_block = |cause: PcapError| match cause {
        PcapError::IoError(cause) => fail(cause),
        other => fail(std::io::Error::other(other)),
    };
    let file = BufWriter::new(File::create(output).map_err(fail)?);
    let application = SectionHeaderOption::UserApplication(Cow::Owned(format!("Backwater {}", run.version)));
    let section =
        SectionHeaderBlock { endianness: Endianness::Little, options: vec![application], ..Default::default() };
    let mut writer = PcapNgWriter::with_section_header(file, section).map_err(fail_block)?;
    let interfaces: BTreeMap<Port, u32> = run.links.keys().copied().zip(0..).collect();
    for (port, link) in &run.links {
        let name = format!("{} to {}", run.port_name(*port), run.port_name(link.to));
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name)),
            InterfaceDescriptionOption::IfSpeed(link.rate_bps),
            InterfaceDescriptionOption::IfTsResol(PICOSECONDS),
        ];
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(block).map_err(fail_block)?;
    }
    let mut count = 0;
    tables::read(&directory.join("events.parquet"), window, |rows| {
        let (event, node, kind, header) =
            (rows.names("event")?, rows.names("node")?, rows.names("frame")?, rows.bytes("header")?);
        let (time, port, class) = (rows.numbers("time_ps")?, rows.numbers("port")?, rows.numbers("class")?);
        let (flow, psn, size) = (rows.numbers("flow")?, rows.numbers("psn")?, rows.numbers("frame_bytes")?);
        let (marked, classes, quanta) =
            (rows.numbers("marked")?, rows.numbers("pfc_classes")?, rows.numbers("pfc_quanta")?);
        let is_in = |row: &usize| window.is_none_or(|(from, until)| (from..until).contains(&time.at(*row)));
        for row in (0..rows.len()).filter(is_in).filter(|row| event.at(*row) == "sent") {
            let sent = Sent {
                port: (run.number(node.at(row)), port.at(row) as u16),
                kind: kind.at(row),
                class: class.at(row) as u8,
                flow: flow.at(row) as u32,
                psn: psn.at(row) as u32,
                is_marked: marked.at(row) > 0,
                pfc_classes: classes.at(row) as u8,
                pfc_quanta: quanta.at(row) as u16,
                header: header[row].as_ref().map(ByteArray::data),
            };
            let data = bytes(&sent, &run);
            let expected = size.at(row) as usize;
            if data.len() + 4 != expected {
                let cause = format!(
                    "a frame sent at {} ps has {expected} B, but its capture has {} B: {sent:?}",
                    time.at(row),
                    data.len() + 4
                );
                return Err(ExportError::Read { path: directory.join("events.parquet"), cause });
            }
            let Some(&interface_id) = interfaces.get(&sent.port) else {
                let cause = format!("a frame was sent at {} ps from a port without a link: {sent:?}", time.at(row));
                return Err(ExportError::Read { path: directory.join("events.parquet"), cause });
            };
            let block = EnhancedPacketBlock {
                interface_id,
                // The writer stores this duration as a number of nanoseconds. The interface's
                // resolution declares the number as picoseconds.
                timestamp: Duration::from_nanos(time.at(row)),
                original_len: data.len() as u32,
                data: Cow::Owned(data),
                options: Vec::new(),
            };
            writer.write_pcapng_block(block).map_err(fail_block)?;
            count += 1;
        }
        Ok(())
    })?;
    writer.into_inner().flush().map_err(fail)?;
    Ok(count)
}
