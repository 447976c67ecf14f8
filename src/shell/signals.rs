//! Signals that end what is running.

use tokio::signal::ctrl_c;
use tokio::signal::unix::{SignalKind, signal};

use super::failure::Failure;

/// Waits until somebody wants the program to end: Ctrl-C, or SIGTERM as a scheduler of jobs sends it, so
/// that no half-written file is left behind then. `at_prompt` leaves SIGTERM to the system, because while
/// the prompt waits for input nobody would hear it here.
pub(crate) async fn asked_to_end(at_prompt: bool) -> Failure {
    let terminated = async {
        // Where it cannot be had, the program ends on the spot.
        if !at_prompt && let Ok(mut terminate) = signal(SignalKind::terminate()) {
            terminate.recv().await;
        } else {
            std::future::pending::<()>().await;
        }
    };
    let interrupted = async {
        if ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => Failure::Interrupted,
        () = terminated => Failure::Terminated,
    }
}
