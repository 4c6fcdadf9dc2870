#!/usr/bin/env bash
# Sets the machine up and runs every test: Rust tests, lit tests, the layout vectors, the tests
# inside the examples in the simulator, libcutec from C and C++, and the Python package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')

step() { printf '\n== %s\n' "$*"; }

step "programs"
cargo build --release --workspace --bins --examples

step "format of kernels"
# What stands in Inputs is made for its test as it is.
find examples frontend/std test-suite -name '*.cute' -not -path '*/Inputs/*' -print0 |
  xargs -0 "$target/release/cutec" fmt --check

step "Rust tests"
CUTEC_PROGRAMS="$target/release" cargo test --release --workspace

step "lit tests"
CUTEC_PROGRAMS="$target/release" "${LIT:-lit-22}" -sv test-suite

step "examples in the simulator"
"$target/release/cutec" test --device sim examples/*.cute

step "libcutec"
scripts/capi.sh --test

step "the Python package"
scripts/wheel.sh --test

printf '\nall tests passed\n'
