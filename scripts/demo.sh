#!/usr/bin/env bash
# Sets the machine up, builds cutec, compiles a GEMM and runs it against its reference: on the first
# GPU if there is one, else in the simulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
cargo build --release -p cutec-driver --bins

run() {
  printf '\n$ cutec %s\n' "$*"
  "$target/release/cutec" "$@"
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
run examples/gemm.cute --time-passes -o "$out/gemm.ptx"
printf '%s mma.sync instructions in the PTX\n' "$(grep -c 'mma.sync' "$out/gemm.ptx")"
run test examples/gemm.cute
