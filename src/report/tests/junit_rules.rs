//! What the schemas of JUnit files demand that servers hold against them, written down as rules:
//! that of Maven's Surefire (`surefire-test-report.xsd`) and that of Jenkins' xUnit plugin
//! (`junit-10.xsd`). A file that keeps to all of these fits both: the root aside, which Surefire
//! does not have.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::*;

/// An element as it is read.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

fn element(tag: &BytesStart) -> Element {
    let mut attributes = BTreeMap::new();
    for attribute in tag.attributes() {
        let attribute = attribute.expect("a well-formed attribute");
        let name = String::from_utf8(attribute.key.as_ref().to_vec()).expect("UTF-8");
        let value = String::from_utf8(attribute.value.into_owned()).expect("UTF-8");
        assert!(
            attributes.insert(name.clone(), value).is_none(),
            "`{name}` twice"
        );
    }
    let name = String::from_utf8(tag.name().as_ref().to_vec()).expect("UTF-8");
    Element {
        name,
        attributes,
        ..Element::default()
    }
}

fn read(xml: &str) -> Element {
    let mut reader = Reader::from_str(xml);
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(tag) => open.push(element(&tag)),
            Event::Empty(tag) => open
                .last_mut()
                .expect("an element")
                .children
                .push(element(&tag)),
            Event::End(_) => {
                let done = open.pop().expect("an element");
                open.last_mut().expect("an element").children.push(done);
            }
            Event::Text(text) => {
                open.last_mut()
                    .expect("an element")
                    .text
                    .push_str(&String::from_utf8_lossy(&text));
            }
            Event::Eof => return open.remove(0).children.remove(0),
            _ => {}
        }
    }
}

/// The attributes that there must be, and those that there may be.
fn attributes(element: &Element, must: &[&str], may: &[&str]) {
    for name in must {
        assert!(
            element.attributes.contains_key(*name),
            "<{}> without `{name}`",
            element.name
        );
    }
    for name in element.attributes.keys() {
        assert!(
            must.contains(&name.as_str()) || may.contains(&name.as_str()),
            "<{}> with `{name}`",
            element.name
        );
    }
}

/// The children in this order, each with how many there may be.
fn children(element: &Element, order: &[(&str, usize)]) {
    let mut at = 0;
    let mut count = 0;
    for child in &element.children {
        let place = order.iter().position(|(name, _)| *name == child.name);
        let place = place.unwrap_or_else(|| panic!("<{}> in <{}>", child.name, element.name));
        assert!(
            place >= at,
            "<{}> stands too late in <{}>",
            child.name,
            element.name
        );
        count = if place == at { count + 1 } else { 1 };
        assert!(count <= order[place].1, "too many <{}>", child.name);
        at = place;
    }
}

const MANY: usize = usize::MAX;

fn number(element: &Element, name: &str) -> usize {
    element.attributes[name].parse().expect("a whole number")
}

fn time(element: &Element) {
    if let Some(time) = element.attributes.get("time") {
        let (seconds, millis) = time.split_once('.').unwrap_or((time, "0"));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        assert!(
            digits(seconds) && digits(millis) && millis.len() <= 3,
            "time {time}"
        );
    }
}

/// Panics when a file breaks a rule.
pub(super) fn check(xml: &str) {
    for c in xml.chars() {
        let allowed = matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(allowed, "{c:?} is no character of XML 1.0");
    }
    let root = read(xml);
    assert_eq!(root.name, "testsuites");
    attributes(&root, &["tests", "failures", "errors"], &["name", "time"]);
    time(&root);
    children(&root, &[("testsuite", MANY)]);
    let mut names = BTreeSet::new();
    let mut totals = [0; 3];
    for suite in &root.children {
        attributes(
            suite,
            &["name", "tests", "failures", "errors", "skipped"],
            &["time", "group"],
        );
        time(suite);
        children(suite, &[("properties", 1), ("testcase", MANY)]);
        let mut counts = BTreeMap::new();
        for child in &suite.children {
            if child.name == "properties" {
                children(child, &[("property", MANY)]);
                child
                    .children
                    .iter()
                    .for_each(|property| attributes(property, &["name", "value"], &[]));
                continue;
            }
            test_case(child, &mut counts);
            let name = (
                child.attributes["classname"].clone(),
                child.attributes["name"].clone(),
            );
            assert!(names.insert(name.clone()), "{name:?} twice");
        }
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let cases = suite
            .children
            .iter()
            .filter(|child| child.name == "testcase")
            .count();
        assert_eq!(number(suite, "tests"), cases);
        for (place, (attribute, tag)) in [
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(number(suite, attribute), count(tag));
            totals[place] += count(tag);
        }
    }
    assert_eq!(
        (number(&root, "failures"), number(&root, "errors")),
        (totals[0], totals[1])
    );
}

fn test_case(case: &Element, counts: &mut BTreeMap<String, usize>) {
    attributes(case, &["name", "time", "classname"], &["group"]);
    time(case);
    let order = [
        ("failure", MANY),
        ("rerunFailure", MANY),
        ("flakyFailure", MANY),
        ("skipped", 1),
        ("error", 1),
        ("rerunError", MANY),
        ("flakyError", MANY),
        ("system-out", 1),
        ("system-err", 1),
    ];
    children(case, &order);
    for child in &case.children {
        *counts.entry(child.name.clone()).or_insert(0) += 1;
        match child.name.as_str() {
            "failure" | "error" => attributes(child, &["type"], &["message"]),
            "skipped" => attributes(child, &[], &["message"]),
            "system-out" | "system-err" => attributes(child, &[], &[]),
            _ => {
                attributes(child, &["type"], &["message"]);
                assert!(child.text.trim().is_empty(), "text in <{}>", child.name);
                assert_eq!(
                    child.children.first().map(|first| first.name.as_str()),
                    Some("stackTrace")
                );
                children(
                    child,
                    &[("stackTrace", 1), ("system-out", 1), ("system-err", 1)],
                );
            }
        }
        if !child.name.starts_with("flaky") {
            children(child, &[]);
        }
    }
}

#[test]
fn every_kind_of_run_keeps_to_the_rules() {
    let mut gate_alone = green(2);
    gate_alone.gate = Gate {
        decision: Decision::Pending,
        exit_code: 4,
        ..rich().gate
    };
    for summary in [
        rich(),
        unsandboxed(),
        green(3),
        flaky(),
        red(30, true),
        gate_alone,
    ] {
        check(&rendered(ReportFormat::Junit, &summary));
    }
}

#[test]
fn names_that_look_the_same_are_told_apart() {
    let mut summary = red(3, false);
    let long = "x".repeat(600);
    for (at, case) in summary.evals[0].cases.iter_mut().enumerate() {
        case.id = format!("{long}{at}");
    }
    let twin = EvalResult {
        id: format!("{} (run)", summary.metadata.suite_name),
        ..summary.evals[0].clone()
    };
    summary.evals.push(twin);
    let shown = rendered(ReportFormat::Junit, &summary);
    check(&shown);
    assert!(shown.contains("… (3)\""), "{}", &shown[..3000]);
}

#[test]
#[should_panic(expected = "<testcase> with `id`")]
fn the_rules_find_what_is_wrong() {
    check(
        r#"<testsuites tests="1" failures="0" errors="0"><testsuite name="s" tests="1" failures="0" errors="0" skipped="0"><testcase name="a" classname="s" time="0.1" id="7"/></testsuite></testsuites>"#,
    );
}
