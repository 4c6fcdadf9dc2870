#!/bin/sh
# Compiles the kernels that plan.json names into FOLDER, for each architecture.
#   compile.sh FOLDER [ARCH …]      (default: sm_80 sm_90 sm_90a)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cutec=${CUTEC:-$root/target/release/cutec}
if [ $# -lt 1 ]; then
    echo "usage: compile.sh FOLDER [ARCH ...]" >&2
    exit 2
fi
folder=$1
shift
[ $# -gt 0 ] || set -- sm_80 sm_90 sm_90a
mkdir -p "$folder"
# one NAME EXAMPLE [option of cutec …]: compiles an example to NAME.ARCH.ptx
one() {
    name=$1
    example=$2
    shift 2
    "$cutec" "$root/examples/$example.cute" --arch "$arch" "$@" -o "$folder/$name.$arch.ptx"
}

for arch in "$@"; do
    if [ "$arch" = sm_90a ]; then
        for step in gemm_1_wgmma gemm_2_tma gemm_3_roles gemm_4_persistent; do
            one "$step" "hopper/$step"
        done
        for kernel in gemm_sm90 gemm_sm90_kn gemm_sm90_mk gemm_sm90_mn; do
            one "$kernel" hopper/gemm_sm90 --kernel "$kernel"
        done
        one gemm_sm90_f16 hopper/gemm_sm90 --kernel gemm_sm90 -D t=f16
        one gemm_sm90_64x128 hopper/gemm_sm90 --kernel gemm_sm90 -D bm=64 -D bn=128 -D stages=8
        one gemm_sm90_192x128 hopper/gemm_sm90 --kernel gemm_sm90 -D bm=192 -D bn=128 -D stages=4
        for align in 1 2 4; do
            one "gemm_sm90_any_$align" hopper/gemm_sm90 --kernel gemm_sm90_any -D "align=$align"
        done
        for layout in "" _kn _mk _mn; do
            one "gemm_pingpong$layout" hopper/gemm_sm90 --kernel "gemm_sm90$layout" -D schedule=sm90_pingpong -D bn=128
        done
        one gemm_pingpong_f16 hopper/gemm_sm90 --kernel gemm_sm90 -D schedule=sm90_pingpong -D bn=128 -D t=f16
        for rows in 1 4; do
            one "gemv_$rows" hopper/gemv -D "rows=$rows"
        done
        for rows in 8 16; do
            one "gemm_skinny_$rows" hopper/gemm_skinny -D "bn=$rows"
        done
        one gemm_skinny_64 hopper/gemm_skinny -D bn=64 -D bk=64 -D stages=12
        for kernel in gemm_split_k gemm_split_k_kn gemm_split_k_mk gemm_split_k_mn; do
            one "$kernel" hopper/gemm_split_k --kernel "$kernel"
        done
        for kernel in gemm_stream_k gemm_stream_k_kn gemm_stream_k_mk gemm_stream_k_mn; do
            one "$kernel" hopper/gemm_stream_k --kernel "$kernel"
        done
        one copy_tma hopper/copy_tma
        one norms_cluster hopper/norms_cluster
        one gemm_sm90_cluster hopper/gemm_sm90 --kernel gemm_sm90 -D cluster=2
        continue
    fi
    for kernel in relu copy elementwise matmul_naive gemm gemm_kn gemm_mk gemm_mn gemm_tf32 gemm_1_base \
        gemm_2_double_buffer gemm_3_raster gemm_4_stages sgemm_naive sgemm_tiled sgemm_pipelined \
        sgemm_warptiled sgemm sgemm_kn sgemm_mk sgemm_mn; do
        one "$kernel" "$kernel"
    done
    one gemm_f16 gemm -D t=f16
    one gemm_small gemm -D bm=64 -D bn=128 -D wm=2 -D wn=2 -D stages=4
    one sgemm_padded sgemm_tiled -D pad=4
    one copy_swizzled copy -D swizzle=true
    one norms_4096 norms -D threads=128 -D vecs=4
    one norms_16384 norms -D threads=512 -D vecs=4
    one tile_gemm tile_gemm --kernel tile_gemm
    one tile_gemm_small tile_gemm --kernel tile_gemm -D bm=64 -D bn=128 -D stages=4
    one tile_gemm_f16 tile_gemm --kernel tile_gemm -D t=f16 -D to=f16
    one tile_gemm_any tile_gemm --kernel tile_gemm -D align=1 -D bn=128
    for layout in kn mk mn; do
        one "tile_gemm_$layout" tile_gemm --kernel "tile_gemm_$layout"
        one "tile_sgemm_$layout" tile_gemm --kernel "tile_gemm_$layout" -D t=f32 -D bn=128 -D bk=16 -D align=4 -D blocks=2
    done
    one tile_sgemm tile_gemm --kernel tile_gemm -D t=f32 -D to=f32 -D bn=128 -D bk=16 -D align=4 -D blocks=2
    one tile_gemm_bias_relu tile_epilogues --kernel tile_gemm_bias_relu -D t=bf16
    for kernel in softmax rms_norm layer_norm; do
        one "tile_${kernel}_4096" tile_rows --kernel "tile_$kernel"
        one "tile_${kernel}_16384" tile_rows --kernel "tile_$kernel" -D bn=16384
    done
    one tile_transpose tile_rows --kernel tile_transpose
done
