//! Case to output. Knows nothing of graders.
