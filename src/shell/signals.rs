//! Signals that end what is running.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// Listens for whoever wants the program to end: Ctrl-C, or SIGTERM as a scheduler of jobs sends it, so that no
/// half-written file is left behind then. What comes while nobody waits is kept.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
}

impl Signals {
    /// Listens from now on. `at_prompt` leaves SIGTERM to the system, because while the prompt waits for input
    /// nobody would hear it here. Where a signal cannot be had, the program ends on the spot.
    pub(crate) fn listen(at_prompt: bool) -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: if at_prompt { None } else { signal(SignalKind::terminate()).ok() },
        }
    }

    /// Waits until somebody wants the program to end.
    pub(crate) async fn asked_to_end(&mut self) -> Failure {
        tokio::select! {
            () = came(&mut self.interrupt) => Failure::Interrupted,
            () = came(&mut self.terminate) => Failure::Terminated,
        }
    }
}

async fn came(signal: &mut Option<Signal>) {
    let came = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if came.is_none() {
        std::future::pending::<()>().await;
    }
}
