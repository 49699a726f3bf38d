//! The page on which people grade, and its API.
//!
//! [`desk`] has the sessions of the reviewers, [`routes`] serve them as JSON ([`api`], described by
//! [`openapi`]), and [`page`] is what a browser shows: with a server, or as a file ([`offline`]).
//! Texts of outputs reach the page as texts, Markdown as a tree of known elements ([`markup`]).

mod api;
mod desk;
mod markup;
mod offline;
mod openapi;
mod page;
mod routes;

pub use desk::{ReviewDesk, SessionOpener};
pub use offline::{OfflineError, export, import, read_decisions};
pub use openapi::document as api_document;
pub use routes::{api_routes, page_routes};
