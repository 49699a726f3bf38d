//! Channels that are told of a gate: webhooks and commands. What goes wrong there never changes a
//! gate.
//!
//! A [`NotifyMessage`] is plain data made of a summary or a phase report; it holds ids, names and
//! figures, never an output. What it says is hostile: ids and names may come from data sets. A
//! warning names the channel and the host, nothing of an address.

mod command;
mod message;
mod payload;
mod retry;
mod webhook;

pub use message::{NotifyFailure, NotifyMessage};

use crate::model::{Decision, NotifyChannel, NotifyMethod};
use crate::spec::NotifyOn;
use eval_models::net::HttpClients;

/// Tells the channels that want to know; each in its turn, since nobody has many. What went wrong,
/// a sentence each.
pub async fn tell(channels: &[NotifyChannel], message: &NotifyMessage) -> Vec<String> {
    let clients = HttpClients::default();
    let mut warnings = Vec::new();
    for channel in channels.iter().filter(|channel| wants(channel, message)) {
        let told = match &channel.way {
            NotifyMethod::Webhook(hook) => webhook::send(hook, message, &clients).await,
            NotifyMethod::Command(command) => {
                command::run(command, message).await.map(|()| Vec::new())
            }
        };
        let (Ok(faults) | Err(faults)) = told.map_err(|fault| vec![fault]);
        warnings.extend(
            faults
                .into_iter()
                .map(|fault| format!("notify: {}: {fault}", channel.name)),
        );
    }
    warnings
}

/// Everything that is not a pass is a failure, but for a shard, which decides nothing.
fn wants(channel: &NotifyChannel, message: &NotifyMessage) -> bool {
    let passed =
        matches!(message.decision, Decision::Pass | Decision::Undecided) && message.exit_code == 0;
    channel.on == NotifyOn::Always || !passed
}
