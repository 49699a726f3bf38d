//! A summary rendered as a stream of bytes: terminal, Markdown, JSON, JUnit.
