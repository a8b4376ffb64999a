//! `topology.txt` in its three dialects.

use super::text::{Errors, Line, Reader, Token, decimal, lines, rate, rate_or_gbps, real, span, span_or_ns};
use crate::diagnostic::{Diagnostic, counted};
use crate::topology::{Graph, LinkLimits};
use backwater_fabric::ids::NodeId;
use backwater_fabric::network::spec::{LinkSpec, NodeKind, NodeSpec};
use std::fmt::Write;

/// Format of a topology file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyDialect {
    /// HPCC and ConWeave: `<nodes> <switches> <links>`.
    Hpcc,
    /// SimAI: `<nodes> <gpus per server> <NVSwitches> <switches> <links> <gpu type>`.
    Simai,
    /// Pyrrha: `<nodes> <switches> <hosts per rack> <tors> <cores> <links>`; links without error
    /// rate, numbers without a unit in Gb/s and ns.
    Pyrrha,
}

/// Contents of a topology file. A node's number in the file is its index in `nodes`.
#[derive(Clone, Debug, PartialEq)]
pub struct HpccTopology {
    /// Format, inferred from the first line.
    pub dialect: TopologyDialect,
    /// Hosts `h<number>` and switches `s<number>`.
    pub nodes: Vec<NodeSpec>,
    /// Links in the order of the file, including parallel ones. Error rates are 0 if the dialect
    /// has none.
    pub links: Vec<LinkSpec>,
    /// Notes for the user: ignored text, NVSwitches.
    pub notes: Vec<String>,
}

/// Maximum number of nodes, and of links, in a file, so that a mistyped number does not exhaust
/// memory.
const MOST: u32 = 1 << 22;

/// The first line.
struct Header {
    dialect: TopologyDialect,
    nodes: u32,
    switches: u32,
    nv_switches: u32,
    links: u32,
}

/// Reads `text`, the contents of the file called `name`.
///
/// # Errors
/// All errors, each with line and column.
pub fn read_topology(text: &str, name: &str) -> Result<HpccTopology, Vec<Diagnostic>> {
    let mut errors = Errors::new(name);
    let mut lines = lines(text).peekable();
    let header = match lines.next() {
        Some(first) => read_header(first, &mut errors),
        None => {
            errors.push(1, 1, "the file is empty; expected <nodes> <switches> <links>");
            None
        }
    };
    let Some(header) = header.filter(|_| errors.is_empty()) else {
        return Err(errors.into_list());
    };
    let end = text.lines().count() + 1;
    let mut notes = Vec::new();
    let mut kinds = vec![NodeKind::Host; header.nodes as usize];

    let announced = header.nv_switches + header.switches;
    let numbers = counted(announced, "switch number");
    let mut found = 0;
    while found < announced {
        let Some(line) = lines.next() else {
            errors.push(end, 1, format!("the header announces {numbers}, but the file ends after {found}"));
            return Err(errors.into_list());
        };
        for token in line.tokens() {
            if found == announced {
                errors.at(token, format!("unexpected \"{}\"; the header announces {numbers}", token.text));
                break;
            }
            let Some(id) = errors.integer(token, "a switch number", 0, header.nodes - 1) else {
                // The rest of the file cannot be interpreted.
                return Err(errors.into_list());
            };
            if std::mem::replace(&mut kinds[id as usize], NodeKind::Switch) == NodeKind::Switch {
                errors.at(token, format!("switch {id} is listed twice"));
            }
            found += 1;
        }
    }
    let links: Vec<_> = lines.by_ref().take(header.links as usize).collect();
    if links.len() < header.links as usize {
        let (count, announced) = (links.len(), counted(header.links, "link"));
        errors.push(end, 1, format!("the header announces {announced}, but the file ends after {count}"));
    }
    let links = links.into_iter().filter_map(|line| read_link(line, &header, &mut errors)).collect();
    if let Some(line) = lines.next() {
        notes.push(format!(
            "{name}: the header announces {}; the text from line {} on is ignored",
            counted(header.links, "link"),
            line.number
        ));
    }
    if header.nv_switches > 0 {
        let modelled = match header.nv_switches {
            1 => "1 NVSwitch is modelled as an ordinary switch".into(),
            several => format!("{several} NVSwitches are modelled as ordinary switches"),
        };
        notes.push(format!("{name}: {modelled}"));
    }
    let name = |(id, &kind): (usize, &NodeKind)| match kind {
        NodeKind::Host | NodeKind::Relay => NodeSpec { name: format!("h{id}"), kind },
        NodeKind::Switch => NodeSpec { name: format!("s{id}"), kind },
    };
    let nodes = kinds.iter().enumerate().map(name).collect();
    errors.into_result(HpccTopology { dialect: header.dialect, nodes, links, notes })
}

fn read_header(line: Line<'_>, errors: &mut Errors<'_>) -> Option<Header> {
    let tokens: Vec<_> = line.tokens().collect();
    let numeric = |token: &Token<'_>| decimal(token.text, 0).is_ok();
    let (dialect, nodes, nv_switches, switches, links) = match tokens[..] {
        [nodes, switches, links] => (TopologyDialect::Hpcc, nodes, None, switches, links),
        [nodes, gpus, nv_switches, switches, links, last] if !numeric(&last) => {
            errors.integer(gpus, "the GPUs per server", 0, MOST);
            (TopologyDialect::Simai, nodes, Some(nv_switches), switches, links)
        }
        [nodes, switches, per_rack, tors, cores, links] => {
            for (token, what) in
                [(per_rack, "the hosts per rack"), (tors, "the ToR switches"), (cores, "the core switches")]
            {
                errors.integer(token, what, 0, MOST);
            }
            (TopologyDialect::Pyrrha, nodes, None, switches, links)
        }
        _ => {
            errors.push(
                line.number,
                1,
                format!("the first line has {} words; expected 3 (HPCC, ConWeave) or 6 (SimAI, Pyrrha)", tokens.len()),
            );
            errors.hint("the first line of an HPCC file is <nodes> <switches> <links>");
            return None;
        }
    };
    let count = errors.integer(nodes, "the number of nodes", 2, MOST)?;
    let nv_switches =
        nv_switches.map_or(Some(0), |token| errors.integer(token, "the number of NVSwitches", 0, count - 1));
    let switches = errors.integer(switches, "the number of switches, less than the number of nodes", 0, count - 1);
    let links = errors.integer(links, "the number of links", 1, MOST);
    let (nv_switches, switches, links) = (nv_switches?, switches?, links?);
    match count.checked_sub(nv_switches + switches) {
        None | Some(0) => {
            errors.at(nodes, format!("{count} nodes, of which {} are switches, leave no host", nv_switches + switches))
        }
        Some(hosts) if hosts > 2 * links => {
            errors.at(nodes, format!("{} cannot connect {hosts} hosts", counted(links, "link")))
        }
        Some(_) => {}
    }
    Some(Header { dialect, nodes: count, switches, nv_switches, links })
}

fn read_link(line: Line<'_>, header: &Header, errors: &mut Errors<'_>) -> Option<LinkSpec> {
    let (columns, rate, span, units): (_, Reader<_>, Reader<_>, _) = match header.dialect {
        TopologyDialect::Pyrrha => ("<node> <node> <rate> <delay>", rate_or_gbps, span_or_ns, ["Gb/s", "nanoseconds"]),
        TopologyDialect::Hpcc | TopologyDialect::Simai => {
            ("<node> <node> <rate> <delay> <error rate>", rate, span, ["bits per second", "seconds"])
        }
    };
    let tokens: Vec<_> = line.tokens().collect();
    let expected = columns.split("> ").count();
    if tokens.len() != expected {
        errors.push(line.number, 1, format!("a link has {expected} columns, {columns}; found {}", tokens.len()));
        return None;
    }
    let a = errors.integer(tokens[0], "a node number", 0, header.nodes - 1);
    let b = errors.integer(tokens[1], "a node number", 0, header.nodes - 1);
    let rate = errors.read(tokens[2], "a bit rate such as 100Gbps", rate);
    if let Some((rate, why)) = rate.and_then(|rate| Some((rate, LinkLimits::rate(rate)?))) {
        errors.at(tokens[2], format!("the rate is {rate}; {why}"));
        errors.hint(format!("a rate without a unit is in {}; write for example 100Gbps", units[0]));
    }
    let delay = errors.read(tokens[3], "a delay such as 1000ns", span);
    if let Some((delay, why)) = delay.and_then(|delay| Some((delay, LinkLimits::delay(delay)?))) {
        errors.at(tokens[3], format!("the delay is {delay}; {why}"));
        errors.hint(format!("a delay without a unit is in {}; write for example 1000ns", units[1]));
    }
    let error_rate = match tokens.get(4) {
        Some(&token) => errors.read(token, "a probability", real).filter(|&error_rate| {
            let why = LinkLimits::error_rate(error_rate);
            why.iter().for_each(|why| errors.at(token, format!("the error rate is {error_rate}; {why}")));
            why.is_none()
        }),
        None => Some(0.0),
    };
    let (a, b) = (a?, b?);
    if a == b {
        errors.at(tokens[1], format!("node {a} is linked to itself"));
    }
    Some(LinkSpec { a: NodeId(a), b: NodeId(b), rate: rate?, delay: delay?, error_rate: error_rate? })
}

/// Writes `graph` in the format of HPCC and ConWeave. Node names are replaced by numbers.
pub fn write_topology(graph: &Graph) -> String {
    let switches: Vec<_> = graph.switches().map(|id| id.0.to_string()).collect();
    let mut text = format!("{} {} {}\n{}\n", graph.nodes.len(), switches.len(), graph.links.len(), switches.join(" "));
    for LinkSpec { a, b, rate, delay, error_rate } in &graph.links {
        let (ns, ps) = (delay.ps() / 1000, delay.ps() % 1000);
        let fraction = if ps == 0 { String::new() } else { format!(".{ps:03}") };
        let rate = match rate.bps() {
            bps if bps % 1_000_000_000 == 0 => format!("{}Gbps", bps / 1_000_000_000),
            bps => format!("{bps}bps"),
        };
        writeln!(text, "{} {} {rate} {ns}{fraction}ns {error_rate}", a.0, b.0).expect("a String takes any text");
    }
    text
}
