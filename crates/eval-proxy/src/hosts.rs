//! Which hosts an agent may reach besides the model APIs.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names or patterns of hosts, with or without a port.
///
/// - `example.com` is that name alone, `*.example.com` every name below it (not itself).
/// - Without a port, ports 80 and 443 are allowed; `example.com:8080` allows that port alone.
///   Tunnels (`CONNECT`) then lead to port 443 alone, and what begins as TLS must name the host.
/// - An address such as `10.0.0.5` or `[::1]:8080` is allowed only as written. A name that resolves
///   to a private, loopback or other special address is refused, unless that address or a name
///   without `*` is in the list.
///
/// Names are compared without regard to case and to a final dot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts(Vec<HostPattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct HostPattern {
    name: HostName,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostName {
    /// In lower case, without a final dot.
    Exact(String),
    /// What names end with, from its first dot.
    Below(String),
    Address(IpAddr),
}

/// Why a text is not the pattern of a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a host: {why}")]
pub struct HostPatternError {
    pub pattern: String,
    pub why: &'static str,
}

/// A host that is allowed, and how its addresses are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostAccess {
    Refused,
    /// Only public addresses.
    Public,
    /// Any address: a person wrote this name.
    Literal,
}

impl AllowedHosts {
    /// # Errors
    /// The first pattern that is not a host.
    pub fn new<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<AllowedHosts, HostPatternError> {
        patterns
            .into_iter()
            .map(|pattern| read(pattern.as_ref()))
            .collect::<Result<_, _>>()
            .map(AllowedHosts)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pattern that allows a host has this port written.
    pub(crate) fn names_port(&self, host: &str, port: u16) -> bool {
        let with_port = self.0.iter().filter(|pattern| pattern.port == Some(port));
        let only = AllowedHosts(with_port.cloned().collect());
        only.access(host, port) != HostAccess::Refused
    }

    /// Whether a host and port, as in a request, may be reached. An address in brackets or not.
    pub(crate) fn access(&self, host: &str, port: u16) -> HostAccess {
        let host = plain_name(host);
        if is_odd_address(&host) {
            return HostAccess::Refused;
        }
        let address = host_address(&host);
        let mut access = HostAccess::Refused;
        for pattern in &self.0 {
            let is_port = match pattern.port {
                Some(only) => only == port,
                None => matches!(port, 80 | 443),
            };
            if !is_port {
                continue;
            }
            match (&pattern.name, address) {
                (HostName::Address(allowed), Some(address)) if *allowed == address => {
                    return HostAccess::Literal;
                }
                (HostName::Exact(name), None) if *name == host => return HostAccess::Literal,
                (HostName::Below(end), None)
                    if host.len() > end.len() && host.ends_with(end.as_str()) =>
                {
                    access = HostAccess::Public;
                }
                _ => {}
            }
        }
        access
    }
}

/// In lower case, without brackets and a final dot.
fn plain_name(host: &str) -> String {
    let inner = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    let name = inner.strip_suffix('.').unwrap_or(inner);
    name.to_ascii_lowercase()
}

/// The address that a host is.
fn host_address(host: &str) -> Option<IpAddr> {
    host.parse::<IpAddr>()
        .ok()
        .map(|address| address.to_canonical())
}

/// Forms that resolvers take for an address, and that are not one (`127.1`, `0x7f000001`,
/// `2130706433`).
fn is_odd_address(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|c: char| c.is_ascii_digit())
        && (last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x"));
    is_number && host_address(host).is_none()
}

/// Whether an address is of the link alone, where clouds have their services for credentials.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => {
            address.is_unicast_link_local()
                || address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
    }
}

fn read(pattern: &str) -> Result<HostPattern, HostPatternError> {
    let bad = |why| HostPatternError {
        pattern: pattern.to_owned(),
        why,
    };
    if pattern.contains("://") || pattern.contains('/') {
        return Err(bad("write only the name, without `https://` and path"));
    }
    if pattern.contains('@') {
        return Err(bad("remove the user name"));
    }
    // An IPv6 address without brackets has no port.
    let (host, port) = match pattern.parse::<Ipv6Addr>() {
        Ok(_) => (pattern, None),
        Err(_) => match pattern.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (pattern, None),
        },
    };
    let port = port
        .map(|port| {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            port.parse::<u16>()
                .ok()
                .filter(|port| digits && *port > 0)
                .ok_or_else(|| bad("its port is not a number from 1 to 65535"))
        })
        .transpose()?;
    let name = plain_name(host);
    if let Ok(address) = name.parse::<IpAddr>() {
        let name = HostName::Address(address.to_canonical());
        return Ok(HostPattern { name, port });
    }
    let (below, name) = match name.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, name.as_str()),
    };
    if name.contains('*') {
        return Err(bad(
            "`*` is only allowed as the whole first part, as in `*.example.com`",
        ));
    }
    if !is_name(name) || is_odd_address(name) || host_address(name).is_some() {
        return Err(bad("use letters, digits, `-`, `_` and dots"));
    }
    let name = match below {
        true => HostName::Below(format!(".{name}")),
        false => HostName::Exact(name.to_owned()),
    };
    Ok(HostPattern { name, port })
}

fn is_name(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 63
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split('.').all(part)
}

/// Whether an address is part of the public internet: not of this machine, of a local network, or
/// reserved (the IANA special-purpose registries).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            let embedded = match address.segments() {
                // NAT64 and 6to4 lead to the IPv4 address within.
                [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => {
                    let bits = u32::from(high) << 16 | u32::from(low);
                    Some(Ipv4Addr::from_bits(bits))
                }
                _ => None,
            };
            match embedded {
                Some(address) => is_public_v4(address),
                // Global unicast, without Teredo, documentation and other protocol assignments.
                None => {
                    first & 0xe000 == 0x2000
                        && !(first == 0x2001 && (second < 0x200 || second == 0xdb8))
                        && !(first == 0x3fff && second < 0x1000)
                }
            }
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !(a == 0
        || a == 127
        || a >= 224
        || address.is_private()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && b & 0xfe == 18))
}

#[cfg(test)]
mod tests;
