//! Names that other languages and libraries have for what cutec has too, or does without: CUDA, CuTe, Triton, NumPy,
//! PyTorch.

/// What is not done in a kernel.
const OF_THE_HOST: &str = "a kernel allocates, copies and waits for nothing: whoever launches it does; memory of a block is `smem<f32>(256)`, of a thread `fragment<f32>(4)`";

/// How to write here what has this name elsewhere.
pub fn here(name: &str) -> Option<&'static str> {
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
        "uint64" | "uint64_t" => "write `u64`",
        "unsigned" | "uint32" | "uint32_t" => "write `u32`",
        "u16" | "uint16" | "uint16_t" | "i128" | "u128" | "__int128" => {
            "there are the integers i8, u8, i16, i32, u32, i64 and u64"
        }
        "Tensor" | "array" | "Array" | "ndarray" | "memref" => {
            "a tensor is `x: tensor<f32, (m, n)>`, or `y: mut tensor<f32, n>` if it is written"
        }
        "str" | "string" | "String" => {
            "a kernel takes tensors and numbers; `printf(\"n = %d\\n\", n)` has a text"
        }
        "range" => "a range is written `0..n`, or `0..n step 2`",
        "range_constexpr" => "write `static for i in 0..n`",
        "len" => "write `size(x)`",
        "powf" => "write `pow(x, y)`, of `std/math.cute`",
        "sinf" | "__sinf" => "write `sin(x)`, or `precise_sin(x)` of `std/math.cute`",
        "cosf" | "__cosf" => "write `cos(x)`, or `precise_cos(x)` of `std/math.cute`",
        "__popc" | "__popcll" | "popc" | "popcnt" | "ctpop" => "write `popcount(x)`",
        "__clz" | "__clzll" | "clz" | "ctlz" => "write `leading_zeros(x)`",
        "__ffs" | "__ffsll" | "ffs" | "ctz" | "cttz" => "write `trailing_zeros(x)`: from 0 on",
        "__brev" | "__brevll" | "brev" | "bitreverse" => "write `reverse_bits(x)`",
        "clamp" | "clip" => "write `min(max(x, low), high)`",
        "fmax" | "fmaxf" | "maximum" => "write `max(a, b)`",
        "fmin" | "fminf" | "minimum" => "write `min(a, b)`",
        "__saturatef" => "write `min(max(x, 0.0), 1.0)`",
        "fmodf" => "write `fmod(x, y)`, of `std/math.cute`",
        "tanf" => "write `tan(x)`, of `std/math.cute`",
        "__fdividef" => "write `x / y`",
        "__fmaf_rn" | "__fma_rn" => "write `fma(a, b, c)`",
        "__mul24" => "write `a * b`",
        "__mulhi" | "__umulhi" => "write `mulhi(a, b)`",
        "__dp4a" => "write `ptx(\"dp4a.s32.s32 $0, $1, $2, $3;\", a, b, c, result = i32)`",
        "fabs" | "fabsf" => "write `abs(x)`",
        "expf" | "__expf" => "write `exp(x)`",
        "logf" | "__logf" => "write `log(x)`",
        "sqrtf" => "write `sqrt(x)`",
        "__frcp_rn" | "reciprocal" => "write `1.0 / x`, or the machine's `rcp(x)`",
        "rsqrtf" => "write `rsqrt(x)`",
        "tanhf" => "write `tanh(x)`",
        "cdiv" | "div_up" => "write `ceil_div(a, b)`",
        "matmul" | "mm" => "`dot(a, b)` is a · bᵀ of tiles",
        "arange" => "`iota(n)` counts within a tile",
        "ones" => "write `full<f32>(1.0, m, n)`",
        "T" | "permute" | "trans" => {
            "`transpose(x)` exchanges the two axes of a tile, `permute<(2, 0, 1)>(x)` of `std/tiles.cute` puts any in another order"
        }
        "cast" | "astype" | "to" | "static_cast" => "conversions are calls: `f16(x)`",
        "__float2half" | "__float2half_rn" => "write `f16(x)`",
        "__float2bfloat16" | "__float2bfloat16_rn" => "write `bf16(x)`",
        "__half2float" | "__bfloat162float" | "__int2float_rn" | "__uint2float_rn" => {
            "write `f32(x)`"
        }
        "__float2int_rz" => "write `i32(x)`",
        "__float2int_rn" => "write `i32(round(x))`",
        "rint" | "rintf" | "nearbyintf" => "write `round(x)`: ties go to even",
        "reinterpret_cast" | "bit_cast" | "__float_as_int" | "__int_as_float"
        | "__float_as_uint" | "__uint_as_float" => {
            "write `recast<i32>(x)`: the same bits as another type"
        }
        "float2" | "float4" | "int2" | "int4" | "uint4" | "make_float2" | "make_float4"
        | "make_int4" | "make_uint4" => {
            "neighbours are moved at once as a view: `zipped_divide(x, 4)[_, i]`, with `where n % 4 == 0`"
        }
        "program_id" => "write `tile.m`, in a kernel of threads `block_idx.x`",
        "num_programs" => "write `grid_dim.x`",
        "__syncthreads" | "syncthreads" | "sync_threads" | "sync" | "debug_barrier" => {
            "write `barrier()`"
        }
        "__threadfence" | "__threadfence_block" | "__threadfence_system" => {
            "`barrier()` orders what the threads of a block write; between blocks it is `ptx(\"fence.acq_rel.gpu;\")`, as in `is_last_block` and `grid_sync` of `std/grid.cute`"
        }
        "grid" | "this_grid" => {
            "all blocks wait for each other by `grid_sync(counter)` of `std/grid.cute`, in a kernel that is `cooperative()`"
        }
        "this_thread_block" => "all threads of a block wait for each other by `barrier()`",
        "__syncwarp" | "sync_warp" => "write `warp_barrier()`",
        "__shfl_xor_sync" | "shuffle_sync_bfly" => "write `shuffle_xor(x, mask)`",
        "__shfl_down_sync" | "shuffle_sync_down" => "write `shuffle_down(x, delta)`",
        "__shfl_up_sync" | "shuffle_sync_up" => "write `shuffle_up(x, delta)`",
        "__shfl_sync" | "shuffle_sync" => "write `shuffle_idx(x, lane)`",
        "__ballot_sync" => "write `ballot(condition)`",
        "__any_sync" => "write `any(condition)`",
        "__all_sync" => "write `all(condition)`",
        "__activemask" => {
            "votes and shuffles are of all lanes of a warp, and take no mask: `ballot(condition)`"
        }
        "cp_async_fence" | "cp_async_commit_group" | "__pipeline_commit" => {
            "write `cp_async_commit()`"
        }
        "cp_async_wait_group" | "__pipeline_wait_prior" => "write `cp_async_wait(n)`",
        "__pipeline_memcpy_async" | "memcpy_async" => {
            "write `copy(cp_async<f32, bits = 128>, from, to)`"
        }
        "memcpy" => "write `autovec_copy(from, to)`",
        "make_tensor" | "make_view" => {
            "write `view(x, layout)`, `smem<f32>(layout)` or `fragment<f32>(layout)`"
        }
        "make_layout" => "a layout is written `shape : stride`, as `(8, 4) : (4, 1)`",
        "make_shape" | "make_stride" | "make_coord" => "a tuple is written `(8, 4)`",
        "make_tiled_copy" => "write `tiled_copy(atom, thr = …, val = …)`",
        "make_tiled_mma" => "write `tiled_mma(atom, atoms = (2, 2, 1))`",
        "make_identity_tensor" => "write `identity(shape)`",
        "make_fragment_like" => "write `fragment_like(x)`",
        "clear" => "write `fill(x, 0.0)`",
        "scan" | "cumsum" | "cumprod" | "associative_scan" | "inclusive_scan"
        | "exclusive_scan" => {
            "of a tile it is `scan(add, x, axis = 1)`; of threads `std/scan.cute` has `warp_scan` and `block_scan`"
        }
        "argmax" | "argmin" => {
            "there is no argmax: with `m = reduce(max, x, axis = 1)` it is `reduce(min, select(x == m, iota(bm, bn, axis = 1), bn), axis = 1)`"
        }
        "sort" | "topk" | "argsort" => {
            "`import \"std/sort.cute\";` has `sorted(x)`, `sorted((x, places))` and `top_k<k>(x, values, places, first)`"
        }
        "inf" | "INFINITY" | "infinity" | "Infinity" | "HUGE_VALF" => {
            "`import \"std/math.cute\";` has `inf`, which is `1.0 / 0.0`"
        }
        "nan" | "NAN" | "NaN" => "`import \"std/math.cute\";` has `nan`, which is `0.0 / 0.0`",
        "isnan" | "is_nan" => "`import \"std/math.cute\";` has `isnan(x)`, which is `x != x`",
        "isinf" | "is_inf" | "isfinite" => {
            "`import \"std/math.cute\";` has `isinf(x)` and `isfinite(x)`"
        }
        "FLT_MAX" | "numeric_limits" => "write the number: `3.4028235e38`",
        "FLT_MIN" => "write the number: `1.17549435e-38`",
        "FLT_EPSILON" => "write the number: `1.1920929e-7`",
        "INT_MAX" | "INT32_MAX" => "write the number: `2147483647`",
        "INT_MIN" | "INT32_MIN" => "write the number: `-2147483648`",
        "threadIdx" => "write `thread_idx.x`",
        "blockIdx" => "write `block_idx.x`",
        "blockDim" => "write `block_dim.x`, which is known while compiling",
        "gridDim" => "write `grid_dim.x`",
        "warpSize" => "a warp has 32 threads",
        "laneid" | "lane_id" | "lane_idx" => "write `thread_idx.x % 32`",
        "warp_idx" | "warp_id" => "write `thread_idx.x / 32`",
        "tl" | "cute" | "cutlass" | "torch" | "np" | "math" | "std" => {
            "there are no modules: what is built in is called by its name alone, as `exp(x)`; tiles are loaded by `x.tile(shape, coordinate)`"
        }
        "println" | "cout" => "write `printf(\"i = %d\\n\", i);`",
        "assert" => {
            "in a kernel there is `static_assert(c, \"text\")`, of what is known while compiling; a test has `assert`"
        }
        "sizeof" => "write `bits(f32) / 8`",
        "where" => "write `select(condition, a, b)`",
        "clock64" | "clock" => "write `ptx(\"mov.u64 $0, %clock64;\", result = i64)`",
        "__nanosleep" => "write `ptx(\"nanosleep.u32 $0;\", 100)`",
        "__trap" => "write `ptx(\"trap;\")`",
        "dim3" => {
            "how many blocks and threads stands in the kernel: `launch grid(ceil_div(n, 256)), block(256)`"
        }
        "__launch_bounds__" => {
            "`block(256)` says how many threads there are, `min_blocks(2)` behind it how many blocks share a multiprocessor"
        }
        "malloc" | "free" => OF_THE_HOST,
        _ if name.starts_with("cuda") => OF_THE_HOST,
        "__ldcs" | "__ldcg" => "write `load(view, cache = streaming)`, or `cache = global`",
        "__ldg" | "ldg" => "write `x[i]`, or `load(view, cache = …)`",
        "make_tile" => "a tile is written `(8, 4)`",
        "size_t" => "write `i64`",
        "bool_" => "write `bool`",
        "atomicAdd" => "write `atomic_add(x[i], v)`",
        "atomicMax" => "write `atomic_max(x[i], v)`",
        "atomicMin" => "write `atomic_min(x[i], v)`",
        "atomicCAS" => "write `atomic_cas(x[i], expected, v)`",
        "atomicSub" => "write `atomic_add(x[i], -v)`",
        "atomicAnd" => "write `atomic_and(x[i], v)`",
        "atomicOr" => "write `atomic_or(x[i], v)`",
        "atomicXor" => "write `atomic_xor(x[i], v)`",
        "atomicInc" | "atomicDec" => "write `atomic_add(x[i], 1)`, and `% n` of what it gives",
        "atomicExch" => "write `atomic_exchange(x[i], v)`",
        _ => return None,
    })
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
