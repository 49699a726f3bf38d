//! What a plain YAML scalar means: null, a boolean, a number or a text.
