//! Channels that are told of a gate: webhooks and commands. What goes wrong there never changes a
//! gate.
//!
//! A [`Message`] is plain data made of a summary or a phase report; it holds ids, names and
//! figures, never an output. What it says is hostile: ids and names may come from data sets. A
//! warning names the channel and the host, nothing of an address.

mod command;
mod message;
mod payload;
mod retry;
mod webhook;

pub use message::{Failed, Message};

use crate::model::{Channel, Decision, Way};
use crate::spec::NotifyOn;
use eval_models::net::Clients;

/// Tells the channels that want to know; each in its turn, since nobody has many. What went wrong,
/// a sentence each.
pub async fn tell(channels: &[Channel], message: &Message) -> Vec<String> {
    let clients = Clients::default();
    let mut warnings = Vec::new();
    for channel in channels.iter().filter(|channel| wants(channel, message)) {
        let told = match &channel.way {
            Way::Webhook(hook) => webhook::send(hook, message, &clients).await,
            Way::Command(command) => command::run(command, message).await.map(|()| Vec::new()),
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
fn wants(channel: &Channel, message: &Message) -> bool {
    let passed =
        matches!(message.decision, Decision::Pass | Decision::Undecided) && message.exit_code == 0;
    channel.on == NotifyOn::Always || !passed
}
