//! What a compiled assert says of the answers, evaluated as Python would or not at all.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value;

use eval_match::python::{self, PythonObject, python_equal};

/// An expression over answers. Evaluating it asks for answers in the order of the calls.
#[derive(Debug)]
pub(super) enum Expression {
    Constant(Arc<PythonObject>),
    /// The answer to a call, by its place.
    Call(usize),
    Not(Box<Expression>),
    /// Ends at the first that is false.
    And(Vec<Expression>),
    /// A chain, which ends at the first comparison that is false.
    Compare(Box<Expression>, Vec<(Operator, Expression)>),
    Minus(Box<Expression>, Box<Expression>),
    Apply(Function, Box<Expression>),
    Close {
        a: Box<Expression>,
        b: Box<Expression>,
        relative: f64,
        absolute: f64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Is,
    IsNot,
    In,
    NotIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Bool,
    Float,
    Len,
    List,
    Set,
    Sorted,
    Tuple,
}

/// Where answers come from. An error ends the evaluation.
pub(super) trait Answers {
    type Error;
    fn answer(&mut self, call: usize) -> Result<Arc<PythonObject>, Self::Error>;
    /// Only an interpreter can tell what an operation on these makes.
    fn undecided(&self, operands: &[&PythonObject]) -> Self::Error;
}

impl Expression {
    /// Reads what `compared.py` wrote; `None` when it isn't that.
    pub fn read(value: &Value) -> Option<Expression> {
        let parts = value.as_array()?;
        let part = |i: usize| parts.get(i).and_then(Expression::read).map(Box::new);
        let float = |i: usize| match PythonObject::from_tagged(parts.get(i)?)? {
            PythonObject::Float(f) => Some(f),
            _ => None,
        };
        Some(match parts.first()?.as_str()? {
            "const" => Expression::Constant(Arc::new(PythonObject::from_tagged(parts.get(1)?)?)),
            "call" => Expression::Call(usize::try_from(parts.get(1)?.as_u64()?).ok()?),
            "not" => Expression::Not(part(1)?),
            "and" => Expression::And(
                parts
                    .iter()
                    .skip(1)
                    .map(Expression::read)
                    .collect::<Option<_>>()?,
            ),
            "compare" => {
                let chain = parts.get(2..)?.as_chunks::<2>();
                if !chain.1.is_empty() {
                    return None;
                }
                let read = |[op, side]: &[Value; 2]| {
                    Some((Operator::read(op.as_str()?)?, Expression::read(side)?))
                };
                Expression::Compare(part(1)?, chain.0.iter().map(read).collect::<Option<_>>()?)
            }
            "-" => Expression::Minus(part(1)?, part(2)?),
            "isclose" => Expression::Close {
                a: part(1)?,
                b: part(2)?,
                relative: float(3)?,
                absolute: float(4)?,
            },
            name => Expression::Apply(Function::read(name)?, part(1)?),
        })
    }

    /// The calls whose answers this uses.
    pub fn calls(&self, found: &mut impl FnMut(usize)) {
        match self {
            Expression::Constant(_) => {}
            Expression::Call(call) => found(*call),
            Expression::Not(inner) | Expression::Apply(_, inner) => inner.calls(found),
            Expression::And(parts) => parts.iter().for_each(|part| part.calls(found)),
            Expression::Compare(first, chain) => {
                first.calls(found);
                chain.iter().for_each(|(_, side)| side.calls(found));
            }
            Expression::Minus(a, b) | Expression::Close { a, b, .. } => {
                a.calls(found);
                b.calls(found);
            }
        }
    }

    /// Whether Python would go on after asserting this.
    pub fn truth<A: Answers>(&self, answers: &mut A) -> Result<bool, A::Error> {
        match self {
            Expression::Not(inner) => Ok(!inner.truth(answers)?),
            Expression::And(parts) => {
                for part in parts {
                    if !part.truth(answers)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expression::Compare(first, chain) => {
                let mut left = first.value(answers)?;
                for (operator, side) in chain {
                    let right = side.value(answers)?;
                    match operator.holds(&left, &right) {
                        Some(true) => left = right,
                        Some(false) => return Ok(false),
                        None => return Err(answers.undecided(&[&left, &right])),
                    }
                }
                Ok(true)
            }
            Expression::Close {
                a,
                b,
                relative,
                absolute,
            } => {
                let (a, b) = (a.value(answers)?, b.value(answers)?);
                python::close(&a, &b, *relative, *absolute)
                    .ok_or_else(|| answers.undecided(&[&a, &b]))
            }
            _ => {
                let value = self.value(answers)?;
                python::truth(&value).ok_or_else(|| answers.undecided(&[&value]))
            }
        }
    }

    pub fn value<A: Answers>(&self, answers: &mut A) -> Result<Arc<PythonObject>, A::Error> {
        match self {
            Expression::Constant(object) => Ok(Arc::clone(object)),
            Expression::Call(call) => answers.answer(*call),
            Expression::Minus(a, b) => {
                let (a, b) = (a.value(answers)?, b.value(answers)?);
                python::minus(&a, &b)
                    .map(Arc::new)
                    .ok_or_else(|| answers.undecided(&[&a, &b]))
            }
            Expression::Apply(function, inner) => {
                let x = inner.value(answers)?;
                function
                    .of(&x)
                    .map(Arc::new)
                    .ok_or_else(|| answers.undecided(&[&x]))
            }
            _ => Ok(Arc::new(PythonObject::Bool(self.truth(answers)?))),
        }
    }
}

impl Operator {
    fn read(text: &str) -> Option<Operator> {
        Some(match text {
            "==" => Operator::Equal,
            "!=" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "is" => Operator::Is,
            "is not" => Operator::IsNot,
            "in" => Operator::In,
            "not in" => Operator::NotIn,
            _ => return None,
        })
    }

    fn holds(self, a: &PythonObject, b: &PythonObject) -> Option<bool> {
        let order = |fits: fn(Ordering) -> bool| Some(python::ordered(a, b)?.is_some_and(fits));
        match self {
            Operator::Equal => python_equal(a, b).known(),
            Operator::NotEqual => python_equal(a, b).known().map(|equal| !equal),
            Operator::Less => order(Ordering::is_lt),
            Operator::LessOrEqual => order(Ordering::is_le),
            Operator::Greater => order(Ordering::is_gt),
            Operator::GreaterOrEqual => order(Ordering::is_ge),
            Operator::Is => python::identical(a, b),
            Operator::IsNot => python::identical(a, b).map(|same| !same),
            Operator::In => python::member(a, b),
            Operator::NotIn => python::member(a, b).map(|found| !found),
        }
    }
}

impl Function {
    fn read(name: &str) -> Option<Function> {
        Some(match name {
            "abs" => Function::Abs,
            "bool" => Function::Bool,
            "float" => Function::Float,
            "len" => Function::Len,
            "list" => Function::List,
            "set" => Function::Set,
            "sorted" => Function::Sorted,
            "tuple" => Function::Tuple,
            _ => return None,
        })
    }

    fn of(self, x: &PythonObject) -> Option<PythonObject> {
        match self {
            Function::Abs => python::absolute(x),
            Function::Bool => python::truth(x).map(PythonObject::Bool),
            Function::Float => python::as_float(x),
            Function::Len => python::length(x),
            Function::List => python::as_list(x),
            Function::Set => python::as_set(x),
            Function::Sorted => python::sorted(x),
            Function::Tuple => python::as_tuple(x),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Given(Vec<Value>);

    impl Answers for Given {
        type Error = &'static str;
        fn answer(&mut self, call: usize) -> Result<Arc<PythonObject>, &'static str> {
            let value = self.0.get(call).ok_or("not asked")?;
            PythonObject::from_tagged(value)
                .map(Arc::new)
                .ok_or("unreadable")
        }
        fn undecided(&self, operands: &[&PythonObject]) -> &'static str {
            if operands
                .iter()
                .any(|o| matches!(o, PythonObject::Opaque { .. }))
            {
                "opaque"
            } else {
                "undecided"
            }
        }
    }

    fn truth(expression: Value, answers: &[Value]) -> Result<bool, &'static str> {
        Expression::read(&expression)
            .expect("an expression")
            .truth(&mut Given(answers.to_vec()))
    }

    #[test]
    fn comparisons_hold_as_in_python() {
        let call = json!(["call", 0]);
        let is = |op: &str, x: Value| json!(["compare", call, op, ["const", x]]);
        assert_eq!(truth(is("==", json!(1)), &[json!(true)]), Ok(true));
        assert_eq!(truth(is("is", json!(true)), &[json!(1)]), Ok(false));
        assert_eq!(truth(is("is not", json!(null)), &[json!(1)]), Ok(true));
        assert_eq!(truth(is("in", json!([1, "a"])), &[json!("a")]), Ok(true));
        assert_eq!(
            truth(is("not in", json!([1, "a"])), &[json!("a")]),
            Ok(false)
        );
        assert_eq!(truth(is("<", json!("b")), &[json!("a")]), Ok(true));
        assert_eq!(
            truth(is("<", json!(1)), &[json!({"$float": "nan"})]),
            Ok(false)
        );
        assert_eq!(
            truth(is(">=", json!(1)), &[json!({"$float": "nan"})]),
            Ok(false)
        );
        assert_eq!(
            truth(is("<", json!(1)), &[json!("a")]),
            Err("undecided"),
            "Python raises"
        );
        assert_eq!(
            truth(is("==", json!(1)), &[json!({"$opaque": "A"})]),
            Err("opaque")
        );
        assert_eq!(
            truth(call.clone(), &[json!({"$opaque": "Match", "truth": true})]),
            Ok(true)
        );
        assert_eq!(
            truth(call.clone(), &[json!({"$opaque": "A"})]),
            Err("opaque")
        );
        assert_eq!(truth(json!(["not", call]), &[json!([])]), Ok(true));
    }

    #[test]
    fn what_comes_after_the_first_falsehood_is_not_asked_for() {
        let eq = |i: usize, x: u8| json!(["compare", ["call", i], "==", ["const", x]]);
        assert_eq!(
            truth(json!(["and", eq(0, 1), eq(1, 2)]), &[json!(0)]),
            Ok(false)
        );
        assert_eq!(
            truth(json!(["and", eq(0, 1), eq(1, 2)]), &[json!(1)]),
            Err("not asked")
        );
        let chain = json!(["compare", ["const", 1], "<", ["call", 0], "<", ["call", 1]]);
        assert_eq!(truth(chain.clone(), &[json!(1)]), Ok(false));
        assert_eq!(truth(chain.clone(), &[json!(2)]), Err("not asked"));
        assert_eq!(truth(chain, &[json!(2), json!(3)]), Ok(true));
    }

    #[test]
    fn arithmetic_is_done_as_python_does_it_or_not_at_all() {
        let near = json!([
            "compare",
            ["abs", ["-", ["call", 0], ["const", 0.33]]],
            "<",
            ["const", 1e-6]
        ]);
        assert_eq!(truth(near.clone(), &[json!(0.3300001)]), Ok(true));
        assert_eq!(truth(near.clone(), &[json!(1)]), Ok(false));
        assert_eq!(
            truth(near.clone(), &[json!(null)]),
            Err("undecided"),
            "Python raises"
        );
        assert_eq!(
            truth(near, &[json!({"$int": "0x40000000000001"})]),
            Err("undecided")
        );
        let close = json!(["isclose", ["call", 0], ["const", 100.0], 0.001, 0.0]);
        assert_eq!(truth(close.clone(), &[json!(100.1)]), Ok(true));
        assert_eq!(truth(close, &[json!(100.2)]), Ok(false));
        let listed = json!(["compare", ["tuple", ["sorted", ["call", 0]]], "==", ["const", {"$tuple": [1, 2]}]]);
        assert_eq!(truth(listed, &[json!({"$set": [2, 1]})]), Ok(true));
    }

    #[test]
    fn what_is_no_expression_is_not_read() {
        for value in [
            json!(null),
            json!([]),
            json!(["call"]),
            json!(["call", -1]),
            json!(["exec", ["call", 0]]),
            json!(["compare", ["call", 0], "=="]),
            json!(["compare", ["call", 0], "~", ["call", 1]]),
            json!(["const", {"$what": 1}]),
            json!(["isclose", ["call", 0], ["call", 1], 1, 0.0]),
        ] {
            assert!(Expression::read(&value).is_none(), "{value}");
        }
    }
}
