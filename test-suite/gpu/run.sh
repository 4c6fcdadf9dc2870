#!/bin/sh
# Measures compiled kernels on this machine's GPU and prints the table; see README.md.
#   run.sh FOLDER [option of cutec-bench …]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if [ $# -lt 1 ] || [ ! -d "$1" ]; then
    echo "usage: run.sh FOLDER [option of cutec-bench ...]" >&2
    echo "FOLDER holds the compiled kernels that plan.json names" >&2
    exit 2
fi
folder=$1
shift

bench=${CUTEC_BENCH:-}
for candidate in "$folder/cutec-bench" "$root/target/release/cutec-bench" "$(command -v cutec-bench || true)"; do
    if [ -z "$bench" ] && [ -x "$candidate" ]; then
        bench=$candidate
    fi
done
if [ -z "$bench" ]; then
    echo "no cutec-bench: build it with cargo build --release -p cutec-runtime, or set CUTEC_BENCH" >&2
    exit 2
fi

plan=$here/plan.json
if [ -f "$folder/plan.json" ]; then
    plan=$folder/plan.json
fi
status=0
"$bench" "$plan" --folder "$folder" --skip-missing "$@" || status=$?
# What PyTorch reaches in the memory-bound cases, where it is installed.
if [ -z "${CUTEC_NO_TORCH:-}" ] && python3 -c 'import torch' 2>/dev/null; then
    python3 "$here/torch_peers.py" || status=$?
fi
exit "$status"
