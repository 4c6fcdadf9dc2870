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
for arch in "$@"; do
    for kernel in relu matmul_naive sgemm_tiled gemm; do
        "$cutec" "$root/examples/$kernel.cute" --arch "$arch" -o "$folder/$kernel.$arch.ptx"
    done
    "$cutec" "$root/examples/sgemm_tiled.cute" --arch "$arch" -D pad=4 -o "$folder/sgemm_padded.$arch.ptx"
done
