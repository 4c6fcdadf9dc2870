//! What a kernel takes, what it relies on, and how many tiles it is launched for.

use super::error::{Problem, Result, fail};
use super::kind::{ElemKind, dtype};
use super::position::Position;
use super::syntax::{self, Item};
use super::tree;
use super::value::{Home, Place, Value, element};
use crate::ast::{BinaryOp, Clause, Expr, Param};
use crate::eval::{elem_name, is_built_in};
use crate::lexer::Token;
use cutec_abi::DType;
use cutec_dialects::elem::Elem;
use cutec_dialects::target::{LARGEST_CLUSTER, MOST_WARPS};
use std::sync::Arc;

/// An integer that the host knows: an extent or a stride by its name, a constant, or what is computed of these.
#[derive(Debug, Clone)]
pub struct Extent(pub(super) Expr);

impl Extent {
    /// The extent or stride of this name.
    pub fn name(name: &str) -> Self {
        Self(tree::name(name))
    }

    /// How many tiles of `by` elements it makes, the last one perhaps not whole.
    #[must_use]
    pub fn tiles(self, by: i64) -> Self {
        Self(tree::call(tree::name("ceil_div"), [self.0, tree::int(by)]))
    }

    /// The product of both.
    #[must_use]
    pub fn times(self, other: impl Into<Extent>) -> Self {
        Self(tree::binary(BinaryOp::Mul, self.0, other.into().0))
    }
}

impl From<&str> for Extent {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}

impl From<i64> for Extent {
    fn from(value: i64) -> Self {
        Self(tree::int(value))
    }
}

impl From<i32> for Extent {
    fn from(value: i32) -> Self {
        Self(tree::int(value.into()))
    }
}

/// A tensor that a kernel takes.
#[derive(Debug, Clone)]
pub struct Tensor {
    pub(super) name: Arc<str>,
    pub(super) elem: Elem,
    pub(super) rank: usize,
    pub(super) mutable: bool,
    pub(super) kernel: Arc<str>,
}

impl Tensor {
    /// The name of the parameter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        dtype(self.elem)
    }

    /// The number of modes.
    pub fn rank(&self) -> usize {
        self.rank
    }
}

/// A parameter as it is declared.
#[derive(Debug, Clone)]
struct Parameter {
    name: Arc<str>,
    elem: Elem,
    mutable: bool,
    /// Of a tensor: extents, and strides where it is not row-major.
    modes: Option<(Vec<Expr>, Option<Vec<Expr>>)>,
}

/// A kernel whose parameters are being declared; [`Signature::tiles`] begins its body.
#[derive(Debug, Clone)]
pub struct Signature {
    pub(super) name: Arc<str>,
    parameters: Vec<Parameter>,
    promises: Vec<Expr>,
    clauses: Vec<Clause>,
    /// What stands beside the kernel: imports, functions, records, constants.
    pub(super) items: Vec<Item>,
    pub(super) at: Option<Position>,
}

/// Most axes of a launch in tiles.
const MOST_AXES: i64 = 3;
/// The widest raster.
const MOST_RASTER: i64 = 1 << 16;
/// Most blocks of a multiprocessor.
const MOST_BLOCKS: i64 = 32;

/// What stands before the body of a kernel.
#[derive(Debug)]
pub(super) struct Head {
    pub params: Vec<Param>,
    pub promises: Vec<Expr>,
    pub launch: Vec<Clause>,
}

impl Signature {
    /// A kernel of this name, without parameters.
    ///
    /// # Errors
    /// When the language cannot have the name.
    #[track_caller]
    pub fn new(name: &str) -> Result<Self> {
        if !is_identifier(name) {
            let name = name.to_owned();
            return Err(fail(Problem::Name { name }));
        }
        Ok(Self {
            name: name.into(),
            parameters: Vec::new(),
            promises: Vec::new(),
            clauses: Vec::new(),
            items: Vec::new(),
            at: None,
        })
    }

    /// Where the kernel comes from: what its body does not place elsewhere.
    pub fn at(&mut self, position: &Position) -> &mut Self {
        self.at = Some(position.clone());
        self
    }

    /// Puts an item beside the kernel: `Import::new("std/activations.cute")`, a function, a record, a constant.
    pub fn item(&mut self, item: impl Into<Item>) -> &mut Self {
        self.items.push(item.into());
        self
    }

    /// Promises what has no method here; names are extents, strides and parameters. The runtime checks it.
    pub fn promise(&mut self, condition: syntax::Expr) -> &mut Self {
        self.promises.push(condition.node);
        self
    }

    /// A clause of the launch that has no method here; said again, it replaces what was said.
    pub fn launch(
        &mut self,
        name: &str,
        args: impl IntoIterator<Item = impl Into<syntax::Expr>>,
    ) -> &mut Self {
        let args = args.into_iter().map(|arg| arg.into().node).collect();
        self.clauses.retain(|clause| &*clause.name.node != name);
        self.clauses.push(tree::clause(name, args));
        self
    }

    /// A tensor that the kernel reads, row-major unless [`Signature::strides`] says otherwise. Names in its shape are
    /// run-time extents, equal wherever they recur.
    ///
    /// # Errors
    /// When the name is taken or a name is none.
    #[track_caller]
    pub fn tensor<E: Into<Extent>>(
        &mut self,
        name: &str,
        dtype: DType,
        shape: impl IntoIterator<Item = E>,
    ) -> Result<Tensor> {
        let elem = element("tensor", dtype)?;
        let shape = shape.into_iter().map(|extent| extent.into().0).collect();
        self.declare_tensor(name, elem, shape, false)
    }

    /// A tensor that the kernel may write too.
    ///
    /// # Errors
    /// When the name is taken or a name is none.
    #[track_caller]
    pub fn tensor_mut<E: Into<Extent>>(
        &mut self,
        name: &str,
        dtype: DType,
        shape: impl IntoIterator<Item = E>,
    ) -> Result<Tensor> {
        let elem = element("tensor", dtype)?;
        let shape = shape.into_iter().map(|extent| extent.into().0).collect();
        self.declare_tensor(name, elem, shape, true)
    }

    #[track_caller]
    fn declare_tensor(
        &mut self,
        name: &str,
        elem: Elem,
        shape: Vec<Expr>,
        mutable: bool,
    ) -> Result<Tensor> {
        self.check_modes(&shape)?;
        let rank = shape.len();
        if rank == 0 {
            return Err(fail(Problem::Range {
                operation: "tensor",
                what: "the number of modes",
                least: 1,
                most: i64::from(i32::MAX),
                found: 0,
            }));
        }
        let name = self.declare(name, elem, mutable, Some((shape, None)))?;
        Ok(Tensor {
            name,
            elem,
            rank,
            mutable,
            kernel: self.name.clone(),
        })
    }

    /// The strides of a tensor, in elements: `["1", …]`-like constants, or names that become run-time strides.
    ///
    /// # Errors
    /// When they are not as many as the tensor has modes.
    #[track_caller]
    pub fn strides<E: Into<Extent>>(
        &mut self,
        of: &Tensor,
        strides: impl IntoIterator<Item = E>,
    ) -> Result<()> {
        let strides: Vec<Expr> = strides.into_iter().map(|stride| stride.into().0).collect();
        self.check_modes(&strides)?;
        self.check_own(of, "strides")?;
        if strides.len() != of.rank {
            return Err(fail(Problem::Rank {
                operation: "strides",
                of: "strides",
                expected: of.rank,
                found: strides.len(),
            }));
        }
        let mut parameters = self.parameters.iter_mut();
        if let Some((_, found)) = parameters
            .find(|parameter| parameter.name == of.name)
            .and_then(|parameter| parameter.modes.as_mut())
        {
            *found = Some(strides);
        }
        Ok(())
    }

    /// A number that the kernel is passed.
    ///
    /// # Errors
    /// When the name is taken, or nothing is computed in the type.
    #[track_caller]
    pub fn number(&mut self, name: &str, dtype: DType) -> Result<Value> {
        let elem = element("number", dtype)?;
        if !elem.has_arithmetic() {
            let operation = "number";
            return Err(fail(Problem::undefined(operation, elem)));
        }
        let name = self.declare(name, elem, false, None)?;
        Ok(self.outermost(&name, elem))
    }

    /// Promises that an extent or stride is a multiple of `by`: accesses may then be wider. The runtime checks it.
    ///
    /// # Errors
    /// When there is no such extent or stride.
    #[track_caller]
    pub fn divisible(&mut self, name: &str, by: i64) -> Result<()> {
        self.symbol(name)?;
        self.range("divisible", "the divisor", by, 1, 1 << 30)?;
        let rest = tree::binary(BinaryOp::Rem, tree::name(name), tree::int(by));
        self.promises
            .push(tree::binary(BinaryOp::Eq, rest, tree::int(0)));
        Ok(())
    }

    /// Promises that an extent or stride is at most this.
    ///
    /// # Errors
    /// When there is no such extent or stride.
    #[track_caller]
    pub fn at_most(&mut self, name: &str, most: i64) -> Result<()> {
        self.symbol(name)?;
        let promise = tree::binary(BinaryOp::Le, tree::name(name), tree::int(most));
        self.promises.push(promise);
        Ok(())
    }

    /// Promises that the base address of a tensor is a multiple of so many bytes, a power of two.
    ///
    /// # Errors
    /// When the tensor is of another kernel, or this is no alignment.
    #[track_caller]
    pub fn aligned(&mut self, tensor: &Tensor, bytes: i64) -> Result<()> {
        self.check_own(tensor, "aligned")?;
        self.range("aligned", "the alignment", bytes, 1, 4096)?;
        if bytes.count_ones() != 1 {
            let (operation, least, most) = ("aligned", bytes & -bytes, 4096);
            return Err(fail(Problem::Range {
                operation,
                what: "the alignment, a power of two,",
                least,
                most,
                found: bytes,
            }));
        }
        let align = tree::call(tree::name("align"), [tree::name(&tensor.name)]);
        self.promises
            .push(tree::binary(BinaryOp::Ge, align, tree::int(bytes)));
        Ok(())
    }

    /// Asks that blocks which run together share operands, in groups of `width` tiles.
    ///
    /// # Errors
    /// When the width is out of range.
    #[track_caller]
    pub fn raster(&mut self, width: i64) -> Result<()> {
        self.range("raster", "the width", width, 1, MOST_RASTER)?;
        self.clause("raster", &[width]);
        Ok(())
    }

    /// Pins how many warps a block has, `[4]`, or how many share each product along m and n, `[2, 4]`.
    ///
    /// # Errors
    /// When there are no or more than two numbers, or not 1 to 32 warps.
    #[track_caller]
    pub fn warps(&mut self, warps: impl IntoIterator<Item = i64>) -> Result<()> {
        let warps: Vec<i64> = warps.into_iter().collect();
        self.range("warps", "the number of axes", warps.len() as i64, 1, 2)?;
        let mut most = MOST_WARPS;
        for count in &warps {
            self.range("warps", "the number of warps", *count, 1, most)?;
            most /= count;
        }
        self.clause("warps", &warps);
        Ok(())
    }

    /// Asks that so many blocks along m and n load together what their tiles have in common, as clusters that multicast it.
    ///
    /// # Errors
    /// When there are no or more than two numbers, or not 1 to 16 blocks.
    #[track_caller]
    pub fn multicast(&mut self, blocks: impl IntoIterator<Item = i64>) -> Result<()> {
        let blocks: Vec<i64> = blocks.into_iter().collect();
        self.range("multicast", "the number of axes", blocks.len() as i64, 1, 2)?;
        let mut most = LARGEST_CLUSTER;
        for count in &blocks {
            self.range("multicast", "the number of blocks", *count, 1, most)?;
            most /= count;
        }
        self.clause("multicast", &blocks);
        Ok(())
    }

    /// Asks for registers and shared memory such that so many blocks share a multiprocessor.
    ///
    /// # Errors
    /// When the number is out of range.
    #[track_caller]
    pub fn min_blocks(&mut self, blocks: i64) -> Result<()> {
        self.range("min_blocks", "the number of blocks", blocks, 1, MOST_BLOCKS)?;
        self.clause("min_blocks", &[blocks]);
        Ok(())
    }

    /// The kernel up to its body, launched in so many tiles along each axis.
    #[track_caller]
    pub(super) fn head(&self, counts: Vec<Expr>) -> Result<Head> {
        self.range(
            "tiles",
            "the number of axes",
            counts.len() as i64,
            1,
            MOST_AXES,
        )?;
        for count in &counts {
            self.check_names(count)?;
        }
        let mut launch = vec![tree::clause("tiles", counts)];
        launch.extend(self.clauses.iter().cloned());
        Ok(Head {
            params: self.parameters.iter().map(Parameter::node).collect(),
            promises: self.promises.clone(),
            launch,
        })
    }

    /// The number of an extent, a stride, or a parameter, in the body.
    #[track_caller]
    pub(super) fn symbol_value(&self, name: &str) -> Result<Value> {
        let elem = self.symbol(name)?;
        Ok(self.outermost(name, elem))
    }

    fn outermost(&self, name: &str, elem: Elem) -> Value {
        let home = Home {
            kernel: self.name.clone(),
            block: 0,
        };
        Value {
            kind: ElemKind::Number(elem),
            place: Place::Name {
                name: name.into(),
                home,
            },
        }
    }

    /// Whether a name stands for something in this kernel.
    pub(super) fn has(&self, name: &str) -> bool {
        let own = self.parameters.iter().any(|known| &*known.name == name);
        own || self.symbols().iter().any(|(known, _)| &**known == name)
    }

    /// Extents, which are of i32, and strides, which are of i64, by name.
    fn symbols(&self) -> Vec<(Arc<str>, Elem)> {
        let modes = self.parameters.iter().filter_map(|one| one.modes.as_ref());
        let extents = modes.clone().flat_map(|(shape, _)| shape);
        let strides = modes.flat_map(|(_, strides)| strides.iter().flatten());
        let named = |elem: Elem| move |expr: &Expr| Some((expr.as_name()?.clone(), elem));
        let extents = extents.filter_map(named(Elem::I32));
        let mut symbols: Vec<_> = extents
            .chain(strides.filter_map(named(Elem::I64)))
            .collect();
        let scalar = |name: &str| {
            let mut numbers = self.parameters.iter().filter(|one| one.modes.is_none());
            numbers.any(|one| &*one.name == name)
        };
        symbols.retain(|(name, _)| !scalar(name));
        let numbers = self.parameters.iter().filter(|one| one.modes.is_none());
        symbols.extend(numbers.map(|one| (one.name.clone(), one.elem)));
        symbols
    }

    #[track_caller]
    fn symbol(&self, name: &str) -> Result<Elem> {
        let symbols = self.symbols();
        if let Some((_, elem)) = symbols.iter().find(|(known, _)| &**known == name) {
            return Ok(*elem);
        }
        let mut known: Vec<String> = Vec::new();
        for (name, _) in &symbols {
            let shown = format!("`{name}`");
            if !known.contains(&shown) {
                known.push(shown);
            }
        }
        let name = name.to_owned();
        Err(fail(Problem::Unknown { name, known }))
    }

    /// Every name in a count of tiles is an extent.
    #[track_caller]
    fn check_names(&self, expr: &Expr) -> Result<()> {
        let mut names = Vec::new();
        collect_names(expr, &mut names);
        for name in names.iter().filter(|name| &***name != "ceil_div") {
            self.symbol(name)?;
        }
        Ok(())
    }

    #[track_caller]
    fn declare(
        &mut self,
        name: &str,
        elem: Elem,
        mutable: bool,
        modes: Option<(Vec<Expr>, Option<Vec<Expr>>)>,
    ) -> Result<Arc<str>> {
        check_free(name)?;
        if self.parameters.iter().any(|known| &*known.name == name) {
            let name = name.to_owned();
            return Err(fail(Problem::Taken { name }));
        }
        let name: Arc<str> = name.into();
        self.parameters.push(Parameter {
            name: name.clone(),
            elem,
            mutable,
            modes,
        });
        Ok(name)
    }

    #[track_caller]
    fn check_own(&self, tensor: &Tensor, operation: &'static str) -> Result<()> {
        if Arc::ptr_eq(&tensor.kernel, &self.name) {
            return Ok(());
        }
        let what = "a tensor";
        Err(fail(Problem::Foreign { operation, what }))
    }

    #[track_caller]
    fn check_modes(&self, modes: &[Expr]) -> Result<()> {
        let mut names = Vec::new();
        for mode in modes {
            collect_names(mode, &mut names);
        }
        for name in names.iter().filter(|name| &***name != "ceil_div") {
            check_free(name)?;
        }
        Ok(())
    }

    #[track_caller]
    fn range(
        &self,
        operation: &'static str,
        what: &'static str,
        found: i64,
        least: i64,
        most: i64,
    ) -> Result<()> {
        if (least..=most).contains(&found) {
            return Ok(());
        }
        Err(fail(Problem::Range {
            operation,
            what,
            least,
            most,
            found,
        }))
    }

    /// A clause of the launch; said again, it replaces what was said.
    fn clause(&mut self, name: &str, numbers: &[i64]) {
        self.clauses.retain(|clause| &*clause.name.node != name);
        let args = numbers.iter().map(|number| tree::int(*number)).collect();
        self.clauses.push(tree::clause(name, args));
    }
}

impl Parameter {
    fn node(&self) -> Param {
        let elem = elem_name(self.elem);
        let ty = match &self.modes {
            None => tree::ty(elem, Vec::new()),
            Some((shape, strides)) => {
                let mut layout = tree::tuple(shape.clone());
                if let Some(strides) = strides {
                    let stride = tree::tuple(strides.clone());
                    layout = tree::expr(crate::ast::ExprKind::Layout {
                        shape: layout,
                        stride,
                    });
                }
                tree::ty("tensor", vec![tree::name(elem), layout])
            }
        };
        tree::param(&self.name, self.mutable, Some(ty))
    }
}

fn collect_names(expr: &Expr, names: &mut Vec<Arc<str>>) {
    names.extend(expr.as_name().cloned());
    let mut children = Vec::new();
    expr.kind
        .for_each_child(&mut |child| children.push(child), &mut |_| {});
    children
        .into_iter()
        .for_each(|child| collect_names(child, names));
}

#[track_caller]
fn check_free(name: &str) -> Result<()> {
    if is_identifier(name) && !is_built_in(name) {
        return Ok(());
    }
    let name = name.to_owned();
    Err(fail(Problem::Name { name }))
}

/// Whether the language reads a text as one name.
fn is_identifier(text: &str) -> bool {
    use logos::Logos;
    let ascii = text
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let mut tokens = Token::lexer(text);
    let first = tokens.next();
    ascii && first == Some(Ok(Token::Ident(text))) && tokens.next().is_none()
}
