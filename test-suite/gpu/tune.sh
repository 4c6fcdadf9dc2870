#!/bin/sh
# Tunes the products of the examples on this machine's GPU, and measures the chosen configurations beside the defaults and
# cuBLAS. It takes some minutes; begun again, it goes on where it was interrupted.
#   tune.sh FOLDER [option of cutec tune …]      (a short try without a GPU: --devices sim --bench gemm_tiny --limit 4)
# FOLDER gets the plans, a picture of each search, and the kernels. The programs `cutec` and `cutec-bench` are taken from
# FOLDER, from target/release, or from PATH; ptxas or libnvJitLink of the machine's CUDA are used where they are found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -lt 1 ]; then
    echo "usage: tune.sh FOLDER [option of cutec tune ...]" >&2
    exit 2
fi
folder=$1
shift
mkdir -p "$folder"
arch=${TUNE_ARCH:-sm_90}

program() {
    for candidate in "$folder/$1" "$root/target/release/$1" "$(command -v "$1" || true)"; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    echo "no $1: build it with cargo build --release" >&2
    exit 2
}
cutec=$(program cutec)
case " $* " in
*" --bench "*)
    exec "$cutec" tune "$here/tune.cute" --arch "$arch" -o "$folder/tune.plan.json" --svg "$folder/tune.svg" "$@"
    ;;
esac
bench=$(program cutec-bench)
for kernel in gemm sgemm; do
    "$cutec" tune "$here/tune.cute" --bench "${kernel}_sizes" --arch "$arch" --time "${TUNE_SECONDS:-170}" \
        -o "$folder/$kernel.plan.json" --svg "$folder/$kernel.svg" "$@"
done
python3 "$here/tune_table.py" "$folder" "$cutec" "$here/tune.cute" "$arch"
"$bench" "$folder/tuned.json" --folder "$folder" --json "$folder/tuned.results.json" || true
python3 "$here/tune_table.py" "$folder" --results
