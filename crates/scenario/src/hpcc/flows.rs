//! `flow.txt` in its dialects.

use super::text::{Errors, Line, Token, lines, ticks};
use crate::diagnostic::{Diagnostic, counted};
use crate::topology::Graph;
use crate::workload::FlowDialect;
use backwater_engine::Time;
use backwater_fabric::ids::{Class, NodeId};
use std::fmt::Write;

/// One flow of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpccFlow {
    /// Number of the sending host.
    pub src: NodeId,
    /// Number of the receiving host.
    pub dst: NodeId,
    /// Priority group, which is the traffic class; `None` if the dialect has none.
    pub pg: Option<Class>,
    /// Destination port; by convention 100, and 200 for incast. `None` if the dialect has none.
    pub dport: Option<u16>,
    /// Payload bytes, at least 1.
    pub bytes: u64,
    /// Start time in the file. Generators of the family begin at 2 s.
    pub start: Time,
    /// Line of the file, counted from 1.
    pub line: usize,
}

/// Contents of a flow file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HpccFlows {
    /// Format, given or inferred from the number of columns.
    pub dialect: FlowDialect,
    /// Flows in order of start; simultaneous flows in the order of the file.
    pub flows: Vec<HpccFlow>,
    /// Notes for the user: corrected order, ignored text.
    pub notes: Vec<String>,
    name: String,
}

/// Maximum number of flows in a file.
const MOST: u64 = u32::MAX as u64;

/// Reads `text`, the contents of the file called `name`. If `dialect` is not given, it is inferred:
/// only Pyrrha has a second number in the first line, HPCC has 6 columns, ConWeave 5, and Pyrrha 4.
/// Pyrrha's form with 6 columns and a single number in the first line cannot be inferred.
///
/// # Errors
/// All errors, each with line and column.
pub fn read_flows(text: &str, name: &str, dialect: Option<FlowDialect>) -> Result<HpccFlows, Vec<Diagnostic>> {
    let mut errors = Errors::new(name);
    let mut lines = lines(text);
    let Some(first) = lines.next() else {
        errors.push(1, 1, "the file is empty; expected the number of flows");
        return Err(errors.into_list());
    };
    let mut notes = Vec::new();
    let dialect = dialect.or_else(|| {
        let has_second = first.tokens().count() == 2;
        has_second.then(|| {
            notes.push(format!("{name}: read as a file of the Pyrrha simulator, since the first line has two numbers"));
            FlowDialect::Pyrrha
        })
    });
    let Some(announced) = read_count(first, dialect, &mut errors) else { return Err(errors.into_list()) };
    let lines_of_flows: Vec<_> = lines.by_ref().take(announced as usize).collect();
    let columns = lines_of_flows.first().map_or(0, |line| line.tokens().count());
    let dialect = match (dialect, columns) {
        (Some(dialect), _) => dialect,
        (None, 4) => FlowDialect::Pyrrha,
        (None, 5) => FlowDialect::Conweave,
        (None, _) => FlowDialect::Hpcc,
    };
    let mut flows: Vec<_> =
        lines_of_flows.iter().filter_map(|&line| read_flow(line, dialect, columns, &mut errors)).collect();

    let count = lines_of_flows.len() as u64;
    if count < announced {
        let end = text.lines().count() + 1;
        errors.push(
            end,
            1,
            format!("the header announces {}, but the file ends after {count}", counted(announced, "flow")),
        );
    }
    if let Some(line) = lines.next() {
        notes.push(format!(
            "{name}: the header announces {}; the text from line {} on is ignored",
            counted(announced, "flow"),
            line.number
        ));
    }
    if let Some(early) = flows.windows(2).find(|pair| pair[1].start < pair[0].start) {
        notes.push(format!(
            "{name}: the flow of line {} starts before the previous flow; flows are sorted by start time",
            early[1].line
        ));
        flows.sort_by_key(|flow| flow.start);
    }
    errors.into_result(HpccFlows { dialect, flows, notes, name: name.into() })
}

impl HpccFlows {
    /// Returns errors for flows whose ends are not hosts of `graph`.
    pub fn check(&self, graph: &Graph) -> Vec<Diagnostic> {
        let mut errors = Errors::new(&self.name);
        for flow in &self.flows {
            for (column, end) in [("source", flow.src), ("destination", flow.dst)] {
                if end.0 as usize >= graph.nodes.len() {
                    let last = graph.nodes.len() - 1;
                    errors.push(
                        flow.line,
                        1,
                        format!("the {column} {} is not a node; the topology has nodes 0 to {last}", end.0),
                    );
                } else if !graph.is_host(end) {
                    errors.push(flow.line, 1, format!("the {column} {} is a switch, not a host", end.0));
                } else if graph.has_failed(end) {
                    errors.push(flow.line, 1, format!("the {column} {} has failed (topology.failed_nodes)", end.0));
                }
            }
        }
        errors.into_list()
    }
}

fn read_count(line: Line<'_>, dialect: Option<FlowDialect>, errors: &mut Errors<'_>) -> Option<u64> {
    let mut tokens = line.tokens();
    let count = tokens.next().and_then(|token| errors.integer(token, "the number of flows", 0, MOST));
    if dialect == Some(FlowDialect::Pyrrha)
        && let Some(token) = tokens.next()
    {
        errors.integer(token, "the second number of the first line (ignored)", 0, u64::MAX);
    }
    if let Some(token) = tokens.next() {
        let allowed = match dialect {
            Some(FlowDialect::Pyrrha) => "the number of flows and at most one more number",
            _ => "only the number of flows",
        };
        errors.at(token, format!("the first line must contain {allowed}"));
    }
    count
}

fn read_flow(line: Line<'_>, dialect: FlowDialect, columns: usize, errors: &mut Errors<'_>) -> Option<HpccFlow> {
    let tokens: Vec<_> = line.tokens().collect();
    let (src, dst, pg, dport, bytes, start) = match (dialect, &tokens[..]) {
        (FlowDialect::Hpcc, &[src, dst, pg, dport, bytes, start]) => (src, dst, Some(pg), Some(dport), bytes, start),
        (FlowDialect::Conweave, &[src, dst, pg, bytes, start]) => (src, dst, Some(pg), None, bytes, start),
        (FlowDialect::Pyrrha, &[src, dst, bytes, start] | &[src, dst, bytes, start, _, _])
            if tokens.len() == columns =>
        {
            (src, dst, None, None, bytes, start)
        }
        _ => {
            let expected = match dialect {
                FlowDialect::Hpcc => "6 columns, <src> <dst> <pg> <dport> <bytes> <start s>",
                FlowDialect::Conweave => "5 columns, <src> <dst> <pg> <bytes> <start s>",
                FlowDialect::Pyrrha => {
                    "4 or 6 columns, <src> <dst> <bytes> <start s> [<qp> <msg>], the same number in every line"
                }
            };
            errors.push(line.number, 1, format!("a flow has {expected}; found {}", tokens.len()));
            return None;
        }
    };
    let mut node = |token: Token<'_>| errors.integer(token, "a host number", 0, u32::MAX);
    let (from, to) = (node(src), node(dst));
    let pg = optional(pg, |token| errors.integer(token, "a priority group", 0, 7u8));
    let dport = optional(dport, |token| errors.integer(token, "a port", 0, u16::MAX));
    let bytes = errors.integer(bytes, "a size in bytes", 1, u64::MAX - 1);
    let start = errors.read(start, "a start time in seconds such as 2.000001", |text| ticks(text, 12));
    let (from, to) = (from?, to?);
    if from == to {
        errors.at(dst, format!("host {from} cannot send to itself"));
    }
    Some(HpccFlow {
        src: NodeId(from),
        dst: NodeId(to),
        pg: pg?.map(Class),
        dport: dport?,
        bytes: bytes?,
        start: Time::from_ps(start?),
        line: line.number,
    })
}

/// Reads a column that only some dialects have: `Some(None)` if absent, `None` if wrong.
fn optional<T>(token: Option<Token<'_>>, read: impl FnOnce(Token<'_>) -> Option<T>) -> Option<Option<T>> {
    match token {
        Some(token) => read(token).map(Some),
        None => Some(None),
    }
}

/// Writes `flows` in HPCC's format. The flows should be in order of start.
pub fn write_flows(flows: &[HpccFlow]) -> String {
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let (pg, dport) = (flow.pg.unwrap_or(Class(3)).0, flow.dport.unwrap_or(100));
        let (seconds, ps) = (flow.start.ps() / 1_000_000_000_000, flow.start.ps() % 1_000_000_000_000);
        writeln!(text, "{} {} {pg} {dport} {} {seconds}.{ps:012}", flow.src.0, flow.dst.0, flow.bytes)
            .expect("a String takes any text");
    }
    text
}
