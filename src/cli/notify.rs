//! Telling channels of what a gate decided.

use super::console::Console;
use crate::model::NotifyChannel;
use crate::notify::{self, NotifyMessage};

/// Tells the channels that want to know. What goes wrong is a warning on stderr, and returned; it
/// changes no exit code.
pub fn tell(console: &Console, channels: &[NotifyChannel], message: &NotifyMessage) -> Vec<String> {
    if channels.is_empty() {
        return Vec::new();
    }
    // A thread of its own: who calls may stand in a runtime already.
    let told = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                match runtime {
                    Ok(runtime) => runtime.block_on(send_until_interrupted(channels, message)),
                    Err(error) => vec![format!("notify: cannot start: {error}")],
                }
            })
            .join()
    });
    let warnings =
        told.unwrap_or_else(|_| vec!["notify: internal error in eval-harness".to_owned()]);
    warnings.iter().for_each(|warning| console.warn(warning));
    warnings
}

/// Until somebody has had enough: the handlers of the run before this have taken the signals' own
/// effect away.
async fn send_until_interrupted(
    channels: &[NotifyChannel],
    message: &NotifyMessage,
) -> Vec<String> {
    tokio::select! {
        warnings = notify::tell(channels, message) => warnings,
        () = enough() => vec!["notify: interrupted; not every channel got the message".to_owned()],
    }
}

async fn enough() {
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => _ = signal.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        ended = tokio::signal::ctrl_c() => if ended.is_err() { std::future::pending().await },
        () = terminated => {}
    }
}
