//! What passes say of their choices while they run.
use crate::codegen::messages::{Message, Severity, place};
use melior::ir::Location;
use std::cell::RefCell;

thread_local! {
    /// What passes have said on this thread since somebody took it: MLIR runs the passes of a whole module on the thread that asks for them.
    static SAID: RefCell<Vec<Message>> = const { RefCell::new(Vec::new()) };
}

/// Says what a pass chose at a location.
pub(super) fn say(location: Location, text: String) {
    let message = Message {
        severity: Severity::Remark,
        place: place(location),
        text,
        notes: Vec::new(),
    };
    // Once for a place, however many loops or kernels it became.
    SAID.with_borrow_mut(|said| {
        if !said.contains(&message) {
            said.push(message);
        }
    });
}

/// What passes have said on this thread; it is not said again.
pub fn taken() -> Vec<Message> {
    SAID.take()
}
