//! Trajectories of coding agents: bytes in, values out. Nothing here reads files or starts programs.
//!
//! ```
//! use eval_agents::trajectory::Trajectory;
//!
//! let json = r#"{
//!     "schema_version": "ATIF-v1.8",
//!     "agent": {"name": "claude-code", "version": "2.1.0"},
//!     "steps": [
//!         {"step_id": 1, "source": "user", "message": "List the files."},
//!         {"step_id": 2, "source": "agent", "message": "",
//!          "tool_calls": [{"tool_call_id": "c1", "function_name": "Bash", "arguments": {"command": "ls"}}],
//!          "observation": {"results": [{"source_call_id": "c1", "content": "a.txt"}]}},
//!         {"step_id": 3, "source": "agent", "message": "There is one file."}
//!     ]
//! }"#;
//! let trajectory = Trajectory::from_json(json.as_bytes()).unwrap();
//! let names: Vec<_> = trajectory.tool_calls().iter().map(|made| made.call.function_name.as_str()).collect();
//! assert_eq!(names, ["Bash"]);
//! assert_eq!(trajectory.final_message().as_deref(), Some("There is one file."));
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(clippy::print_stdout, clippy::print_stderr, clippy::exit)
)]

mod build;
pub mod commands;
pub mod joined;
pub mod messages;
pub mod streams;
pub mod trajectory;
