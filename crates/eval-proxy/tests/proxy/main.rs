//! The proxy between real clients and scripted servers on 127.0.0.1.

mod counting;
mod hostile;
mod hosts;
mod limits;
mod passing;
mod replay;
mod scripted;
