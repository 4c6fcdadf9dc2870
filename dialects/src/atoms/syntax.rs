//! The types of atoms in the IR, read and printed by their instructions.
use super::fields::{DIALECT, Fields};
use super::{Atom, BulkCopy, TmaAtom, copy, mma};
use crate::types::TypeError;

/// The atom of a type's text, `!cute_nvgpu.atom.ldsm<…>`; `None` for the text of another type.
///
/// # Errors
/// Where there is no such atom, or it is not legal.
pub(crate) fn parse(text: &str) -> Result<Option<Atom>, TypeError> {
    let Some((name, mut fields)) = Fields::of_atom(text) else {
        return Ok(None);
    };
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
    fields.end()?;
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
    let all = copies.chain(products).chain(TmaAtom::TYPE_NAMES);
    all.chain(BulkCopy::TYPE_NAMES).collect()
}
