//! The scheduler: drives a plan, owns cancellation, writes the journal first and then tells the observers.
