//! Names that other languages and libraries have for what cutec has too, or does without: CUDA, CuTe, Triton, NumPy,
//! PyTorch.

/// What is not done in a kernel.
const OF_THE_HOST: &str = "a kernel allocates, copies and waits for nothing: whoever launches it does; memory of a block is `smem<f32>(256)`, of a thread `fragment<f32>(4)`";

/// Names, and how to write here what has one of them elsewhere.
const HERE: &[(&str, &str)] = &[
    (
        "sum",
        "`reduce(add, x, axis = 1)` adds up a tile along an axis",
    ),
    (
        "mean",
        "`reduce(add, x, axis = 1) / f32(n)` is the mean along an axis",
    ),
    (
        "amax reduce_max",
        "`reduce(max, x, axis = 1)` is the largest along an axis",
    ),
    (
        "amin reduce_min",
        "`reduce(min, x, axis = 1)` is the smallest along an axis",
    ),
    (
        "prod",
        "`reduce(mul, x, axis = 1)` multiplies along an axis",
    ),
    (
        "softmax",
        "write `exp(x - reduce(max, x, axis = 1))`, and divide by its sum",
    ),
    ("relu", "write `max(x, 0.0)`"),
    (
        "swish",
        "import \"std/activations.cute\" and write `silu(x)`",
    ),
    ("half float16 fp16 half_t __half", "write `f16`"),
    ("bfloat16 bfloat16_t __nv_bfloat16", "write `bf16`"),
    ("float float32 fp32", "write `f32`"),
    ("double float64 fp64", "write `f64`"),
    ("float8_e4m3fn float_e4m3_t e4m3", "write `f8e4m3`"),
    ("float8_e5m2 float_e5m2_t e5m2", "write `f8e5m2`"),
    ("int int32 int32_t", "write `i32`"),
    ("long int64 int64_t", "write `i64`"),
    ("short int16 int16_t", "write `i16`"),
    ("char int8 int8_t", "write `i8`"),
    ("uint8 uint8_t", "write `u8`"),
    ("uint64 uint64_t", "write `u64`"),
    ("unsigned uint32 uint32_t", "write `u32`"),
    (
        "u16 uint16 uint16_t i128 u128 __int128",
        "there are the integers i8, u8, i16, i32, u32, i64 and u64",
    ),
    (
        "Tensor array Array ndarray memref",
        "a tensor is `x: tensor<f32, (m, n)>`, or `y: mut tensor<f32, n>` if it is written",
    ),
    (
        "str string String",
        "a kernel takes tensors and numbers; `printf(\"n = %d\\n\", n)` has a text",
    ),
    ("range", "a range is written `0..n`, or `0..n step 2`"),
    ("range_constexpr", "write `static for i in 0..n`"),
    ("len", "write `size(x)`"),
    ("powf float_power", "write `pow(x, y)`, of `std/math.cute`"),
    (
        "sinf __sinf",
        "write `sin(x)`, or `precise_sin(x)` of `std/math.cute`",
    ),
    (
        "cosf __cosf",
        "write `cos(x)`, or `precise_cos(x)` of `std/math.cute`",
    ),
    ("__popc __popcll popc popcnt ctpop", "write `popcount(x)`"),
    ("__clz __clzll clz ctlz", "write `leading_zeros(x)`"),
    (
        "__ffs __ffsll ffs ctz cttz",
        "write `trailing_zeros(x)`: from 0 on",
    ),
    ("__brev __brevll brev bitreverse", "write `reverse_bits(x)`"),
    (
        "clamp clip clamp_min clamp_max",
        "write `min(max(x, low), high)`",
    ),
    ("fmax fmaxf maximum", "write `max(a, b)`"),
    ("fmin fminf minimum", "write `min(a, b)`"),
    ("__saturatef", "write `min(max(x, 0.0), 1.0)`"),
    ("fmodf", "write `fmod(x, y)`, of `std/math.cute`"),
    ("tanf", "write `tan(x)`, of `std/math.cute`"),
    ("__fdividef", "write `x / y`"),
    ("__fmaf_rn __fma_rn", "write `fma(a, b, c)`"),
    ("__mul24", "write `a * b`"),
    ("__mulhi __umulhi", "write `mulhi(a, b)`"),
    (
        "__dp4a",
        "write `ptx(\"dp4a.s32.s32 $0, $1, $2, $3;\", a, b, c, result = i32)`",
    ),
    ("fabs fabsf absolute", "write `abs(x)`"),
    ("expf __expf", "write `exp(x)`"),
    ("logf __logf", "write `log(x)`"),
    ("sqrtf", "write `sqrt(x)`"),
    (
        "__frcp_rn reciprocal",
        "write `1.0 / x`, or the machine's `rcp(x)`",
    ),
    ("rsqrtf", "write `rsqrt(x)`"),
    ("tanhf", "write `tanh(x)`"),
    ("cdiv div_up", "write `ceil_div(a, b)`"),
    (
        "matmul mm bmm baddbmm addmm einsum tensordot inner",
        "`dot(a, b)` is a · bᵀ of tiles; `transpose(x)`, `reshape(x, m, n)` and `permute<(2, 0, 1)>(x)` of `std/tiles.cute` bring others into this form, batches are an axis of `launch tiles(…)`",
    ),
    ("arange", "`iota(n)` counts within a tile"),
    (
        "ones zeros_like ones_like full_like empty empty_like",
        "write `full<f32>(1.0, m, n)`; `zeros<f32>(m, n)` is a tile of zeros",
    ),
    (
        "T permute trans",
        "`transpose(x)` exchanges the two axes of a tile, `permute<(2, 0, 1)>(x)` of `std/tiles.cute` puts any in another order",
    ),
    (
        "cast astype to static_cast",
        "conversions are calls: `f16(x)`",
    ),
    ("__float2half __float2half_rn", "write `f16(x)`"),
    ("__float2bfloat16 __float2bfloat16_rn", "write `bf16(x)`"),
    (
        "__half2float __bfloat162float __int2float_rn __uint2float_rn",
        "write `f32(x)`",
    ),
    ("__float2int_rz", "write `i32(x)`"),
    ("__float2int_rn", "write `i32(round(x))`"),
    ("rint rintf nearbyintf", "write `round(x)`: ties go to even"),
    (
        "reinterpret_cast bit_cast __float_as_int __int_as_float __float_as_uint __uint_as_float",
        "write `recast<i32>(x)`: the same bits as another type",
    ),
    (
        "float2 float4 int2 int4 uint4 make_float2 make_float4 make_int4 make_uint4",
        "neighbours are moved at once as a view: `zipped_divide(x, 4)[_, i]`, with `where n % 4 == 0`",
    ),
    (
        "program_id",
        "write `tile.m`, in a kernel of threads `block_idx.x`",
    ),
    ("num_programs", "write `grid_dim.x`"),
    (
        "__syncthreads syncthreads sync_threads sync debug_barrier",
        "write `barrier()`",
    ),
    (
        "__threadfence __threadfence_block __threadfence_system",
        "`barrier()` orders what the threads of a block write; between blocks it is `ptx(\"fence.acq_rel.gpu;\")`, as in `is_last_block` and `grid_sync` of `std/grid.cute`",
    ),
    (
        "grid this_grid",
        "all blocks wait for each other by `grid_sync(counter)` of `std/grid.cute`, in a kernel that is `cooperative()`",
    ),
    (
        "this_thread_block",
        "all threads of a block wait for each other by `barrier()`",
    ),
    ("__syncwarp sync_warp", "write `warp_barrier()`"),
    (
        "__shfl_xor_sync shuffle_sync_bfly",
        "write `shuffle_xor(x, mask)`",
    ),
    (
        "__shfl_down_sync shuffle_sync_down",
        "write `shuffle_down(x, delta)`",
    ),
    (
        "__shfl_up_sync shuffle_sync_up",
        "write `shuffle_up(x, delta)`",
    ),
    ("__shfl_sync shuffle_sync", "write `shuffle_idx(x, lane)`"),
    ("__ballot_sync", "write `ballot(condition)`"),
    ("__any_sync", "write `any(condition)`"),
    ("__all_sync", "write `all(condition)`"),
    (
        "__activemask",
        "votes and shuffles are of all lanes of a warp, and take no mask: `ballot(condition)`",
    ),
    (
        "cp_async_fence cp_async_commit_group __pipeline_commit",
        "write `cp_async_commit()`",
    ),
    (
        "cp_async_wait_group __pipeline_wait_prior",
        "write `cp_async_wait(n)`",
    ),
    (
        "__pipeline_memcpy_async memcpy_async",
        "write `copy(cp_async<f32, bits = 128>, from, to)`",
    ),
    ("memcpy", "write `autovec_copy(from, to)`"),
    (
        "make_tensor make_view",
        "write `view(x, layout)`, `smem<f32>(layout)` or `fragment<f32>(layout)`",
    ),
    (
        "make_layout",
        "a layout is written `shape : stride`, as `(8, 4) : (4, 1)`",
    ),
    (
        "make_shape make_stride make_coord",
        "a tuple is written `(8, 4)`",
    ),
    (
        "make_tiled_copy",
        "write `tiled_copy(atom, thr = …, val = …)`",
    ),
    (
        "make_tiled_mma",
        "write `tiled_mma(atom, atoms = (2, 2, 1))`",
    ),
    ("make_identity_tensor", "write `identity(shape)`"),
    ("make_fragment_like", "write `fragment_like(x)`"),
    ("clear", "write `fill(x, 0.0)`"),
    (
        "cumsum cumprod associative_scan inclusive_scan exclusive_scan cummax cummin logcumsumexp",
        "of a tile it is `scan(add, x, axis = 1)`; of threads `std/scan.cute` has `warp_scan` and `block_scan`",
    ),
    (
        "argmax argmin",
        "`import \"std/sort.cute\";` has `argmax(x)` and `argmin(x)`, places in a tile",
    ),
    (
        "sort topk argsort",
        "`import \"std/sort.cute\";` has `sorted(x)`, `sorted((x, places))` and `top_k<k>(x, values, places, first)`",
    ),
    (
        "inf INFINITY infinity Infinity HUGE_VALF",
        "`import \"std/math.cute\";` has `inf`, which is `1.0 / 0.0`",
    ),
    (
        "NAN NaN",
        "`import \"std/math.cute\";` has `nan`, which is `0.0 / 0.0`",
    ),
    (
        "isnan is_nan",
        "`import \"std/math.cute\";` has `isnan(x)`, which is `x != x`",
    ),
    (
        "isinf is_inf isfinite",
        "`import \"std/math.cute\";` has `isinf(x)` and `isfinite(x)`",
    ),
    ("FLT_MAX numeric_limits", "write the number: `3.4028235e38`"),
    ("FLT_MIN", "write the number: `1.17549435e-38`"),
    ("FLT_EPSILON", "write the number: `1.1920929e-7`"),
    ("INT_MAX INT32_MAX", "write the number: `2147483647`"),
    ("INT_MIN INT32_MIN", "write the number: `-2147483648`"),
    ("threadIdx", "write `thread_idx.x`"),
    ("blockIdx", "write `block_idx.x`"),
    (
        "blockDim",
        "write `block_dim.x`, which is known while compiling",
    ),
    ("gridDim", "write `grid_dim.x`"),
    ("warpSize", "a warp has 32 threads"),
    ("laneid lane_id lane_idx", "write `thread_idx.x % 32`"),
    ("warp_idx warp_id", "write `thread_idx.x / 32`"),
    (
        "tl cute cutlass torch np math std",
        "there are no modules: what is built in is called by its name alone, as `exp(x)`; tiles are loaded by `x.tile(shape, coordinate)`",
    ),
    ("println cout", "write `printf(\"i = %d\\n\", i);`"),
    (
        "assert",
        "in a kernel there is `static_assert(c, \"text\")`, of what is known while compiling; a test has `assert`",
    ),
    ("sizeof", "write `bits(f32) / 8`"),
    (
        "where masked_fill ifelse cond",
        "write `select(condition, a, b)`",
    ),
    (
        "clock64 clock",
        "write `ptx(\"mov.u64 $0, %clock64;\", result = i64)`",
    ),
    ("__nanosleep", "write `ptx(\"nanosleep.u32 $0;\", 100)`"),
    ("__trap", "write `ptx(\"trap;\")`"),
    (
        "dim3",
        "how many blocks and threads stands in the kernel: `launch grid(ceil_div(n, 256)), block(256)`",
    ),
    (
        "__launch_bounds__",
        "`block(256)` says how many threads there are, `min_blocks(2)` behind it how many blocks share a multiprocessor",
    ),
    ("malloc free", OF_THE_HOST),
    (
        "__ldcs __ldcg",
        "write `load(view, cache = streaming)`, or `cache = global`",
    ),
    ("__ldg ldg", "write `x[i]`, or `load(view, cache = …)`"),
    ("make_tile", "a tile is written `(8, 4)`"),
    ("size_t", "write `i64`"),
    ("bool_", "write `bool`"),
    ("atomicAdd", "write `atomic_add(x[i], v)`"),
    ("atomicMax", "write `atomic_max(x[i], v)`"),
    ("atomicMin", "write `atomic_min(x[i], v)`"),
    ("atomicCAS", "write `atomic_cas(x[i], expected, v)`"),
    ("atomicSub", "write `atomic_add(x[i], -v)`"),
    ("atomicAnd", "write `atomic_and(x[i], v)`"),
    ("atomicOr", "write `atomic_or(x[i], v)`"),
    ("atomicXor", "write `atomic_xor(x[i], v)`"),
    (
        "atomicInc atomicDec",
        "write `atomic_add(x[i], 1)`, and `% n` of what it gives",
    ),
    ("atomicExch atomic_xchg", "write `atomic_exchange(x[i], v)`"),
    (
        "roll rotate shift",
        "`gather(x, (iota(m, 1), (iota(1, n) + n - 1) % n))` has the columns of a tile turned by one",
    ),
    (
        "flip fliplr flipud rot90",
        "`gather(x, (iota(m, 1), n - 1 - iota(1, n)))` has the columns of a tile in the contrary order",
    ),
    (
        "concat concatenate cat hstack vstack dstack stack",
        "`join(a, b, axis = 1)` puts tiles of one shape side by side, `concat<1>(a, b)` of `std/tiles.cute` any",
    ),
    (
        "chunk unbind tensor_split",
        "`split<1>(x)` of `std/tiles.cute` gives two halves of a tile, `part(x, (16, 8), (0, 8))` a part",
    ),
    (
        "squeeze unsqueeze expand_dims newaxis ravel",
        "`reshape(x, m, 1)` has another axis of extent 1",
    ),
    (
        "expand expand_as broadcast_to repeat repeat_interleave",
        "extents of 1 are repeated where tiles meet; `broadcast(x, m, n)` writes it out",
    ),
    (
        "take index_select take_along_dim take_along_axis embedding",
        "`x.gather((rows, columns))` has elements of a tensor at tiles of coordinates, `gather(x, (rows, columns))` those of a tile",
    ),
    (
        "scatter_add scatter_add_ index_add scatter_reduce",
        "`atomic_add(y.scatter((rows, columns)), x)` adds to elements at tiles of coordinates",
    ),
    (
        "histogram histc bincount",
        "`atomic_add(count.scatter(bins), 1)` counts a tile of bins",
    ),
    (
        "logsumexp",
        "write `m + log(reduce(add, exp(x - m), axis = 1))`, with `m = reduce(max, x, axis = 1)`",
    ),
    (
        "log_softmax",
        "write `x - m - log(reduce(add, exp(x - m), axis = 1))`, with `m = reduce(max, x, axis = 1)`",
    ),
    (
        "variance stddev var_mean layer_norm layernorm LayerNorm rms_norm rmsnorm RMSNorm batch_norm group_norm",
        "with `d = x - reduce(add, x, axis = 1) / f32(n)` the variance of rows is `reduce(add, d * d, axis = 1) / f32(n)`",
    ),
    (
        "norm",
        "`sqrt(reduce(add, x * x, axis = 1))` is the norm along an axis",
    ),
    ("square", "write `x * x`"),
    (
        "floor_divide floordiv",
        "`/` of integers rounds towards zero; of floating numbers write `floor(x / y)`",
    ),
    (
        "remainder mod",
        "`x % y` of integers has the sign of x; of f32 there is `fmod(x, y)` of `std/math.cute`",
    ),
    (
        "logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not",
        "write `a & b`, `a | b`, `a ^ b`, `!a`",
    ),
    (
        "subtract sub multiply divide div negative neg",
        "write `a - b`, `a * b`, `a / b`, `-a`",
    ),
    (
        "eq ne gt lt ge le equal greater less greater_equal less_equal",
        "write `a == b`, `a > b`, `a <= b`",
    ),
    (
        "triu tril",
        "`select(iota(n, 1) >= iota(1, n), x, 0.0)` keeps what is on and below the diagonal",
    ),
    (
        "eye diag",
        "`select(iota(n, 1) == iota(1, n), 1.0, 0.0)` is 1 on the diagonal",
    ),
    (
        "outer ger",
        "write `reshape(a, m, 1) * reshape(b, 1, n)`: extents of 1 are repeated",
    ),
    ("linspace", "write `first + by * f32(iota(n))`"),
    (
        "meshgrid ogrid mgrid",
        "`iota(m, 1)` and `iota(1, n)` are the coordinates of rows and columns",
    ),
    (
        "random uniform normal rand randn randint rand_like randn_like curand curand_uniform",
        "`import \"std/random.cute\";` has `random_uniform(seed, number)`, `random_normal(seed, number)` and `random_below(seed, number, below)`",
    ),
    (
        "median quantile percentile",
        "`sorted(x)` of `std/sort.cute` puts rows in order",
    ),
    (
        "unique nonzero compress flatnonzero",
        "places in a list are `let first = atomic_add(count[0], n)`, as in `examples/tile_lists.cute`",
    ),
    (
        "searchsorted bucketize digitize",
        "count those below: `reduce(add, i32(edges <= x), axis = 1)`",
    ),
    ("nan_to_num", "write `select(x == x, x, 0.0)`"),
    (
        "isclose allclose",
        "in a kernel write `abs(a - b) < 1e-5`; a test has `assert_close(y[i], x[i])`",
    ),
    (
        "conv1d conv2d conv3d conv im2col unfold",
        "`std/conv.cute` has `convolve`; `x.windows((bp, bk), (i, r, s, j), filter = (3, 3))` is an operand of a product",
    ),
    (
        "pad",
        "outside of a tensor a tile is 0, or what `fill = …` says: `x.tile((m, n), at = (r - 1, c - 1), fill = 0.0)`",
    ),
    (
        "max_pool2d avg_pool2d max_pool1d avg_pool1d",
        "combine tiles that lie one element apart: `max(x.tile((m, n), at = (r, c)), x.tile((m, n), at = (r, c + 1)))`",
    ),
    (
        "fft ifft rfft irfft",
        "`import \"std/transforms.cute\";` has `fourier((re, im))` and `inverse_fourier((re, im))`",
    ),
    ("diff", "write `x.tile(n, at = i + 1) - x.tile(n, at = i)`"),
    (
        "make_block_ptr advance make_tensor_descriptor",
        "a tile of a tensor is `x.tile((m, n), (i, j))`: there are no pointers",
    ),
    ("static_range unroll", "write `static for i in 0..n`"),
    (
        "constexpr",
        "compile-time parameters stand in angle brackets: `kernel f<n = 4>(…)`",
    ),
    ("static_print", "write `print(x)`"),
    (
        "multiple_of max_contiguous max_constancy",
        "`where n % 8 == 0` promises it of arguments, `assume(x % 8 == 0)` of other integers",
    ),
    (
        "dot_scaled",
        "multiply what `bf16(recast<f4e2m1>(x)) * scale` gives, as `examples/tile_weights.cute` does",
    ),
    (
        "num_warps num_stages",
        "`launch tiles(…), warps(4)` and `pipeline(3) for …` say it",
    ),
    (
        "__reduce_add_sync __reduce_max_sync __reduce_min_sync WarpReduce",
        "write `warp_reduce(add, x)`",
    ),
    ("BlockReduce", "write `block_reduce(add, x)`"),
    (
        "WarpScan BlockScan DeviceScan",
        "`import \"std/scan.cute\";` has `warp_scan<plus>(x)`, `block_scan` and `LookBack`",
    ),
    (
        "tiled_partition coalesced_threads",
        "reductions and shuffles of groups of lanes take `width`: `warp_reduce(add, x, width = 8)`",
    ),
    (
        "load_matrix_sync store_matrix_sync mma_sync fill_fragment wmma",
        "a warp multiplies by `gemm(mma, a, b, c)` with a `tiled_mma`; at the tile level it is `dot(a, b)`",
    ),
    (
        "half2 __half2 __nv_bfloat162 __hadd __hmul __hsub __hfma __hadd2 __hmul2 __hfma2",
        "write `a + b`, `a * b`, `fma(a, b, c)`: neighbours become pairs by themselves",
    ),
    (
        "__byte_perm __prmt",
        "write `ptx(\"prmt.b32 $0, $1, $2, $3;\", a, b, selector, result = i32)`",
    ),
    (
        "__funnelshift_l __funnelshift_r",
        "write `ptx(\"shf.l.wrap.b32 $0, $1, $2, $3;\", low, high, by, result = i32)`",
    ),
    ("exp10 exp10f", "write `exp2(3.3219281 * x)`"),
    (
        "make_tma_copy make_tma_atom make_tma_tile_atom",
        "write `tma_load(tensor, tile, layout)`",
    ),
    (
        "make_smem_ptr make_gmem_ptr make_rmem_tensor",
        "write `smem<f32>(layout)`, `fragment<f32>(layout)` or `view(x, layout)`",
    ),
    (
        "idx2crd",
        "there is `crd2idx(c, layout)`; the coordinate of an index is that of the loop that has it",
    ),
    (
        "ld_acquire ld_relaxed load_acquire atomic_ref",
        "write `atomic_load(x[i], order = acquire)`",
    ),
    (
        "st_release store_release",
        "write `atomic_store(x[i], v, order = release)`",
    ),
    (
        "exp2f log2f log10f log1pf expm1f erff ceilf floorf truncf roundf cbrtf atan2f hypotf asinf acosf atanf sinhf coshf fmaf",
        "the name has no `f` here: `exp2(x)`",
    ),
];

/// How to write here what has this name elsewhere.
pub fn here(name: &str) -> Option<&'static str> {
    let found = HERE
        .iter()
        .find(|(names, _)| names.split(' ').any(|known| known == name));
    match found {
        Some((_, text)) => Some(text),
        None => name.starts_with("cuda").then_some(OF_THE_HOST),
    }
}

/// How to write here what is a field or a method of a value elsewhere.
pub fn method_here(name: &str) -> Option<&'static str> {
    Some(match name {
        "shape" | "ndim" => {
            "write `shape(x)`; an extent has the name that the kernel's signature gives it, `x: tensor<f32, (m, n)>`, or is `size<0>(x)`"
        }
        "size" | "numel" | "__len__" => "write `size(x)`, or `size<0>(x)` of one mode",
        "strides" | "stride" => "write `stride(x)`",
        "dtype" | "element_type" | "value_type" => {
            "a `fn` is generic in element types: `fn f<t: dtype>(x)`, called `f<f16>(x)`"
        }
        "data" | "data_ptr" | "iterator" => {
            "there are no pointers: `view(x, layout)` has another layout"
        }
        "load" => "tiles are loaded by `x.tile(shape, coordinate)`, elements by `x[i]`",
        "store" => "what is stored stands on the left: `y.tile(shape, coordinate) = x`, `y[i] = x`",
        "T" | "permute" | "trans" => {
            "`transpose(x)` exchanges the two axes of a tile, `permute<(2, 0, 1)>(x)` of `std/tiles.cute` puts any in another order"
        }
        _ => return None,
    })
}

/// How to write here a call that has this argument elsewhere.
pub fn argument_here(call: &str, argument: &str) -> Option<&'static str> {
    Some(match (call, argument) {
        ("max", "axis") => "`reduce(max, x, axis = …)` combines along an axis",
        ("tile", "mask") => {
            "no mask is needed: outside of the tensor a tile is 0, or `fill = …`, and nothing is written there"
        }
        ("tile", "other") => "write `fill = …`",
        ("dot", "acc") => "write `acc += dot(a, b)`",
        ("zeros" | "full" | "iota", "dtype" | "shape") => "write `zeros<f32>(bm, bn)`",
        ("min", "axis") => "`reduce(min, x, axis = …)` combines along an axis",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::item_head;
    use crate::{eval::builtins, stdlib};
    use cutec_dialects::elem::Elem;
    use std::collections::HashSet;

    /// Types, clauses and words with parentheses, functions of `test` blocks, and what stands for a name of the program.
    const OTHERS: [&str; 11] = [
        "tensor",
        "grid",
        "block",
        "min_blocks",
        "warps",
        "cooperative",
        "pipeline",
        "assert_close",
        "assert",
        "f",
        "kernel",
    ];

    /// Names in `text` that are called, `name(…)` or `name<…>(…)`, methods aside.
    fn called(text: &str) -> impl Iterator<Item = &str> {
        let code = text.split('`').skip(1).step_by(2);
        code.flat_map(|code| {
            let ends = code.match_indices(['(', '<']).map(|(at, _)| at);
            ends.filter_map(|end| {
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let start = code[..end].rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
                let name = &code[start..end];
                let is_method = code[..start].ends_with('.');
                let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
                (is_name && !is_method).then_some(name)
            })
        })
    }

    #[test]
    fn what_is_to_be_written_exists() {
        let mut known: HashSet<&str> = builtins::names().chain(OTHERS).collect();
        known.extend(Elem::ALL.iter().map(|(elem, _)| elem.language_name()));
        for (_, text) in stdlib::FILES {
            known.extend(text.lines().filter_map(item_head).map(|(_, name)| name));
        }
        for (names, text) in HERE {
            for name in called(text) {
                assert!(known.contains(name), "{names}: `{name}` in {text}");
            }
        }
    }

    #[test]
    fn a_name_stands_once_and_is_none_of_the_language() {
        let mut seen = HashSet::new();
        let known: HashSet<&str> = builtins::names().collect();
        for name in HERE.iter().flat_map(|(names, _)| names.split(' ')) {
            assert!(seen.insert(name), "`{name}` twice");
            assert!(!known.contains(name), "`{name}` is a name of the language");
        }
    }
}
