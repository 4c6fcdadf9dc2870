//! The types of atoms in the IR: reading their parameters. An instruction reads and prints its own.
use super::{Atom, BulkCopy, TmaAtom, copy, mma};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::types::{TypeError, split};

/// The dialect of atoms, as their types begin.
const DIALECT: &str = "!cute_nvgpu.";

/// The parameters of an atom's type, read one after the other.
pub struct Fields<'a> {
    text: &'a str,
    parts: std::vec::IntoIter<&'a str>,
}

impl<'a> Fields<'a> {
    /// Those of the type `text`, whose parameters and `>` are `body`.
    pub(super) fn of(text: &'a str, body: &'a str) -> Self {
        let body = body.trim_end();
        let parts = split(body.strip_suffix('>').unwrap_or(body)).into_iter();
        Fields { text, parts }
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

    /// The error that something was expected.
    pub(super) fn form(&self, expected: &'static str) -> TypeError {
        TypeError::Form {
            expected,
            text: self.text.into(),
        }
    }
}

/// The atom of a type's text, `!cute_nvgpu.atom.ldsm<…>`; `None` for the text of another type.
///
/// # Errors
/// Where there is no such atom, or it is not legal.
pub(crate) fn parse(text: &str) -> Result<Option<Atom>, TypeError> {
    let Some(rest) = text.strip_prefix(DIALECT) else {
        return Ok(None);
    };
    let (name, body) = rest.split_once('<').unwrap_or((rest, ""));
    let mut fields = Fields::of(text, body);
    let copies = copy::READERS.iter().map(|(known, read)| (known(), *read));
    let copy = copies.into_iter().find(|(known, _)| *known == name);
    let products = mma::READERS.iter().map(|(known, read)| (known(), *read));
    let product = products.into_iter().find(|(known, _)| *known == name);
    let atom = match (copy, product) {
        (Some((_, read)), _) => Atom::Copy(read(&mut fields)?),
        (None, Some((_, read))) => Atom::Mma(read(&mut fields)?),
        (None, None) => {
            return Err(TypeError::UnknownAtom {
                found: name.into(),
                known: type_names().join(", "),
            });
        }
    };
    if fields.parts.next().is_some() {
        return Err(fields.form("no further parameter"));
    }
    atom.verify()?;
    Ok(Some(atom))
}

/// The text of an atom's type behind the name of the dialect, as it is printed, from one as it was written.
///
/// # Errors
/// Where there is no such atom.
pub(crate) fn canonical(written: &str) -> Result<String, TypeError> {
    let text = format!("{DIALECT}{written}");
    let form = || TypeError::Form {
        expected: "the type of an atom",
        text: text.clone(),
    };
    let printed = match (TmaAtom::parse(&text)?, BulkCopy::parse(&text)?) {
        (Some(atom), _) => atom.to_string(),
        (None, Some(atom)) => atom.to_string(),
        (None, None) => parse(&text)?.ok_or_else(form)?.to_string(),
    };
    printed
        .strip_prefix(DIALECT)
        .map(str::to_owned)
        .ok_or_else(form)
}

/// The names of the types of all instructions.
fn type_names() -> Vec<&'static str> {
    let copies = copy::READERS.iter().map(|(name, _)| name());
    let products = mma::READERS.iter().map(|(name, _)| name());
    let maps = [
        "atom.tma_load",
        "atom.tma_load_im2col",
        "atom.tma_store",
        "atom.tma_reduce",
    ];
    let all = copies.chain(products).chain(maps);
    all.chain(BulkCopy::TYPE_NAMES).collect()
}
