//! [`Fields`]: the parameters of an atom's type, which its instruction reads.
use super::Reduction;
use crate::elem::Elem;
use crate::hints::Hints;
use crate::types::{TypeError, split};

/// How the type of an atom begins: the dialect of all of them, before the name of its type.
pub(super) const DIALECT: &str = "!cute_nvgpu.";

/// The parameters of an atom's type, read one after the other.
pub struct Fields<'a> {
    text: &'a str,
    parts: std::vec::IntoIter<&'a str>,
}

impl<'a> Fields<'a> {
    /// The name of a type of the dialect, `atom.ldsm` of `!cute_nvgpu.atom.ldsm<…>`, and its parameters; `None` for the
    /// text of a type of another dialect.
    pub(super) fn of_atom(text: &'a str) -> Option<(&'a str, Self)> {
        let rest = text.strip_prefix(DIALECT)?;
        let (name, body) = rest.split_once('<').unwrap_or((rest, ""));
        let body = body.trim_end();
        let parts = split(body.strip_suffix('>').unwrap_or(body)).into_iter();
        Some((name, Fields { text, parts }))
    }

    /// The next parameter.
    pub(super) fn next(&mut self, expected: &'static str) -> Result<&'a str, TypeError> {
        let part = self.parts.next().filter(|part| !part.is_empty());
        part.ok_or_else(|| self.form(expected))
    }

    /// The value of the next parameter, `key = value`.
    pub(super) fn named(&mut self, key: &'static str) -> Result<&'a str, TypeError> {
        let part = self.next(key)?;
        let value = part.split_once('=').filter(|(name, _)| name.trim() == key);
        value
            .map(|(_, value)| value.trim())
            .ok_or_else(|| self.form(key))
    }

    /// The value of the next parameter, where that is `key = value`.
    pub(super) fn optional(&mut self, key: &'static str) -> Option<&'a str> {
        let mut ahead = self.parts.clone();
        let (name, value) = ahead.next()?.split_once('=')?;
        if name.trim() != key {
            return None;
        }
        self.parts = ahead;
        Some(value.trim())
    }

    /// An element type.
    pub(super) fn elem(&mut self) -> Result<Elem, TypeError> {
        let text = self.next("an element type")?;
        self.elem_of(text)
    }

    /// The element type of a text.
    pub(super) fn elem_of(&self, text: &str) -> Result<Elem, TypeError> {
        let found = || text.trim().to_owned();
        Elem::parse(text.trim()).ok_or_else(|| TypeError::Elem { found: found() })
    }

    /// How elements are combined with those of the destination.
    pub(super) fn reduction(&mut self) -> Result<Reduction, TypeError> {
        let found = Reduction::find(self.next("a reduction")?.trim());
        found.ok_or_else(|| self.form("add, min, max, and, or or xor"))
    }

    /// A number of bits, `128 b`.
    pub(super) fn bits(&mut self) -> Result<u32, TypeError> {
        let expected = "a number of bits, such as `128 b`";
        let digits = self.next(expected)?.strip_suffix('b').map(str::trim);
        let bits = digits.and_then(|digits| digits.parse().ok());
        bits.ok_or_else(|| self.form(expected))
    }

    /// What is left as hints, `cache = streaming` and the like.
    pub(super) fn hints(&mut self) -> Result<Hints, TypeError> {
        let rest: Vec<&str> = self.parts.by_ref().collect();
        let hints = Hints::parse(&rest.join(","));
        hints.ok_or_else(|| self.form("cache, prefetch or evict with a value"))
    }

    /// Checks that nothing is left.
    pub(super) fn end(&mut self) -> Result<(), TypeError> {
        match self.parts.next() {
            Some(_) => Err(self.form("no further parameter")),
            None => Ok(()),
        }
    }

    /// The error that something was expected.
    pub(super) fn form(&self, expected: &'static str) -> TypeError {
        TypeError::Form {
            expected,
            text: self.text.into(),
        }
    }
}
