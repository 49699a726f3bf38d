//! Arguments, one file per verb, exit codes: the only module that prints or exits.
