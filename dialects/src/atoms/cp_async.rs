//! [`CpAsync`]: from global to shared memory without registers.
use super::fields::Fields;
use super::{
    AtomError, Completion, CopyAtom, CopyInstruction, CopyOp, Issuer, Mechanism, Place,
    layouts_of_thread, values_of_thread,
};
use crate::elem::Elem;
use crate::hints::Hints;
use crate::target::Feature;
use crate::types::TypeError;
use cutec_layout::Layout;
use cutec_layout::smem::Kind;

/// Which level caches the lines of an asynchronous copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cache {
    /// `.ca`: every level.
    Always,
    /// `.cg`: L2 only; 16-byte copies.
    Global,
}

impl Cache {
    /// Both, by their names.
    const ALL: [(Cache, &'static str); 2] = [(Cache::Always, "always"), (Cache::Global, "global")];

    /// Its name, in the IR and in the language.
    pub fn name(self) -> &'static str {
        match self {
            Cache::Always => "always",
            Cache::Global => "global",
        }
    }

    /// The policy of a name.
    pub fn find(name: &str) -> Option<Cache> {
        let mut all = Cache::ALL.into_iter();
        all.find(|(_, known)| *known == name)
            .map(|(cache, _)| cache)
    }

    /// Its modifier in PTX.
    pub fn ptx(self) -> &'static str {
        match self {
            Cache::Always => "ca",
            Cache::Global => "cg",
        }
    }
}

/// `cp.async` from global to shared memory (PTX ISA, "cp.async").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CpAsync {
    /// Cache policy.
    pub cache: Cache,
    /// Bits moved by one thread: 32, 64 or 128.
    pub bits: u32,
}

impl CpAsync {
    /// Each width, the widest first. 16 bytes pass by the first level of cache, which nothing reads again.
    pub const WIDTHS: [CpAsync; 3] = [CpAsync::of(128), CpAsync::of(64), CpAsync::of(32)];

    /// The copy of so many bits by the cache policy that suits them.
    pub const fn of(bits: u32) -> CpAsync {
        let cache = if bits == 128 {
            Cache::Global
        } else {
            Cache::Always
        };
        CpAsync { cache, bits }
    }

    /// The copy of so many elements.
    pub fn of_elements(elem: Elem, count: i64) -> CopyAtom {
        let bits = u32::try_from(elem.bits() * count).unwrap_or_default();
        CopyAtom::new(CopyOp::CpAsync(CpAsync::of(bits)), elem)
    }

    /// How its PTX begins.
    pub fn ptx(&self) -> String {
        format!("cp.async.{}.shared.global", self.cache.ptx())
    }
}

impl CopyInstruction for CpAsync {
    fn type_name() -> &'static str {
        "atom.simt_async_copy"
    }

    fn parse(fields: &mut Fields) -> Result<CopyAtom, TypeError> {
        let elem = fields.elem()?;
        let cache = Cache::find(fields.named("cache")?);
        let cache = cache.ok_or_else(|| fields.form("cache = always or global"))?;
        let bits = fields.bits()?;
        let hints = fields.hints()?;
        let op = CopyOp::CpAsync(CpAsync { cache, bits });
        Ok(CopyAtom { op, elem, hints })
    }

    fn all() -> Vec<(Self, Elem)> {
        let widths = CpAsync::WIDTHS.into_iter().rev();
        widths.map(|copy| (copy, Elem::F16)).collect()
    }

    fn parameters(&self, atom: &CopyAtom) -> String {
        let cache = self.cache.name();
        let CopyAtom { elem, hints, .. } = atom;
        format!("{elem}, cache = {cache}, {} b{hints}", self.bits)
    }

    fn name(&self) -> String {
        format!("cp_async_{}", self.bits)
    }

    fn verify(&self, elem: Elem) -> Result<(), AtomError> {
        let bits = self.bits;
        if !matches!(bits, 32 | 64 | 128) || i64::from(bits) % elem.bits() != 0 {
            let expected = "32, 64 or 128 bits, a multiple of the element";
            return Err(AtomError::CopyWidth {
                bits,
                elem,
                expected,
            });
        }
        match self.cache {
            Cache::Global if bits != 128 => Err(AtomError::AsyncGlobalWidth { bits }),
            Cache::Global | Cache::Always => Ok(()),
        }
    }

    /// Which cache it goes through stands in the instruction.
    fn refused_hint(&self, hints: &Hints) -> Option<String> {
        hints.cache.map(|cache| cache.name().to_owned())
    }

    fn issuer(&self) -> Issuer {
        Issuer::Thread
    }

    fn completion(&self) -> Completion {
        Completion::Later(Mechanism::CpAsyncGroup)
    }

    fn places(&self) -> [Place; 2] {
        [Place::Global, Place::Shared]
    }

    fn needs(&self, _: Elem) -> Option<Feature> {
        Some(Feature::CpAsync)
    }

    fn values(&self, elem: Elem) -> [i64; 2] {
        values_of_thread(self.bits, elem)
    }

    fn layouts(&self, elem: Elem) -> [Layout; 2] {
        layouts_of_thread(self.bits, elem)
    }

    fn shared_access(&self) -> (&'static str, Kind) {
        ("cp.async", Kind::Vector { bits: self.bits })
    }

    fn remark(&self, _: Elem) -> String {
        format!("cp.async of {} bytes", self.bits / 8)
    }

    fn ptx(&self) -> Vec<String> {
        vec![CpAsync::ptx(self)]
    }
}
