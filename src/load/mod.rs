//! Files to a plan: YAML with positions, `$ref`, schema checks, lints, datasets.
//!
//! The way of a file: [`source`] reads it, [`tree`] makes a tree in which every key and value has its place,
//! [`normalise`] gives each key its one spelling, [`schema`] checks the shape. What goes wrong on the way is a
//! [`problem::Problem`]; [`render`] shows problems to people and machines.

pub mod normalise;
pub mod problem;
pub mod render;
pub mod scalar;
pub mod schema;
pub mod source;
pub mod tree;
