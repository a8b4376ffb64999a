//! Activity of senders by flow: the events `rate` and `sender` of a trace.

use crate::ExportError;
use crate::tables::Rows;
use crate::view::sheet::Sheet;
use backwater_columns::{Column, field};
use std::path::Path;

/// Flow, and its time, rate, bytes in flight and window, some of which are NaN.
#[derive(Debug, Default)]
pub(super) struct Senders(Vec<(u32, [f64; 4])>);

impl Senders {
    pub(super) fn read(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        let (event, flow) = (rows.names("event")?, rows.numbers("flow")?);
        let values = ["time_ps", "rate_bps", "in_flight_bytes", "window_bytes"].map(|name| rows.numbers(name));
        let values = values.into_iter().collect::<Result<Vec<_>, _>>()?;
        for row in (0..rows.len()).filter(|row| matches!(event.at(*row), "rate" | "sender")) {
            let number = |i: usize| values[i].get(row).map_or(f64::NAN, |value| value as f64);
            self.0.push((flow.at(row) as u32, std::array::from_fn(number)));
        }
        Ok(())
    }

    pub(super) fn write(mut self, output: &Path) -> Result<(), ExportError> {
        let values = ["time", "rate", "in_flight", "window"].map(|name| field::<f64>(name, false));
        let columns = [field::<i32>("flow", false)].into_iter().chain(values).collect();
        // The stable sort keeps the order of a flow's events.
        self.0.sort_by_key(|(flow, _)| *flow);
        let mut sheet = Sheet::create(output, "senders", columns)?;
        sheet.write(&self.0, |rows| {
            let flows = Column::required(rows.iter().map(|(flow, _)| *flow as i32));
            let value = |i: usize| Column::required(rows.iter().map(|(_, values)| values[i]));
            [flows].into_iter().chain((0..4).map(value)).collect()
        })?;
        sheet.finish()
    }
}
