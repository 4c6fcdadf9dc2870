//! Work on many configurations, on several threads.

use cutec_runtime::Cancel;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// What is told of the progress: so many of so many.
pub(super) type Count<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// Does something for each item, on several threads with a tool each: on as many as are wanted (0 for one a processor), but at most as many as
/// the second number says. Results are in the order of the items; `None` where the work was cancelled before.
pub(super) fn on_threads<I: Sync, L, T: Send>(
    (wanted, most): (usize, usize),
    cancel: &Cancel,
    items: &[I],
    count: Count<'_>,
    tool: impl Fn() -> L + Sync,
    work: impl Fn(&mut L, &I) -> T + Sync,
) -> Vec<Option<T>> {
    let threads = match wanted {
        0 => thread::available_parallelism().map_or(1, NonZero::get),
        wanted => wanted,
    };
    let threads = threads.min(most).clamp(1, items.len().max(1));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let mut slots: Vec<Option<T>> = Vec::new();
    slots.resize_with(items.len(), || None);
    let slots = Mutex::new(slots);
    let share = || {
        let mut tool = tool();
        while !cancel.is_cancelled() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return;
            };
            let result = work(&mut tool, item);
            let mut slots = slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots[at] = Some(result);
            drop(slots);
            count(done.fetch_add(1, Ordering::Relaxed) + 1, items.len());
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no thread is to be had, the others do its share.
            let _ = Builder::new().spawn_scoped(scope, share);
        }
        share();
    });
    slots.into_inner().unwrap_or_else(PoisonError::into_inner)
}
