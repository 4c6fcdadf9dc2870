//! Names that other languages and libraries have for what cutec has too: CUDA, CuTe, Triton, NumPy, PyTorch.

/// How to write here what has this name elsewhere.
pub(in crate::eval) fn here(name: &str) -> Option<&'static str> {
    Some(match name {
        "sum" => "`reduce(add, x, axis = 1)` adds up a tile along an axis",
        "mean" => "`reduce(add, x, axis = 1) / f32(n)` is the mean along an axis",
        "amax" | "reduce_max" => "`reduce(max, x, axis = 1)` is the largest along an axis",
        "amin" | "reduce_min" => "`reduce(min, x, axis = 1)` is the smallest along an axis",
        "prod" => "`reduce(mul, x, axis = 1)` multiplies along an axis",
        "softmax" => "write `exp(x - reduce(max, x, axis = 1))`, and divide by its sum",
        "relu" => "write `max(x, 0.0)`",
        "swish" => "import \"std/activations.cute\" and write `silu(x)`",
        "half" | "float16" | "fp16" | "half_t" | "__half" => "write `f16`",
        "bfloat16" | "bfloat16_t" | "__nv_bfloat16" => "write `bf16`",
        "float" | "float32" | "fp32" => "write `f32`",
        "double" | "float64" | "fp64" => "write `f64`",
        "float8_e4m3fn" | "float_e4m3_t" | "e4m3" => "write `f8e4m3`",
        "float8_e5m2" | "float_e5m2_t" | "e5m2" => "write `f8e5m2`",
        "int" | "int32" | "int32_t" => "write `i32`",
        "long" | "int64" | "int64_t" => "write `i64`",
        "short" | "int16" | "int16_t" => "write `i16`",
        "char" | "int8" | "int8_t" => "write `i8`",
        "uint8" | "uint8_t" => "write `u8`",
        "unsigned" | "uint32" | "uint32_t" | "u32" | "u16" | "u64" | "uint64_t" => {
            "there are the integers i8, u8, i16, i32 and i64"
        }
        "range" => "a range is written `0..n`, or `0..n step 2`",
        "range_constexpr" => "write `static for i in 0..n`",
        "len" => "write `size(x)`",
        "pow" | "powf" => "write `exp2(y * log2(x))` for positive x, or multiply",
        "clamp" | "clip" => "write `min(max(x, low), high)`",
        "fmax" | "fmaxf" | "maximum" => "write `max(a, b)`",
        "fmin" | "fminf" | "minimum" => "write `min(a, b)`",
        "fabs" | "fabsf" => "write `abs(x)`",
        "expf" | "__expf" => "write `exp(x)`",
        "logf" | "__logf" => "write `log(x)`",
        "sqrtf" => "write `sqrt(x)`",
        "rsqrtf" => "write `rsqrt(x)`",
        "tanhf" => "write `tanh(x)`",
        "cdiv" | "div_up" => "write `ceil_div(a, b)`",
        "matmul" | "mm" => "`dot(a, b)` is a · bᵀ of tiles",
        "arange" => "`iota(n)` counts within a tile",
        "ones" => "write `full<f32>(1.0, m, n)`",
        "T" | "permute" | "trans" => "`transpose(x)` exchanges the axes of a tile",
        "cast" | "astype" | "to" | "static_cast" => "conversions are calls: `f16(x)`",
        "program_id" => "write `tile.m`, in a kernel of threads `block_idx.x`",
        "num_programs" => "write `grid_dim.x`",
        "__syncthreads" | "syncthreads" | "sync_threads" | "debug_barrier" => "write `barrier()`",
        "__syncwarp" | "sync_warp" => "write `warp_barrier()`",
        "__shfl_xor_sync" | "shuffle_sync_bfly" => "write `shuffle_xor(x, mask)`",
        "__shfl_down_sync" | "shuffle_sync_down" => "write `shuffle_down(x, delta)`",
        "__shfl_up_sync" | "shuffle_sync_up" => "write `shuffle_up(x, delta)`",
        "__shfl_sync" | "shuffle_sync" => "write `shuffle_idx(x, lane)`",
        "__ballot_sync" => "write `ballot(condition)`",
        "cp_async_fence" | "cp_async_commit_group" => "write `cp_async_commit()`",
        "cp_async_wait_group" => "write `cp_async_wait(n)`",
        "make_tensor" => "write `view(x, layout)`, `smem<f32>(layout)` or `fragment<f32>(layout)`",
        "make_layout" => "a layout is written `shape : stride`, as `(8, 4) : (4, 1)`",
        "make_shape" | "make_stride" | "make_coord" => "a tuple is written `(8, 4)`",
        "make_tiled_copy" => "write `tiled_copy(atom, thr = …, val = …)`",
        "make_tiled_mma" => "write `tiled_mma(atom, atoms = (2, 2, 1))`",
        "make_identity_tensor" => "write `identity(shape)`",
        "make_fragment_like" => "write `fragment_like(x)`",
        "clear" => "write `fill(x, 0.0)`",
        _ => return None,
    })
}

/// How to write here a call that has this argument elsewhere.
pub(in crate::eval) fn argument_here(call: &str, argument: &str) -> Option<&'static str> {
    Some(match (call, argument) {
        ("max", "axis") => "`reduce(max, x, axis = …)` combines along an axis",
        ("min", "axis") => "`reduce(min, x, axis = …)` combines along an axis",
        _ => return None,
    })
}
