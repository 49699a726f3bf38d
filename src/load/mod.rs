//! Files to a plan: YAML with positions, `$ref`, schema checks, lints, datasets.
