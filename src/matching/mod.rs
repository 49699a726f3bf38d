//! Pure comparers: text, patterns, numbers, values, structures.
