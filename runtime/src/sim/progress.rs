//! How far a launch is, for runs that take long.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Is told after each block how many are done, and of how many.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(u64, u64) + Send + Sync>);

/// Before this nobody wonders.
const SOON: Duration = Duration::from_secs(2);
/// Between two lines.
const PERIOD: Duration = Duration::from_millis(250);

impl Progress {
    /// Calls a function, from any thread.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress(Arc::new(tell))
    }

    /// A line on standard error, where that is a terminal, from two seconds on; it is gone at the end.
    pub fn terminal() -> Option<Progress> {
        let terminal = std::io::stderr().is_terminal();
        terminal.then(|| {
            let state = Mutex::new(None::<(Instant, Instant)>);
            Progress::new(move |done, blocks| {
                let Ok(mut state) = state.lock() else { return };
                let now = Instant::now();
                let (start, last) = *state.get_or_insert((now, now));
                if done == blocks {
                    *state = None;
                    if last > start {
                        let _ = write!(std::io::stderr(), "\r\x1b[K");
                    }
                } else if now - start > SOON && now - last > PERIOD {
                    *state = Some((start, now));
                    let _ = write!(
                        std::io::stderr(),
                        "\r\x1b[K  {done} of {blocks} blocks, {:.0} s",
                        (now - start).as_secs_f64()
                    );
                }
            })
        })
    }

    pub(super) fn tell(&self, done: u64, blocks: u64) {
        (self.0)(done, blocks);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

impl PartialEq for Progress {
    fn eq(&self, other: &Progress) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Progress {}
