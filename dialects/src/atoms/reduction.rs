//! [`Reduction`]: how elements are combined with those of the destination.

/// How elements are combined with those of the destination. Which there are of which elements is said by the instructions that take
/// one: [`Red`](super::Red), [`BulkCopy`](super::BulkCopy), [`TmaAtom`](super::TmaAtom).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Reduction {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
}

impl Reduction {
    /// Every one with its name, which is that in PTX.
    pub const ALL: [(Reduction, &'static str); 6] = [
        (Reduction::Add, "add"),
        (Reduction::Min, "min"),
        (Reduction::Max, "max"),
        (Reduction::And, "and"),
        (Reduction::Or, "or"),
        (Reduction::Xor, "xor"),
    ];

    /// The one of a name.
    pub fn find(name: &str) -> Option<Reduction> {
        let mut all = Reduction::ALL.into_iter();
        all.find(|(_, known)| *known == name).map(|(it, _)| it)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let mut all = Reduction::ALL.into_iter();
        all.find(|(it, _)| *it == self).map_or("", |(_, name)| name)
    }
}
