//! Reading the types of the dialects: MLIR's text to [`Val`].
use crate::atoms::{self, Atom, AtomError, BulkCopy, CopyAtom, MmaAtom, Place, TmaAtom};
use crate::elem::{Elem, Space};
use crate::target::{BLOCK_SIZES, LARGEST_CLUSTER};
use crate::value::{CoordTensor, Ptr, TiledCopyVal, TiledMmaVal, TupleKind, Val, View};
use cutec_abi::counted;
use cutec_layout::algebra::cosize;
use cutec_layout::text::{
    TextError, parse_any_layout, parse_coord, parse_int_tuple, parse_layout, parse_swizzle,
    parse_tiler,
};
use cutec_layout::{
    AnyLayout, Coord, Int, IntTuple, Layout, LayoutError, SymInfo, Tiler, Width, tv,
};
use std::sync::Arc;
use thiserror::Error;

/// A type that is not legal, and why.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)]
pub enum TypeError {
    #[error("not a {what}: `{text}`: {reason}")]
    Text {
        what: &'static str,
        text: String,
        reason: String,
    },
    #[error("unknown element type `{found}`; expected one of {}", Elem::ALL.map(|(_, name)| name).join(", "))]
    Elem { found: String },
    #[error("unknown memory space `{found}`; expected gmem, smem, dsmem or rmem")]
    Space { found: String },
    #[error("alignment {found} is not a power of two of at least the element's {}", counted(*.bytes, "byte"))]
    Align { found: i64, bytes: i64 },
    #[error("expected {expected} in `{text}`")]
    Form {
        expected: &'static str,
        text: String,
    },
    #[error("a {what} that numbers {found} threads; expected at most {most}")]
    Threads {
        what: &'static str,
        found: Int,
        most: i64,
    },
    #[error("unknown atom `{found}`; expected one of {known}")]
    UnknownAtom { found: String, known: String },
    #[error(transparent)]
    Atom(#[from] AtomError),
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Numbers the anonymous run-time integers (`?`) of types.
#[derive(Default, Debug)]
pub struct Vars {
    next: u32,
}

impl Vars {
    /// A new run-time integer.
    pub fn fresh(&mut self, width: Width, div: i64) -> Int {
        let id = self.next;
        self.next += 1;
        Int::var(
            id,
            SymInfo {
                width,
                div,
                max: None,
            },
        )
    }

    fn renew(&mut self, int: &Int) -> Int {
        match int {
            Int::Static(_) => int.clone(),
            Int::Dyn(_) => self.fresh(int.width(), int.div()),
            Int::Scaled(value, path) => Int::scaled(self.renew(value), path.clone()),
        }
    }

    /// The same value, with a number of its own for each of its run-time integers.
    ///
    /// # Errors
    /// Where the algebra refuses the layout.
    pub fn renewed(&mut self, val: &Val) -> Result<Val, TypeError> {
        Ok(match val {
            Val::Scalar(int) => Val::Scalar(self.renew(int)),
            Val::Tuple(kind, tuple) => Val::Tuple(
                *kind,
                tuple.map(&mut |leaf| leaf.as_ref().map(|leaf| self.renew(leaf))),
            ),
            _ if val.is_static() => val.clone(),
            Val::Layout(layout) => Val::Layout(self.any(layout)?),
            Val::Tile(tiler) => Val::Tile(self.tiler(tiler)?),
            Val::View(view) => Val::View(View {
                ptr: view.ptr.clone(),
                layout: self.any(&view.layout)?,
            }),
            Val::CoordTensor(tensor) => Val::CoordTensor(CoordTensor {
                base: self.tuple(&tensor.base),
                layout: self.layout(&tensor.layout)?,
            }),
            _ => val.clone(),
        })
    }

    fn tuple(&mut self, tuple: &IntTuple) -> IntTuple {
        tuple.map(&mut |leaf| self.renew(leaf))
    }

    fn layout(&mut self, layout: &Layout) -> Result<Layout, TypeError> {
        if layout.is_static() {
            return Ok(layout.clone());
        }
        Ok(Layout::new(
            self.tuple(layout.shape()),
            self.tuple(layout.stride()),
        )?)
    }

    fn any(&mut self, layout: &AnyLayout) -> Result<AnyLayout, TypeError> {
        Ok(match layout {
            AnyLayout::Plain(layout) => AnyLayout::Plain(self.layout(layout)?),
            AnyLayout::Composed(composed) => {
                let mut composed = composed.clone();
                composed.offset = self.tuple(&composed.offset);
                composed.inner = self.layout(&composed.inner)?;
                AnyLayout::Composed(composed)
            }
        })
    }

    fn tiler(&mut self, tiler: &Tiler) -> Result<Tiler, TypeError> {
        Ok(match tiler {
            Tiler::Layout(layout) => Tiler::Layout(self.layout(layout)?),
            Tiler::Int(int) => Tiler::Int(self.renew(int)),
            Tiler::Tile(modes) => Tiler::Tile(
                modes
                    .iter()
                    .map(|mode| self.tiler(mode))
                    .collect::<Result<_, _>>()?,
            ),
            Tiler::All => Tiler::All,
        })
    }
}

/// The value that stands for any value of a type. Types of other dialects are
/// integers (`i32`, `i64`, `index`) or opaque.
pub fn parse_type(text: &str, vars: &mut Vars) -> Result<Val, TypeError> {
    vars.renewed(&read_type(text)?)
}

/// As [`parse_type`], before its run-time integers have their numbers.
pub(crate) fn read_type(text: &str) -> Result<Val, TypeError> {
    match text {
        "i32" => return Ok(Val::Scalar(Vars::default().fresh(Width::I32, 1))),
        "i64" | "index" => return Ok(Val::Scalar(Vars::default().fresh(Width::I64, 1))),
        _ => {}
    }
    if let Some(atom) = TmaAtom::parse(text)? {
        return Ok(Val::TmaAtom(Arc::new(atom)));
    }
    if let Some(atom) = BulkCopy::parse(text)? {
        return Ok(Val::BulkCopy(atom));
    }
    if let Some(atom) = atoms::parse(text)? {
        return Ok(match atom {
            Atom::Copy(atom) => Val::CopyAtom(atom),
            Atom::Mma(atom) => Val::MmaAtom(atom),
        });
    }
    let Some((head, body)) = text.split_once('<') else {
        return Ok(Val::Opaque(text.into()));
    };
    let Some(body) = body.strip_suffix('>') else {
        return Ok(Val::Opaque(text.into()));
    };
    let Some(mnemonic) = head.strip_prefix("!cute.") else {
        return Ok(Val::Opaque(text.into()));
    };
    if let Some((kind, _)) = TupleKind::ALL.iter().find(|(_, name)| *name == mnemonic) {
        return tuple(*kind, unquoted(body)?);
    }
    match mnemonic {
        "layout" => Ok(Val::Layout(AnyLayout::Plain(layout(unquoted(body)?)?))),
        "composed_layout" => Ok(Val::Layout(any_layout(unquoted(body)?)?)),
        "swizzle" => Ok(Val::Swizzle(read(
            "swizzle",
            unquoted(body)?,
            parse_swizzle,
        )?)),
        "tile" => Ok(Val::Tile(read("tile", unquoted(body)?, parse_tiler)?)),
        "ptr" => Ok(Val::Ptr(ptr(text, &split(body))?)),
        "memref" => {
            let parts = split(body);
            let [pointer @ .., text_of_layout] = parts.as_slice() else {
                return Err(form("a layout", text));
            };
            let ptr = ptr(text, pointer)?;
            Ok(Val::View(View {
                ptr,
                layout: any_layout(unquoted(text_of_layout)?)?,
            }))
        }
        "coord_tensor" => {
            let parts = split(body);
            let [base, strides] = parts.as_slice() else {
                return Err(form("a base coordinate and a layout", text));
            };
            let base: IntTuple = read("coordinate", unquoted(base)?, parse_int_tuple)?;
            Ok(Val::CoordTensor(CoordTensor {
                base,
                layout: layout(unquoted(strides)?)?,
            }))
        }
        "tiled_copy" => {
            let parts = split(body);
            let [atom, tv, tiler] = parts.as_slice() else {
                return Err(form("an atom, a layout and a tile", text));
            };
            let Val::CopyAtom(atom) = read_type(atom)? else {
                return Err(form("a copy atom", text));
            };
            let layout_tv = read("layout", named(tv, "layout_copy_tv", text)?, parse_layout)?;
            let tiler = read("tile", named(tiler, "tiler_mn", text)?, parse_tiler)?;
            Ok(tiled_copy(atom, layout_tv, tiler)?)
        }
        "tiled_mma" => {
            let parts = split(body);
            let [atom, atoms, permutation] = parts.as_slice() else {
                return Err(form("an atom, a layout and a tile", text));
            };
            let Val::MmaAtom(atom) = read_type(atom)? else {
                return Err(form("an MMA atom", text));
            };
            let atoms = read(
                "layout",
                named(atoms, "atom_layout_MNK", text)?,
                parse_layout,
            )?;
            let permutation = read(
                "tile",
                named(permutation, "permutation_MNK", text)?,
                parse_tiler,
            )?;
            Ok(tiled_mma(atom, atoms, permutation)?)
        }
        _ => Ok(Val::Opaque(text.into())),
    }
}

/// A tiled copy of an atom.
pub fn tiled_copy(atom: CopyAtom, layout_tv: Layout, tiler: Tiler) -> Result<Val, TypeError> {
    atom.verify()?;
    let tiled = tv::TiledCopy::new(copy_layouts(&atom), layout_tv, tiler)?;
    tiled_copy_of(atom, tiled)
}

/// A tiled copy of an atom, from what the algebra says of it.
///
/// # Errors
/// Where it has more threads than a cluster, or numbers that no type spells.
pub fn tiled_copy_of(atom: CopyAtom, tiled: tv::TiledCopy) -> Result<Val, TypeError> {
    spelled(
        "tiled copy",
        tiled.layout_tv().fits() && tiled.tiler_mn().fits(),
    )?;
    let most = BLOCK_SIZES.end() * LARGEST_CLUSTER;
    numbers_threads("tiled copy", tiled.threads(), most)?;
    Ok(Val::TiledCopy(Arc::new(TiledCopyVal { atom, tiled })))
}

/// A tiled MMA of an atom.
pub fn tiled_mma(atom: MmaAtom, atom_layout: Layout, permutation: Tiler) -> Result<Val, TypeError> {
    atom.verify()?;
    let permutation = match permutation {
        Tiler::Tile(modes) if modes.len() <= 3 => modes,
        Tiler::All => Vec::new(),
        other => return Err(form("a permutation [M;N;K]", &other.to_string())),
    };
    let mut modes = permutation.into_iter().chain(std::iter::repeat(Tiler::All));
    let permutation: [Tiler; 3] = std::array::from_fn(|_| modes.next().unwrap_or(Tiler::All));
    let fits = atom_layout.fits() && permutation.iter().all(Tiler::fits);
    spelled("tiled MMA", fits)?;
    let tiled = tv::TiledMma::new(mma_layouts(&atom)?, &atom_layout, permutation)?;
    // The last thread's number and one, not how many there are: a layout may leave numbers out.
    let last = cosize(tiled.thr_layout_vmnk())?;
    numbers_threads("tiled MMA", last, *BLOCK_SIZES.end())?;
    Ok(Val::TiledMma(Arc::new(TiledMmaVal { atom, tiled })))
}

/// Whether the numbers of a type are those that a text may have.
fn spelled(op: &'static str, fits: bool) -> Result<(), LayoutError> {
    if fits {
        Ok(())
    } else {
        Err(LayoutError::Overflow { op })
    }
}

/// Whether there are threads up to a number, where that is known.
fn numbers_threads(what: &'static str, found: Int, most: i64) -> Result<(), TypeError> {
    match found.as_static() {
        Some(threads) if !(1..=most).contains(&threads) => {
            Err(TypeError::Threads { what, found, most })
        }
        Some(_) | None => Ok(()),
    }
}

/// The atom's layouts as the algebra of tiled copies takes them.
pub fn copy_layouts(atom: &CopyAtom) -> tv::CopyAtom {
    let layouts = atom.layouts();
    // The reference is the side on which a thread owns what it moves: registers, and the destination where both are.
    let reference = match atom.places() {
        [Place::Registers, _] => &layouts.src,
        _ => &layouts.dst,
    };
    tv::CopyAtom {
        ref_tv: reference.clone(),
        src_tv: layouts.src,
        dst_tv: layouts.dst,
    }
}

/// The atom's layouts as the algebra of tiled MMAs takes them.
pub fn mma_layouts(atom: &MmaAtom) -> Result<tv::MmaAtom, TypeError> {
    let layouts = atom.layouts()?;
    let threads = Layout::scalar(layouts.threads, 1);
    let [a_tv, b_tv, c_tv] = [layouts.a, layouts.b, layouts.c];
    Ok(tv::MmaAtom {
        shape_mnk: layouts.shape,
        thr_id: threads,
        a_tv,
        b_tv,
        c_tv,
    })
}

fn tuple(kind: TupleKind, text: &str) -> Result<Val, TypeError> {
    let parsed: Coord = parse_coord(text).map_err(|error| TypeError::Text {
        what: kind.name(),
        text: text.into(),
        reason: error.to_string(),
    })?;
    let underscore = parsed.leaves().iter().any(|leaf| leaf.is_none());
    if underscore && kind != TupleKind::Coord {
        let reason = "`_` stands in coordinates only".into();
        return Err(TypeError::Text {
            what: kind.name(),
            text: text.into(),
            reason,
        });
    }
    Ok(Val::Tuple(kind, parsed))
}

fn layout(text: &str) -> Result<Layout, TypeError> {
    read("layout", text, parse_layout)
}

fn any_layout(text: &str) -> Result<AnyLayout, TypeError> {
    read("layout", text, parse_any_layout)
}

fn ptr(text: &str, parts: &[&str]) -> Result<Ptr, TypeError> {
    let [elem, space, align] = parts else {
        return Err(form("an element type, a memory space and align<N>", text));
    };
    let elem = elem_of(elem)?;
    let space = Space::parse(space).ok_or_else(|| TypeError::Space {
        found: (*space).into(),
    })?;
    let digits = align
        .trim_start_matches("align<")
        .trim_end_matches('>')
        .trim();
    let align: i64 = digits.parse().map_err(|_| form("align<N>", text))?;
    if align < elem.bytes() || align.count_ones() != 1 {
        return Err(TypeError::Align {
            found: align,
            bytes: elem.bytes(),
        });
    }
    Ok(Ptr {
        elem,
        space,
        align,
        base: 0,
        offset: Int::Static(0),
    })
}

fn elem_of(text: &str) -> Result<Elem, TypeError> {
    Elem::parse(text).ok_or_else(|| TypeError::Elem { found: text.into() })
}

fn read<T>(
    what: &'static str,
    text: &str,
    parse: fn(&str) -> Result<T, TextError>,
) -> Result<T, TypeError> {
    parse(text).map_err(|error| TypeError::Text {
        what,
        text: text.into(),
        reason: error.to_string(),
    })
}

fn form(expected: &'static str, text: &str) -> TypeError {
    TypeError::Form {
        expected,
        text: text.into(),
    }
}

pub(crate) fn unquoted(text: &str) -> Result<&str, TypeError> {
    let inner = text
        .trim()
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.ok_or_else(|| form("a quoted text", text))
}

/// The quoted text of `name = <"…">`.
fn named<'a>(part: &'a str, name: &'static str, text: &str) -> Result<&'a str, TypeError> {
    let value = part
        .strip_prefix(name)
        .map(|rest| rest.trim_start().trim_start_matches('=').trim());
    let inner = value
        .and_then(|value| value.strip_prefix('<'))
        .and_then(|value| value.strip_suffix('>'));
    unquoted(inner.ok_or_else(|| form(name, text))?)
}

/// Splits at the commas that stand outside of quotes, parentheses and angle brackets.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0i32, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '<' | '(' if !quoted => depth += 1,
            '>' | ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}
