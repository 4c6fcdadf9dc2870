//! What accesses to global memory ask of the caches: `cache = streaming`, `prefetch = 128`,
//! `evict = first`.

use super::builtin::{Kind, Parameter, named};
use crate::eval::call::ArgValue;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::hints::{CacheHint, Hints};

/// Names of the arguments.
pub(in crate::eval) const KEYS: [&str; 3] = ["cache", "prefetch", "evict"];

/// `always`, and the names of [`CacheHint`].
const CACHES: [&str; CacheHint::NAMES.len() + 1] = {
    let mut words = ["always"; CacheHint::NAMES.len() + 1];
    let mut at = 0;
    while at < CacheHint::NAMES.len() {
        words[at + 1] = CacheHint::NAMES[at];
        at += 1;
    }
    words
};

/// `cache = …`
pub(super) const CACHE: Parameter = named("cache", Kind::Word(&CACHES), "always");
/// `prefetch = …`
pub(super) const PREFETCH: Parameter = named("prefetch", Kind::Integer, "…");
/// `evict = …`
pub(super) const EVICT: Parameter = named("evict", Kind::Word(&["first", "last"]), "…");

/// The hints among arguments, of these keys.
pub(in crate::eval) fn of<'c, 'a>(
    ev: &mut Evaluator<'c, 'a>,
    args: &[ArgValue<'c, 'a>],
    keys: &[&str],
) -> Result<Hints> {
    let mut hints = Hints::NONE;
    for arg in args {
        let Some(key) = arg.name.as_deref().filter(|name| keys.contains(name)) else {
            continue;
        };
        let text = match &arg.value {
            // As the machine does it without being asked.
            Value::Str(word) if key == "cache" && &**word == "always" => continue,
            Value::Str(word) => word.to_string(),
            Value::Int(number) => number.to_string(),
            _ => String::new(),
        };
        if !hints.set(key, &text) {
            let what = match key {
                "cache" => format!("`{}`", CACHES.join("`, `")),
                "prefetch" => "64, 128 or 256 bytes".to_owned(),
                _ => "`first` or `last`".to_owned(),
            };
            return ev.expected(&what, &arg.value.clone(), arg.expr.span);
        }
    }
    Ok(hints)
}
