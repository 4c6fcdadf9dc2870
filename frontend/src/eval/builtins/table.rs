//! The table of built-ins: every family's list, and how an entry is found.

use super::builtin::{Builtin, Kind, Lowering, Parameter, Receiver};
use super::{
    assume, atomic, atoms, bits, bulk, cluster, layout, math, mbarrier, memory, methods, pdl,
    reduce, registers, roles, tensor, text, tile, tiled, tma, tma_desc, warp,
};
use crate::eval::rounding;
use cutec_dialects::atoms::Wgmma;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Built-ins that belong together, in the order in which the reference lists them.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// The name by which `docs/language.md` asks for the family's table.
    pub name: &'static str,
    /// Its members.
    pub builtins: &'static [Builtin],
}

/// All families.
pub const FAMILIES: &[Family] = &[
    family("registers", registers::TABLE),
    family("numbers", math::TABLE),
    family("bits", bits::TABLE),
    family("assumptions", assume::TABLE),
    family("layouts", layout::TABLE),
    family("tensors", tensor::TABLE),
    family("atoms", atoms::TABLE),
    family("tiled", tiled::TABLE),
    family("methods", methods::TABLE),
    family("memory", memory::TABLE),
    family("mbarriers", mbarrier::TABLE),
    family("tma", tma::TABLE),
    family("tma_desc", tma_desc::TABLE),
    family("bulk", bulk::TABLE),
    family("clusters", cluster::TABLE),
    family("pdl", pdl::TABLE),
    family("warp", warp::TABLE),
    family("roles", roles::TABLE),
    family("reductions", reduce::TABLE),
    family("atomics", atomic::TABLE),
    family("tiles", tile::TABLE),
    family("text", text::TABLE),
];

const fn family(name: &'static str, builtins: &'static [Builtin]) -> Family {
    Family { name, builtins }
}

/// Every entry.
pub fn all() -> impl Iterator<Item = &'static Builtin> {
    FAMILIES.iter().flat_map(|family| family.builtins)
}

/// Entries by name, methods aside.
static BY_NAME: LazyLock<HashMap<&'static str, Vec<&'static Builtin>>> = LazyLock::new(|| {
    let mut by_name: HashMap<_, Vec<_>> = HashMap::new();
    for entry in all().filter(|entry| entry.receiver().is_none()) {
        by_name.entry(entry.name).or_default().push(entry);
    }
    by_name
});

/// Words that stand for options, `nearest` in `round = nearest`: those of every argument that takes some.
static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let parameters = all().flat_map(|entry| entry.generics.iter().chain(entry.parameters));
    let parameters = parameters.chain(rounding::CONVERSION.parameters);
    let mut words: Vec<_> = parameters
        .flat_map(|parameter: &Parameter| parameter.kind.words())
        .copied()
        .collect();
    words.sort_unstable();
    words.dedup();
    words
});

/// The name under which the table has one: the many shapes of `wgmma` are one entry.
fn entry_of(name: &str) -> &str {
    match Wgmma::find(name) {
        Some(_) => Wgmma::LANGUAGE_NAME,
        None => name,
    }
}

/// The entries of a name, methods aside; none where nothing is called so.
pub fn named(name: &str) -> &'static [&'static Builtin] {
    BY_NAME.get(entry_of(name)).map_or(&[], Vec::as_slice)
}

/// The entries of a name that are called: `name(…)`.
pub(in crate::eval) fn functions(name: &str) -> Vec<&'static Builtin> {
    let entries = named(name).iter().copied();
    entries.filter(|entry| entry.is_function()).collect()
}

/// How many arguments a function takes by their place, where that is the same number in each of its forms.
pub(in crate::eval) fn arguments_of(name: &str) -> Option<usize> {
    let forms = functions(name);
    let mut counts = forms.iter().map(|form| form.places());
    let (least, most) = counts.next()?.into_inner();
    (least == most && counts.all(|other| other == (least..=most))).then_some(least)
}

/// Which arguments of a function, given by name, are places.
pub(in crate::eval) fn named_places(name: &str) -> Vec<&'static str> {
    let parameters = named(name).iter().flat_map(|entry| entry.parameters);
    let places =
        parameters.filter(|parameter| parameter.kind == Kind::Place && parameter.has_name());
    places.map(|parameter| parameter.name).collect()
}

/// The entry of a name that takes generic arguments alone: `name<…>`.
pub(in crate::eval) fn generic(name: &str) -> Option<&'static Builtin> {
    let mut entries = named(name).iter().copied();
    entries.find(|entry| matches!(entry.lowering, Lowering::Generic(_)))
}

/// The method of this name.
pub(in crate::eval) fn method(receiver: Receiver, name: &str) -> Option<&'static Builtin> {
    methods_of(receiver).find(|entry| entry.name == name)
}

/// The methods of a receiver.
pub fn methods_of(receiver: Receiver) -> impl Iterator<Item = &'static Builtin> {
    methods::TABLE
        .iter()
        .filter(move |entry| entry.receiver() == Some(receiver))
}

/// The word of this spelling.
pub(super) fn word(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|word| **word == name).copied()
}

/// The first built-in with an option that a word may be, and the option; of conversions, which have the names of types, `f16`.
pub(super) fn option_of(word: &str) -> Option<(&'static str, &'static str)> {
    let takes = |list: &'static [Parameter]| {
        let mut options = list.iter().filter(|parameter| parameter.has_name());
        options.find(|parameter| parameter.kind.words().contains(&word))
    };
    let conversion = takes(rounding::CONVERSION.parameters).map(|option| ("f16", option.name));
    let of = |entry: &'static Builtin| Some((entry.name, takes(entry.parameters)?.name));
    conversion.or_else(|| all().find_map(of))
}

/// Every name that a program can use without defining it, element types and methods aside.
pub fn names() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<_> = BY_NAME.keys().chain(WORDS.iter()).copied().collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}

/// The words that an argument takes, for completion and messages.
pub fn words_of(kind: Kind) -> &'static [&'static str] {
    kind.words()
}

#[cfg(test)]
mod tests {
    use super::super::builtin::Presence;
    use super::*;

    #[test]
    fn families_have_names_of_their_own() {
        for (at, family) in FAMILIES.iter().enumerate() {
            assert!(!family.builtins.is_empty());
            assert!(FAMILIES[..at].iter().all(|other| other.name != family.name));
        }
    }

    /// A file of the library that defined a name of the language would change what programs mean that import it.
    #[test]
    fn the_library_hides_nothing() {
        for (path, text) in crate::stdlib::FILES {
            let names = text.lines().filter_map(crate::library::item_head);
            for (_, name) in names {
                assert!(!BY_NAME.contains_key(name), "{path} defines `{name}`");
            }
        }
    }

    #[test]
    fn an_entry_is_documented_and_its_arguments_are_in_order() {
        for entry in all() {
            let signature = entry.signature();
            let text = entry.documentation;
            assert!(
                text.len() > 10 && text.ends_with('.'),
                "{signature}: {text}"
            );
            assert!(
                !text.contains('\n') && !text.contains(" |"),
                "{signature}: a cell of a table"
            );
            for list in [entry.generics, entry.parameters] {
                let place = |parameter: &Parameter| match parameter.presence {
                    Presence::Required => 0,
                    Presence::Either | Presence::EitherOr(_) | Presence::Optional => 1,
                    Presence::Rest => 2,
                    Presence::Named(_) => 3,
                };
                assert!(list.is_sorted_by_key(place), "{signature}");
                for (at, parameter) in list.iter().enumerate() {
                    let other = list[..at].iter().any(|other| other.name == parameter.name);
                    assert!(!other, "{signature}: `{}` twice", parameter.name);
                }
            }
        }
    }

    /// Forms of one name differ in how many arguments they take, so that a call chooses one.
    #[test]
    fn forms_of_a_name_are_told_apart() {
        let key = |entry: &Builtin| {
            let required = |list: &[Parameter]| {
                let list = list.iter();
                list.filter(|parameter| parameter.presence == Presence::Required)
                    .count()
            };
            let function = entry.is_function();
            (
                entry.receiver().map(Receiver::notation),
                function,
                required(entry.generics),
                required(entry.parameters),
            )
        };
        for entry in all() {
            let same = all().filter(|other| other.name == entry.name && key(other) == key(entry));
            assert_eq!(same.count(), 1, "{}", entry.signature());
        }
    }

    #[test]
    fn a_word_is_no_function_but_an_operator() {
        for word in WORDS.iter() {
            let operator = super::super::operator::Operator::NAMES.contains(word);
            assert!(operator || named(word).is_empty(), "{word}");
        }
    }
}
