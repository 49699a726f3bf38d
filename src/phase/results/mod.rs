//! What tests came to: JUnit files and the summaries that test runners print.
