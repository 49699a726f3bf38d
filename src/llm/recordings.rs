//! Exchanges with models as readable files.
