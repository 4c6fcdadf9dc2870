//! How far a launch is, for runs that take long.

use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Is told after each block how many are done, and of how many; makes way for what else is written.
#[derive(Clone)]
pub struct Progress {
    tell: Arc<dyn Fn(u64, u64) + Send + Sync>,
    make_way: Arc<dyn Fn() + Send + Sync>,
}

/// Before this nobody wonders.
const SOON: Duration = Duration::from_secs(2);
/// Between two lines.
const PERIOD: Duration = Duration::from_millis(250);
/// Ends the line that is shown.
const CLEAR: &str = "\r\x1b[K";

/// When a launch began, and when a line was last written, if one is shown.
struct Shown {
    start: Instant,
    last: Option<Instant>,
}

impl Progress {
    /// Calls a function, from any thread.
    pub fn new(tell: impl Fn(u64, u64) + Send + Sync + 'static) -> Progress {
        Progress {
            tell: Arc::new(tell),
            make_way: Arc::new(|| {}),
        }
    }

    /// A line on standard error about `what` (nothing, or a name), where that is a terminal, from two seconds on; it is
    /// gone at the end, and before anything is printed.
    pub fn terminal(what: &str) -> Option<Progress> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let what = match what {
            "" => String::new(),
            what => format!("{what}: "),
        };
        let shown = Arc::new(Mutex::new(None::<Shown>));
        let clear = Arc::clone(&shown);
        Some(Progress {
            tell: Arc::new(move |done, blocks| {
                let Ok(mut state) = shown.lock() else { return };
                let now = Instant::now();
                let shown = state.get_or_insert(Shown {
                    start: now,
                    last: None,
                });
                let elapsed = now - shown.start;
                let due = shown.last.is_none_or(|last| now - last > PERIOD);
                if done == blocks {
                    if shown.last.is_some() {
                        let _ = write!(std::io::stderr(), "{CLEAR}");
                    }
                    *state = None;
                } else if elapsed > SOON && due {
                    shown.last = Some(now);
                    let seconds = elapsed.as_secs_f64();
                    let _ = write!(
                        std::io::stderr(),
                        "{CLEAR}  {what}{done} of {blocks} blocks, {seconds:.0} s"
                    );
                }
            }),
            make_way: Arc::new(move || {
                if let Ok(mut state) = clear.lock()
                    && let Some(shown) = state.as_mut()
                    && shown.last.take().is_some()
                {
                    let _ = write!(std::io::stderr(), "{CLEAR}");
                }
            }),
        })
    }

    /// Takes the line away that is shown.
    pub(super) fn make_way(&self) {
        (self.make_way)();
    }

    pub(super) fn tell(&self, done: u64, blocks: u64) {
        (self.tell)(done, blocks);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

impl PartialEq for Progress {
    fn eq(&self, other: &Progress) -> bool {
        Arc::ptr_eq(&self.tell, &other.tell)
    }
}

impl Eq for Progress {}
