use proptest::prelude::*;

use super::*;

#[test]
fn tunnels_lead_to_the_port_of_http_only_where_it_is_written() {
    let named = |pattern: &str| {
        let hosts = AllowedHosts::new([pattern]).unwrap();
        hosts.names_port("a.example.com", 80)
    };
    assert!(named("*.example.com:80") && named("a.example.com:80"));
    assert!(!named("*.example.com") && !named("a.example.com") && !named("b.example.com:80"));
}

fn access(patterns: &[&str], host: &str, port: u16) -> HostAccess {
    AllowedHosts::new(patterns).unwrap().access(host, port)
}

#[test]
fn names_suffixes_addresses_and_ports_are_matched_exactly() {
    use HostAccess::{Literal, Public, Refused};
    let patterns = [
        "pypi.org",
        "*.Example.com.",
        "db.example.com:5432",
        "10.0.0.5:8080",
        "[::1]:9000",
        "2001:db8::1",
        "localhost:3000",
    ];
    for (host, port, expected) in [
        ("pypi.org", 443, Literal),
        ("PyPI.org.", 80, Literal),
        ("pypi.org", 8443, Refused),
        ("pypi.org.evil.example", 443, Refused),
        ("evilpypi.org", 443, Refused),
        ("a.example.com", 443, Public),
        ("a.b.example.com", 80, Public),
        ("example.com", 443, Refused),
        ("aexample.com", 443, Refused),
        (".example.com", 443, Refused),
        ("db.example.com", 5432, Literal),
        ("db.example.com", 443, Public),
        ("10.0.0.5", 8080, Literal),
        ("10.0.0.5", 80, Refused),
        ("::ffff:10.0.0.5", 8080, Literal),
        ("[::1]", 9000, Literal),
        ("::1", 443, Refused),
        ("2001:db8:0::1", 443, Literal),
        ("localhost", 3000, Literal),
        ("127.0.0.1", 3000, Refused),
        ("127.1", 3000, Refused),
        ("0x7f000001", 443, Refused),
        ("2130706433", 443, Refused),
        ("", 443, Refused),
    ] {
        assert_eq!(access(&patterns, host, port), expected, "{host}:{port}");
    }
}

#[test]
fn numbers_that_resolvers_take_for_addresses_are_never_names() {
    for pattern in ["*.1", "127.1", "0x7f000001", "2130706433", "1.2.3.4.5"] {
        assert!(AllowedHosts::new([pattern]).is_err(), "{pattern}");
    }
}

#[test]
fn patterns_that_are_no_hosts_are_refused_with_the_reason() {
    let mut shown = String::new();
    for pattern in [
        "https://pypi.org",
        "pypi.org/simple",
        "user@pypi.org",
        "pypi.org:0",
        "pypi.org:+80",
        "pypi.org:http",
        "*",
        "*.*.com",
        "a.*.com",
        "exa mple.com",
        "",
        "a..b",
    ] {
        let error = AllowedHosts::new([pattern]).unwrap_err();
        shown.push_str(&format!("{error}\n"));
    }
    insta::assert_snapshot!(shown, @r"
    `https://pypi.org` is not a host: write only the name, without `https://` and path
    `pypi.org/simple` is not a host: write only the name, without `https://` and path
    `user@pypi.org` is not a host: remove the user name
    `pypi.org:0` is not a host: its port is not a number from 1 to 65535
    `pypi.org:+80` is not a host: its port is not a number from 1 to 65535
    `pypi.org:http` is not a host: its port is not a number from 1 to 65535
    `*` is not a host: `*` is only allowed as the whole first part, as in `*.example.com`
    `*.*.com` is not a host: `*` is only allowed as the whole first part, as in `*.example.com`
    `a.*.com` is not a host: `*` is only allowed as the whole first part, as in `*.example.com`
    `exa mple.com` is not a host: use letters, digits, `-`, `_` and dots
    `` is not a host: use letters, digits, `-`, `_` and dots
    `a..b` is not a host: use letters, digits, `-`, `_` and dots
    ");
}

#[test]
fn special_addresses_are_not_public() {
    for special in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "fe80::1",
        "fc00::1",
        "fd12::1",
        "ff02::1",
        "2001:db8::1",
        "2001::1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "3fff::1",
        "64:ff9b:1::1",
    ] {
        assert!(!is_public(special.parse().unwrap()), "{special}");
    }
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "100.128.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.20.0.1",
        "2606:4700::1111",
        "2a00:1450::1",
        "64:ff9b::808:808",
        "2001:4860:4860::8888",
    ] {
        assert!(is_public(public.parse().unwrap()), "{public}");
    }
}

/// Whether a list allows a host, by the documentation's words.
fn naive(patterns: &[String], host: &str, port: u16) -> bool {
    patterns.iter().any(|pattern| {
        let (name, only) = match pattern.split_once(':') {
            Some((name, port)) => (name.to_owned(), Some(port.parse::<u16>().unwrap())),
            None => (pattern.clone(), None),
        };
        let is_port = only.map_or(port == 80 || port == 443, |only| only == port);
        let labels: Vec<String> = host.to_lowercase().split('.').map(str::to_owned).collect();
        let wanted: Vec<String> = name.to_lowercase().split('.').map(str::to_owned).collect();
        let is_name = match wanted.first().map(String::as_str) {
            Some("*") => labels.len() >= wanted.len() && labels.ends_with(&wanted[1..]),
            _ => labels == wanted,
        };
        is_port && is_name
    })
}

proptest! {
    #[test]
    fn lists_of_names_match_as_documented(
        patterns in proptest::collection::vec(r"(\*\.)?[abA](\.[abB]){0,2}(:(80|443|81))?", 0..4),
        host in r"[aAb](\.[abB]){0,3}",
        port in prop_oneof![Just(80u16), Just(443), Just(81), Just(8080)],
    ) {
        let allowed = AllowedHosts::new(&patterns).unwrap();
        let expected = naive(&patterns, &host, port);
        prop_assert_eq!(allowed.access(&host, port) != HostAccess::Refused, expected);
    }
}
