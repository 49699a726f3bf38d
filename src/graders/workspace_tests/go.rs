//! `go test -json`: one event a line. Lines that are not events come from a build that failed.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::reports::{ReportedTest, ReportedTests, TestStatus};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoEvent {
    action: String,
    #[serde(default)]
    package: String,
    test: Option<String>,
    #[serde(default)]
    output: String,
}

#[derive(Debug, Default)]
struct GoPackage {
    /// Tests that began and did not end, with the last line that they printed.
    open: BTreeMap<String, String>,
    tests: usize,
    failed: bool,
    /// Go says that there was nothing to run.
    is_empty: bool,
}

pub(super) fn read(text: &str) -> ReportedTests {
    let mut reported = ReportedTests::default();
    let mut packages: BTreeMap<String, GoPackage> = BTreeMap::new();
    for line in text.lines() {
        let event = serde_json::from_str::<GoEvent>(line).ok();
        let Some(event) = event.filter(|_| line.starts_with('{')) else {
            if let Some(package) = line.strip_prefix("FAIL\t") {
                let (package, why) = package.split_once(['\t', ' ']).unwrap_or((package, ""));
                reported
                    .broken
                    .push((package.to_owned(), why.trim().to_owned()));
            }
            continue;
        };
        let package = packages.entry(event.package.clone()).or_default();
        match &event.test {
            Some(test) => package.test(test, &event, &mut reported),
            None => package.whole(&event, &mut reported),
        }
    }
    for (name, package) in packages {
        for test in package.open.into_keys() {
            let id = format!("{name}/{test}");
            let test = ReportedTest::new(&id, TestStatus::Failed, "it did not end");
            reported.tests.push(test);
        }
    }
    reported
}

impl GoPackage {
    fn test(&mut self, test: &str, event: &GoEvent, reported: &mut ReportedTests) {
        let status = match event.action.as_str() {
            "run" => {
                self.open.insert(test.to_owned(), String::new());
                return;
            }
            "output" => {
                let line = event.output.trim();
                let is_frame = ["=== ", "--- "].iter().any(|frame| line.starts_with(frame));
                if let Some(message) = self
                    .open
                    .get_mut(test)
                    .filter(|_| !is_frame && !line.is_empty())
                {
                    *message = line.to_owned();
                }
                return;
            }
            "pass" => TestStatus::Passed,
            "skip" => TestStatus::Skipped,
            "fail" => TestStatus::Failed,
            _ => return,
        };
        let message = self.open.remove(test).unwrap_or_default();
        let message = if status == TestStatus::Passed {
            ""
        } else {
            &message
        };
        self.tests += 1;
        self.failed |= status == TestStatus::Failed;
        let id = format!("{}/{test}", event.package);
        reported.tests.push(ReportedTest::new(&id, status, message));
    }

    fn whole(&mut self, event: &GoEvent, reported: &mut ReportedTests) {
        let mut broken = |why: &str| {
            reported
                .broken
                .push((event.package.clone(), why.to_owned()))
        };
        match event.action.as_str() {
            "output" => {
                let texts = ["[no test files]", "[no tests to run]", "no tests to run"];
                self.is_empty |= texts.iter().any(|text| event.output.contains(text));
            }
            "fail" if !self.failed => broken("the package failed, but none of its tests did"),
            "pass" if self.tests == 0 && !self.is_empty => {
                broken("the test program ended without running a test");
            }
            "build-fail" => broken("it does not build"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let reported = read(text);
        let tests = reported.tests.iter();
        let tests = tests.map(|t| {
            format!("{} {} {}", t.id, t.status.name(), t.message)
                .trim()
                .to_owned()
        });
        let broken = reported
            .broken
            .iter()
            .map(|(id, why)| format!("! {id}: {why}"));
        tests.chain(broken).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn events_become_tests() {
        let text = r#"{"Action":"run","Package":"m/a","Test":"TestOk"}
{"Action":"pass","Package":"m/a","Test":"TestOk","Elapsed":0}
{"Action":"run","Package":"m/a","Test":"TestBad"}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:5: got 1\n"}
{"Action":"output","Package":"m/a","Test":"TestBad","Output":"--- FAIL: TestBad (0.00s)\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad"}
{"Action":"run","Package":"m/a","Test":"TestHung"}
{"Action":"skip","Package":"m/a","Test":"TestSkip/sub"}
{"Action":"fail","Package":"m/a"}"#;
        assert_eq!(
            shown(text),
            "m/a/TestOk passed; m/a/TestBad failed a_test.go:5: got 1; m/a/TestSkip/sub skipped; m/a/TestHung failed it did not end"
        );
    }

    #[test]
    fn packages_without_results_are_broken() {
        let text = r#"{"Action":"output","Package":"m/early","Output":"ok  \tm/early\t0.003s\n"}
{"Action":"pass","Package":"m/early"}
{"Action":"output","Package":"m/none","Output":"?   \tm/none\t[no test files]\n"}
{"Action":"skip","Package":"m/none"}
{"Action":"output","Package":"m/filtered","Output":"ok  \tm/filtered\t0.003s [no tests to run]\n"}
{"Action":"pass","Package":"m/filtered"}
{"Action":"fail","Package":"m/panics"}
FAIL	m/unbuilt [build failed]"#;
        assert_eq!(
            shown(text),
            "! m/early: the test program ended without running a test; ! m/panics: the package failed, but none of its \
             tests did; ! m/unbuilt: [build failed]"
        );
    }
}
