//! What an access to global memory asks of the caches (PTX ISA, "Cache Operators" and "Cache Eviction
//! Priority Hints").
use std::fmt;

/// How the lines of an access are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheHint {
    /// `.cg`: in L2 alone.
    Global,
    /// `.cs`: likely used once.
    Streaming,
    /// `.lu` of loads: used for the last time.
    LastUse,
    /// `.wt` of stores: through L2 to memory.
    WriteThrough,
    /// `.L1::no_allocate`: not kept in L1.
    NoAllocate,
}

/// What L2 drops first, or last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evict {
    /// Before other lines.
    First,
    /// After other lines.
    Last,
}

/// The hints of a copy atom or of an operation on views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hints {
    /// How lines are cached, if not as usual.
    pub cache: Option<CacheHint>,
    /// Bytes that L2 fetches around what is read: 64, 128 or 256.
    pub prefetch: Option<u32>,
    /// Which priority the lines have in L2.
    pub evict: Option<Evict>,
}

impl CacheHint {
    const ALL: [(CacheHint, &'static str); 5] = [
        (CacheHint::Global, "global"),
        (CacheHint::Streaming, "streaming"),
        (CacheHint::LastUse, "last_use"),
        (CacheHint::WriteThrough, "write_through"),
        (CacheHint::NoAllocate, "no_allocate"),
    ];
    /// Every name.
    pub const NAMES: [&'static str; 5] = [
        "global",
        "streaming",
        "last_use",
        "write_through",
        "no_allocate",
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(hint, _)| *hint == self);
        found.map_or("", |(_, name)| name)
    }

    /// The modifier of a load, if it has one.
    pub fn of_loads(self) -> Option<&'static str> {
        match self {
            CacheHint::Global => Some("cg"),
            CacheHint::Streaming => Some("cs"),
            CacheHint::LastUse => Some("lu"),
            CacheHint::NoAllocate => Some("L1::no_allocate"),
            CacheHint::WriteThrough => None,
        }
    }

    /// The modifier of a store, if it has one.
    pub fn of_stores(self) -> Option<&'static str> {
        match self {
            CacheHint::Global => Some("cg"),
            CacheHint::Streaming => Some("cs"),
            CacheHint::WriteThrough => Some("wt"),
            CacheHint::NoAllocate => Some("L1::no_allocate"),
            CacheHint::LastUse => None,
        }
    }
}

impl Evict {
    /// Its name, also in PTX behind `evict_`.
    pub fn name(self) -> &'static str {
        match self {
            Evict::First => "first",
            Evict::Last => "last",
        }
    }
}

impl Hints {
    /// As the machine does it without being asked.
    pub const NONE: Hints = Hints {
        cache: None,
        prefetch: None,
        evict: None,
    };

    /// The first one there is, `cache = streaming`.
    pub fn first(&self) -> Option<String> {
        let text = self.to_string();
        text.split(", ").nth(1).map(str::to_owned)
    }

    /// Where lines are cached that do not go through the cache of a multiprocessor: what such copies leave out.
    pub fn past_l1(self) -> Option<CacheHint> {
        self.cache.filter(|cache| *cache != CacheHint::Global)
    }

    /// What of them `cp.async` takes: it caches in L2 alone in any case.
    pub fn of_async_copies(self) -> Hints {
        Hints {
            cache: None,
            ..self
        }
    }

    /// What of them copies by tensor maps take.
    pub fn of_tensor_maps(self) -> Hints {
        Hints {
            evict: self.evict,
            ..Hints::NONE
        }
    }

    /// The hints of a text as [`Hints`] displays itself; `None` where it has another form.
    pub fn parse(text: &str) -> Option<Hints> {
        let mut hints = Hints::NONE;
        let parts = text.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=')?;
            if !hints.set(key.trim(), value.trim()) {
                return None;
            }
        }
        Some(hints)
    }

    /// Takes one hint, `cache = streaming`, `prefetch = 128` or `evict = first`; false where there is
    /// none of this name and value.
    pub fn set(&mut self, key: &str, value: &str) -> bool {
        match key {
            "cache" => {
                let found = CacheHint::ALL.iter().find(|(_, name)| *name == value);
                self.cache = found.map(|(hint, _)| *hint);
                self.cache.is_some()
            }
            "prefetch" => {
                self.prefetch = value
                    .parse()
                    .ok()
                    .filter(|bytes| matches!(bytes, 64 | 128 | 256));
                self.prefetch.is_some()
            }
            "evict" => {
                let both = [Evict::First, Evict::Last];
                self.evict = both.into_iter().find(|evict| evict.name() == value);
                self.evict.is_some()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Hints {
    /// As the types of atoms have them behind the rest: `, cache = streaming`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(cache) = self.cache {
            write!(f, ", cache = {}", cache.name())?;
        }
        if let Some(bytes) = self.prefetch {
            write!(f, ", prefetch = {bytes}")?;
        }
        match self.evict {
            Some(evict) => write!(f, ", evict = {}", evict.name()),
            None => Ok(()),
        }
    }
}
