#!/bin/sh
# Compiles the kernels that plan.json names into FOLDER, for each architecture.
#   compile.sh FOLDER [ARCH …]      (default: sm_80 sm_90)
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
[ $# -gt 0 ] || set -- sm_80 sm_90
mkdir -p "$folder"
# one NAME EXAMPLE [option of cutec …]: compiles an example to NAME.ARCH.ptx
one() {
    name=$1
    example=$2
    shift 2
    "$cutec" "$root/examples/$example.cute" --arch "$arch" "$@" -o "$folder/$name.$arch.ptx"
}

for arch in "$@"; do
    for kernel in relu copy elementwise matmul_naive gemm gemm_kn gemm_mk gemm_mn gemm_1_base \
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
done
