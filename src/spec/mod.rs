//! What people write: the source of every JSON Schema under `schemas/`.
