//! What cases give the target, of as many cases as there is room for.

use std::collections::HashMap;

use super::details::DetailBudget;
use crate::model::InputShown;

/// Inputs by the number of the eval and of the case. They come with the plan, whose order is the
/// journal's, so that who comes first may stay: who comes when there is no more room is noted
/// without its value, as long as they are not too many.
#[derive(Debug)]
pub(super) struct ShownInputs {
    room: DetailBudget,
    bytes: usize,
    kept: HashMap<(u32, u32), Box<InputShown>>,
}

impl ShownInputs {
    pub fn within(room: DetailBudget) -> Self {
        ShownInputs {
            room,
            bytes: 0,
            kept: HashMap::new(),
        }
    }

    /// False for who keeps none at all.
    pub fn has_room(&self) -> bool {
        self.room.bytes > 0 && self.room.samples > 0
    }

    /// Takes an input; a later one of the same case takes the place of the earlier.
    pub fn put(&mut self, eval: usize, case: usize, input: &InputShown) {
        let key = (eval as u32, case as u32);
        let known = self.kept.get(&key).map(|known| known.bytes());
        if known.is_none() && self.kept.len() >= self.room.samples {
            return;
        }
        // What was left out has no bytes.
        let bytes = self.bytes - known.unwrap_or(0) + input.bytes();
        if bytes <= self.room.bytes {
            self.bytes = bytes;
            self.kept.insert(key, Box::new(input.clone()));
        } else if known.is_none() {
            self.kept.insert(key, Box::new(input.left_out()));
        }
    }

    pub fn get(&self, eval: usize, case: usize) -> Option<&InputShown> {
        self.kept.get(&(eval as u32, case as u32)).map(Box::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::InputKind;

    #[test]
    fn there_is_room_for_those_that_come_first_and_others_are_noted() {
        let input = |text: &str| InputShown::bounded(InputKind::Prompt, text.into(), None, None);
        let mut inputs = ShownInputs::within(DetailBudget {
            samples: 4,
            bytes: 10,
        });
        inputs.put(0, 0, &input("seven 7"));
        inputs.put(0, 1, &input("four"));
        inputs.put(1, 0, &input("abc"));
        let said = |inputs: &ShownInputs, eval, case| {
            inputs.get(eval, case).map(|shown| shown.value.clone())
        };
        assert_eq!(said(&inputs, 0, 0), Some("seven 7".into()));
        assert_eq!(inputs.get(0, 1), Some(&input("four").left_out()));
        assert_eq!(said(&inputs, 1, 0), Some("abc".into()));
        inputs.put(2, 0, &input("left out"));
        inputs.put(2, 1, &input("one too many"));
        assert_eq!(
            (said(&inputs, 2, 0), said(&inputs, 2, 1)),
            (Some(serde_json::Value::Null), None)
        );
        // Planned again, a case is charged once.
        inputs.put(0, 0, &input("seven 7"));
        inputs.put(1, 0, &input("ab"));
        assert_eq!((said(&inputs, 1, 0), inputs.bytes), (Some("ab".into()), 9));
    }
}
