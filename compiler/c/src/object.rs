//! Objects as C holds them: by a pointer, which is given out once and given back once.

use std::ptr;

/// Gives an object out.
pub fn give<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Takes an object back; null is none.
///
/// # Safety
/// It comes from [`give`], and nobody uses it any more; or it is null.
pub unsafe fn take<T>(object: *mut T) -> Option<Box<T>> {
    // SAFETY: of the caller.
    (!object.is_null()).then(|| unsafe { Box::from_raw(object) })
}

/// Where a call is to write what it makes: null until it is made.
///
/// # Safety
/// It may be written; or it is null.
pub unsafe fn place<'a, T>(place: *mut *mut T) -> Option<&'a mut *mut T> {
    // SAFETY: of the caller.
    let place = unsafe { place.as_mut() }?;
    *place = ptr::null_mut();
    Some(place)
}

/// How many items a list of an object has; none where the object is null.
///
/// # Safety
/// `object` comes from [`give`], and nobody frees it meanwhile; or it is null.
pub unsafe fn count<T, I>(object: *const T, list: impl FnOnce(&T) -> &[I]) -> usize {
    // SAFETY: of the caller.
    unsafe { object.as_ref() }.map_or(0, |object| list(object).len())
}

/// What C sees of an item of a list: null beyond the last, and of no object.
///
/// # Safety
/// As [`count`].
pub unsafe fn item<T, I, V>(
    object: *const T,
    list: impl FnOnce(&T) -> &[I],
    index: usize,
    view: impl FnOnce(&I) -> *const V,
) -> *const V {
    // SAFETY: of the caller.
    let object = unsafe { object.as_ref() };
    object
        .and_then(|object| list(object).get(index))
        .map_or(ptr::null(), view)
}
