//! Values with their exact Python types, and what Python's own operators say of them.
//!
//! Where `Datum` reads a value as an author of YAML would, an [`PythonObject`] keeps a tuple apart from a
//! list and a Counter from a dict, because asserts that are compiled from Python tests keep
//! Python's meaning. Nothing is guessed: an operation whose result isn't certain (opaque values,
//! exceptions, corners of rare types) answers `None`, and a real interpreter is asked.

mod equality;
mod numbers;
mod operations;
mod read;
#[cfg(test)]
mod tests;

use num_bigint::BigInt;

pub use operations::{
    absolute, as_float, as_list, as_set, as_tuple, close, identical, length, member, minus,
    ordered, sorted, truth,
};

/// A value as it crosses the sandbox's border, with its exact type.
#[derive(Debug, Clone)]
pub enum PythonObject {
    None,
    Bool(bool),
    Int(BigInt),
    Float(f64),
    Complex(f64, f64),
    /// Any two integers with a denominator that isn't zero; compared as numbers.
    Fraction(BigInt, BigInt),
    Decimal(PythonDecimal),
    /// In WTF-8, so that lone surrogates have a place.
    Text(Vec<u8>),
    Bytes(Vec<u8>),
    ByteArray(Vec<u8>),
    List(Vec<PythonObject>),
    Tuple(Vec<PythonObject>),
    Deque(Vec<PythonObject>),
    /// Members differ from each other. A frozenset is one that can be a key.
    Set {
        members: Vec<PythonObject>,
        frozen: bool,
    },
    /// Keys differ from each other.
    Dict {
        kind: DictKind,
        entries: Vec<(PythonObject, PythonObject)>,
    },
    /// The view of a dict's keys: it compares as a set.
    Keys(Vec<PythonObject>),
    Range {
        start: BigInt,
        stop: BigInt,
        step: BigInt,
    },
    /// A builtin type by its name.
    Type(String),
    /// An instant or a name without parts, of the kind named first, in its canonical text.
    Stamp(StampKind, String),
    /// In microseconds.
    TimeDelta(i128),
    Ellipsis,
    /// Iterators and views that equal nothing but themselves.
    Unique,
    /// What didn't cross. `truth`: what `bool()` of it says, where that can be known. `unique`: it
    /// equals only itself.
    Opaque {
        type_name: String,
        truth: Option<bool>,
        unique: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DictKind {
    /// `dict` and `defaultdict`.
    Plain,
    Ordered,
    Counter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampKind {
    Date,
    DateTime,
    Time,
    Uuid,
}

/// `decimal.Decimal`.
#[derive(Debug, Clone)]
pub enum PythonDecimal {
    /// `digits` times ten to the power of `exponent`.
    Finite {
        digits: BigInt,
        exponent: i64,
    },
    Infinite {
        negative: bool,
    },
    Nan,
}

/// What Python's `==` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Equality {
    Equal,
    NotEqual,
    /// Only an interpreter can say: the comparison may raise, or depends on what didn't cross.
    Unknown,
}

impl Equality {
    fn of(equal: bool) -> Equality {
        if equal {
            Equality::Equal
        } else {
            Equality::NotEqual
        }
    }

    /// `None` where it is unknown.
    pub fn known(self) -> Option<bool> {
        match self {
            Equality::Equal => Some(true),
            Equality::NotEqual => Some(false),
            Equality::Unknown => None,
        }
    }
}

/// Python's `==` between two values that share no identity: True equals 1 and 1.0, a list is no
/// tuple, a set equals a frozenset, a dict compares without order (two OrderedDicts with it), NaN
/// equals nothing, iterators equal nothing.
pub fn python_equal(a: &PythonObject, b: &PythonObject) -> Equality {
    equality::equal(a, b)
}
