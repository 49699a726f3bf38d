//! Any bytes from a child: no panic, no hang, and no value under an index that its line does not
//! name.
#![no_main]

use eval_match::{Comparator, Datum, compare};
use eval_sandbox::protocol_fuzz::{answer, channel};
use eval_sandbox::{Call, CallOutcome};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = data.split_first() else { return };
    let chunks: Vec<&[u8]> = bytes.chunks(usize::from(*size).max(1)).collect();
    let Ok(heard) = channel(&chunks) else { return };
    let joined: Vec<u8> = heard.lines.iter().flat_map(|line| line.iter().copied().chain([b'\n'])).collect();
    assert!(bytes.starts_with(&joined), "lines that nobody wrote");
    let call = Call { args: vec![json!([1]), json!({"$tuple": [1, 2]})], kwargs: Vec::new() };
    let expected = Datum::from_json(&json!(3)).expect("a value");
    for (index, line) in (0u64..).zip(&heard.lines) {
        let Some(outcome) = answer(line, index, &call) else { continue };
        let plain: Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!(plain["i"].as_u64(), Some(index));
        if let CallOutcome::Value(value) = outcome {
            let Ok(datum) = Datum::from_tagged(&value) else { continue };
            let _ = (datum.to_string(), datum.to_json(), datum.type_name().len());
            let _ = compare(Comparator::Equals, &datum, &expected, None);
            let _ = compare(Comparator::Unordered, &datum, &expected, None);
            let _ = compare(Comparator::Approx, &datum, &expected, None);
            assert_eq!(Datum::from_tagged(&datum.to_tagged()).map(|d| d.to_string()), Ok(datum.to_string()));
        }
    }
});
