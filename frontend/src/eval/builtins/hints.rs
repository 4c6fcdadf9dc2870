//! What accesses to global memory ask of the caches: `cache = streaming`, `prefetch = 128`,
//! `evict = first`.

use crate::eval::call::ArgValue;
use crate::eval::values::Value;
use crate::eval::{Evaluator, Result};
use cutec_dialects::hints::{CacheHint, Hints};

/// Names of the arguments.
pub(super) const KEYS: [&str; 3] = ["cache", "prefetch", "evict"];
/// Names for the eviction priority; those for caches are [`CacheHint::NAMES`] and `always`.
pub(super) const WORDS: [&str; 2] = ["first", "last"];

/// The hints among arguments, of these keys.
pub(super) fn of<'c, 'a>(
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
                "cache" => format!("`always`, `{}`", CacheHint::NAMES.join("`, `")),
                "prefetch" => "64, 128 or 256 bytes".to_owned(),
                _ => "`first` or `last`".to_owned(),
            };
            return ev.expected(&what, &arg.value.clone(), arg.expr.span);
        }
    }
    Ok(hints)
}
