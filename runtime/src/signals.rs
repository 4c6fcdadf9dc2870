//! Signals that end the program: Control-C, `kill`, a closed terminal. Temporary files go with it.

use crate::temporary::end_without_temporaries;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Removes temporary files when a signal ends the program, which ends by that signal all the same. A signal that whoever
/// started the program has set to be ignored (`nohup`) stays ignored.
pub fn leave_nothing_behind() {
    let ignored = ignored();
    let ending = [SIGHUP, SIGINT, SIGTERM];
    let ending = ending
        .iter()
        .filter(|signal| ignored >> (*signal - 1) & 1 == 0);
    // Without them the program works as well, and a signal leaves what it leaves.
    let Ok(mut signals) = Signals::new(ending) else {
        return;
    };
    let waiting = std::thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            end_without_temporaries(|| {
                let _ = emulate_default_handler(signal);
            });
        }
    });
    drop(waiting);
}

/// The signals that are ignored, a bit each from signal 1 on, as Linux tells; none where it does not.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
