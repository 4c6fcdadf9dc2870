#!/usr/bin/env bash
# Sets the machine up, builds cutec, compiles a GEMM and runs it against its reference: on the first
# GPU if there is one, else in the simulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
cargo build --release -p cutec --bins
cutec=$target/release/cutec

run() {
  printf '\n$ %s\n' "cutec ${*#"$cutec"}"
  "$cutec" "$@"
}

mkdir -p "$target/demo"
run examples/gemm.cute --time-passes -o "$target/demo/gemm.ptx"
grep -c 'mma.sync' "$target/demo/gemm.ptx" | sed 's/$/ mma.sync instructions in gemm.ptx/'
run test examples/gemm.cute
