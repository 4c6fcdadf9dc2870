//! Every operation that cutec builds or asks for, once: a variant for its name.
//!
//! An operation has one row in the table of its dialect (`tile`, `cute`, `upstream`), from which its name, the
//! lookup by name and the tests against the registered dialects come. Code names an operation by its variant, so that
//! the compiler knows a misspelt one, and a match over a dialect's enum can list every operation. Operands and
//! attributes have names in wrappers such as [`tile::Dot`] and [`cute::Gemm`], which stand under the table; of upstream
//! dialects in [`arith`] and [`scf`].
//!
//! What is not here: whether an operation has effects. TableGen says that, for upstream's operations and ours, and
//! MLIR's interfaces answer ([`crate::ir::has_no_effect`]).
//!
//! Of melior's generated wrappers (`melior::dialect::ods`, `melior::dialect!`) cutec uses none: they own their
//! operation, so that one that stands in a block cannot be looked at through them, and their builders know nothing
//! of the types that our semantics infers.
pub mod arith;
pub mod cute;
pub mod scf;
pub mod tile;
mod upstream;

pub use cute::CuteOp;
pub use tile::TileOp;
pub use upstream::{ArithOp, BuiltinOp, CfOp, GpuOp, LlvmOp, NvvmOp, ScfOp, UbOp, VectorOp};

use crate::handles::{IrOp, IrValue, bytes_of, operands_of};
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::LazyLock;

/// The operations of a dialect as an enum, each with its name behind the dialect's prefix.
macro_rules! operations {
    (
        $(#[$about:meta])*
        $dialect:ident in $prefix:literal {
            $( $(#[$doc:meta])* $variant:ident = $name:literal, )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $dialect {
            $( $(#[$doc])* $variant, )*
        }

        impl $dialect {
            /// All of them.
            pub const ALL: &[$dialect] = &[$( $dialect::$variant ),*];

            /// The name, with that of the dialect in front.
            pub const fn name(self) -> &'static str {
                match self {
                    $( $dialect::$variant => concat!($prefix, $name), )*
                }
            }

            /// The name without that of the dialect.
            pub const fn mnemonic(self) -> &'static str {
                match self {
                    $( $dialect::$variant => $name, )*
                }
            }

            /// Which of the dialect's operations one is; `None` for any other.
            pub fn of(op: $crate::handles::IrOp) -> Option<$dialect> {
                match $crate::ops::Op::of(op) {
                    Some($crate::ops::Op::$dialect(own)) => Some(own),
                    _ => None,
                }
            }

            /// The operation of a name without that of the dialect.
            pub fn of_mnemonic(name: &str) -> Option<$dialect> {
                match $crate::ops::Op::of_parts($prefix, name) {
                    Some($crate::ops::Op::$dialect(own)) => Some(own),
                    _ => None,
                }
            }

            /// Whether an operation is this one.
            pub fn is(self, op: $crate::handles::IrOp) -> bool {
                $crate::ops::has_name(op, self.name())
            }
        }

        impl std::fmt::Display for $dialect {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl From<$dialect> for $crate::ops::Op {
            fn from(own: $dialect) -> Self {
                $crate::ops::Op::$dialect(own)
            }
        }
    };
}
use operations;

/// Wrappers of operations, by which their operands and attributes have names.
///
/// `operand x 1` is the second operand, `last x 1` the last one, `operands x 1 2` those from the second on without the
/// last two. A wrapper exists only of an operation that has as many operands as it names. It may be one of several
/// kinds, whose operands mean the same.
macro_rules! accessors {
    ($(
        $(#[$about:meta])*
        $name:ident is $($kind:path)|+, $least:literal $(operand)? $(operands)? {
            $( $how:ident $field:ident $($at:literal)*; )*
        }
    )*) => { $(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $name<'c>($crate::handles::IrOp<'c>);

        #[allow(dead_code)]
        impl<'c> $name<'c> {
            /// An operation as this one, if it is one.
            pub fn of(op: $crate::handles::IrOp<'c>) -> Option<Self> {
                use melior::ir::operation::OperationLike;
                let is_one = $crate::ops::accessors!(@is op $($kind)|+);
                (is_one && op.operand_count() + 1 > $least).then_some($name(op))
            }

            /// The operation that defines a value, if it is one of these.
            pub fn defining(value: $crate::handles::IrValue<'c>) -> Option<Self> {
                $name::of($crate::handles::defining_op(value)?)
            }

            /// The operation.
            pub fn op(self) -> $crate::handles::IrOp<'c> {
                self.0
            }

            /// Its first result.
            ///
            /// # Panics
            /// Where it has none.
            pub fn result(self) -> $crate::handles::IrValue<'c> {
                $crate::handles::result_of(self.0, 0)
            }

            $( $crate::ops::accessors!(@$how $field $($at)*); )*
        }
    )* };
    (@is $op:ident $kind:path) => { $kind.is($op) };
    (@is $op:ident $($kind:path)|+) => {
        $crate::ops::Op::of($op).is_some_and(|own| [$($crate::ops::Op::from($kind)),+].contains(&own))
    };
    (@operand $field:ident $at:literal) => {
        #[doc = concat!("Operand `", stringify!($field), "`.")]
        pub fn $field(self) -> $crate::handles::IrValue<'c> {
            $crate::ops::operand(self.0, $at)
        }
    };
    (@last $field:ident $back:literal) => {
        #[doc = concat!("Operand `", stringify!($field), "`.")]
        pub fn $field(self) -> $crate::handles::IrValue<'c> {
            use melior::ir::operation::OperationLike;
            $crate::ops::operand(self.0, self.0.operand_count() - $back)
        }
    };
    (@operands $field:ident $first:literal $behind:literal) => {
        #[doc = concat!("Operands `", stringify!($field), "`.")]
        pub fn $field(self) -> Vec<$crate::handles::IrValue<'c>> {
            use melior::ir::operation::OperationLike;
            let end = self.0.operand_count() - $behind;
            ($first..end).map(|index| $crate::ops::operand(self.0, index)).collect()
        }
    };
    (@attribute $field:ident) => {
        #[doc = concat!("Attribute `", stringify!($field), "`, where the operation has it.")]
        pub fn $field(self) -> Option<melior::ir::Attribute<'c>> {
            use melior::ir::operation::OperationLike;
            self.0.attribute(stringify!($field)).ok()
        }
    };
}
use accessors;

/// An operand that the operation has.
fn operand<'c>(op: IrOp<'c>, index: usize) -> IrValue<'c> {
    let operand = operands_of(op).nth(index);
    operand.expect("internal: an operand is missing")
}

/// The bytes of an operation's name.
fn name_of<'c>(op: IrOp<'c>) -> &'c [u8] {
    // SAFETY: the operation is alive, and its name lives as long as the context.
    unsafe {
        let name = mlir_sys::mlirOperationGetName(op.to_raw());
        bytes_of(mlir_sys::mlirIdentifierStr(name))
    }
}

/// Every dialect's enum as a variant of [`Op`].
macro_rules! dialects {
    ($($dialect:ident),* $(,)?) => {
        /// An operation of any dialect that has a row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Op {
            $( $dialect($dialect), )*
        }

        impl Op {
            /// The name, with that of the dialect in front.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Op::$dialect(own) => own.name(), )*
                }
            }

            /// All of them.
            pub fn all() -> impl Iterator<Item = Op> {
                let all = [
                    $( $dialect::ALL.iter().map(|own| Op::$dialect(*own)).collect::<Vec<_>>(), )*
                ];
                all.into_iter().flatten()
            }
        }
    };
}

dialects! {
    TileOp, CuteOp, ArithOp, ScfOp, VectorOp, GpuOp, NvvmOp, LlvmOp, CfOp, BuiltinOp, UbOp,
}

static BY_NAME: LazyLock<FxHashMap<&'static [u8], Op>> =
    LazyLock::new(|| Op::all().map(|op| (op.name().as_bytes(), op)).collect());

impl Op {
    /// Which operation one is; `None` where it has no row.
    pub fn of(op: IrOp) -> Option<Op> {
        BY_NAME.get(name_of(op)).copied()
    }

    /// The operation of a name such as `tile.load`.
    pub fn of_name(name: &str) -> Option<Op> {
        BY_NAME.get(name.as_bytes()).copied()
    }

    fn of_parts(prefix: &str, mnemonic: &str) -> Option<Op> {
        Op::of_name(&[prefix, mnemonic].concat())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn has_name(op: IrOp, name: &str) -> bool {
    name_of(op) == name.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What TableGen declares has a row, and what has a row is declared.
    #[test]
    fn operations_of_the_dialects_have_rows() {
        let declared = |text: &str, classes: &str| -> BTreeSet<String> {
            let definitions = text.lines().filter(|line| line.starts_with("def "));
            let names = definitions.filter_map(|line| {
                let (_, class) = line.split_once(" : ")?;
                let (class, rest) = class.split_once("<\"")?;
                let is_operation = class.starts_with(classes) && class.ends_with("Op");
                is_operation.then(|| rest.split('"').next().unwrap_or_default().to_string())
            });
            names.collect()
        };
        let tile = declared(include_str!("../../cpp/Tile.td"), "Tile_");
        let rows = TileOp::ALL.iter().map(|op| op.mnemonic().to_string());
        assert_eq!(tile, rows.collect());
        let cute = declared(include_str!("../../cpp/Cute.td"), "Cute_");
        let rows = CuteOp::ALL.iter().map(|op| op.mnemonic().to_string());
        assert_eq!(cute, rows.collect());
    }

    /// MLIR knows every name.
    #[test]
    fn rows_are_registered() {
        let context = crate::context();
        for op in Op::all() {
            assert!(context.is_registered_operation(op.name()), "{op}");
            assert_eq!(Op::of_name(op.name()), Some(op));
        }
    }

    /// None of the arithmetic is left out: whoever asks for arithmetic means all of it.
    #[test]
    fn what_has_no_row_is_unknown() {
        assert_eq!(Op::of_name("tile.none"), None);
        assert_eq!(Op::of_name("memref.load"), None);
        assert_eq!(CuteOp::of_mnemonic("memref.load"), Some(CuteOp::MemrefLoad));
    }
}
