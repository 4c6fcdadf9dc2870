//! What has been read of the types of a context.
//!
//! Types are unique in their context and never change. So the text of one is printed once, and read once to the
//! value that it stands for; MLIR's printer alone takes longer than what is then computed with the value.
//! The dialect `cute` of a context keeps the readings (`cpp/Cute.cpp`); without it nothing is kept.
use crate::builder::IrValue;
use crate::tile::TileType;
use crate::types::{TypeError, Vars, read_type};
use crate::value::Val;
use melior::ir::{Type, TypeLike, ValueLike};
use mlir_sys::MlirContext;
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

unsafe extern "C" {
    /// What [`cutec_new_memo`] gave to the context's dialect; null where it has not been loaded.
    fn cutec_memo(context: MlirContext) -> *const c_void;
}

#[derive(Default)]
struct Memo(Mutex<FxHashMap<usize, Arc<Reading>>>);

struct Reading {
    text: Arc<str>,
    value: OnceLock<Result<Val, TypeError>>,
    tile: OnceLock<Result<TileType, String>>,
}

/// MLIR's text of a type.
pub fn type_text(ty: Type) -> Arc<str> {
    reading(ty).text.clone()
}

/// The value that stands for any value of a type; see [`crate::types::parse_type`].
///
/// # Errors
/// Where the type is not legal.
pub fn type_value(ty: Type, vars: &mut Vars) -> Result<Val, TypeError> {
    let reading = reading(ty);
    let read = || read_type(&reading.text);
    match reading.value.get_or_init(read) {
        Ok(val) => vars.renewed(val),
        Err(error) => Err(error.clone()),
    }
}

/// The tile that a ranked tensor stands for; see [`TileType::of`].
///
/// # Errors
/// Where it is none.
pub(crate) fn tile_type(ty: Type) -> Result<TileType, String> {
    let reading = reading(ty);
    reading.tile.get_or_init(|| TileType::read(ty)).clone()
}

/// The value that stands for an SSA value, as its type says.
///
/// # Errors
/// Where the type is not legal.
pub fn val_of(value: IrValue) -> Result<Val, TypeError> {
    type_value(value.r#type(), &mut Vars::default())
}

fn reading(ty: Type) -> Arc<Reading> {
    let new = || {
        Arc::new(Reading {
            text: ty.to_string().into(),
            value: OnceLock::new(),
            tile: OnceLock::new(),
        })
    };
    // SAFETY: the type, so its context, is alive; the memo lives as long as the context.
    let memo = unsafe {
        let context = mlir_sys::mlirTypeGetContext(ty.to_raw());
        cutec_memo(context).cast::<Memo>().as_ref()
    };
    let Some(Memo(readings)) = memo else {
        return new();
    };
    let mut readings = readings.lock().unwrap_or_else(PoisonError::into_inner);
    let known = readings.entry(ty.to_raw().ptr as usize);
    known.or_insert_with(new).clone()
}

#[unsafe(no_mangle)]
extern "C" fn cutec_new_memo() -> *mut c_void {
    Box::into_raw(Box::<Memo>::default()).cast()
}

#[unsafe(no_mangle)]
extern "C" fn cutec_drop_memo(memo: *mut c_void) {
    // SAFETY: the dialect gives back what `cutec_new_memo` gave it, once, at the end of its context.
    drop(unsafe { Box::from_raw(memo.cast::<Memo>()) });
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_once_and_its_unknowns_are_numbered_anew() {
        let context = crate::context();
        let text = r#"!cute.layout<"(?,4):(1,?{div=8})">"#;
        let ty = Type::parse(&context, text).expect("a type");
        assert_eq!(&*type_text(ty), ty.to_string());
        assert!(Arc::ptr_eq(&type_text(ty), &type_text(ty)));
        let mut vars = Vars::default();
        let mut read = || type_value(ty, &mut vars).expect("a layout");
        let (first, second) = (read(), read());
        assert_eq!(first.to_string(), second.to_string());
        let (Val::Layout(first), Val::Layout(second)) = (first, second) else {
            panic!("expected layouts");
        };
        assert_ne!(first, second, "the extents need not be equal");
    }

    #[test]
    fn a_context_without_the_dialect_keeps_nothing() {
        let context = melior::Context::new();
        let ty = Type::parse(&context, "i32").expect("a type");
        assert_eq!(&*type_text(ty), "i32");
        assert!(!Arc::ptr_eq(&type_text(ty), &type_text(ty)));
    }

    #[test]
    fn contexts_do_not_share() {
        for _ in 0..3 {
            let context = crate::context();
            for text in ["i32", r#"!cute.shape<"(2,3)">"#, "vector<4xf32>"] {
                let ty = Type::parse(&context, text).expect("a type");
                assert_eq!(&*type_text(ty), text);
            }
        }
    }
}
