#!/usr/bin/env bash
# Fuzzes one target, on stable Rust:  fuzz/run.sh TARGET SECONDS [libFuzzer's options…]
#
# The corpus is made by seeds.py from this repository's own tests, and grows in target/fuzz/corpus.
# Inputs that break something are left in target/fuzz/artifacts; exit code 1 then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${1:?usage: fuzz/run.sh TARGET SECONDS [libFuzzer options]}
seconds=${2:?usage: fuzz/run.sh TARGET SECONDS [libFuzzer options]}
shift 2
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"

features=libfuzzer
case $target in cute_source | mlir_text) features=libfuzzer,mlir ;; esac
host=$(rustc -vV | sed -n 's/^host: //p')
llvm() { printf -- '-Cllvm-args=-sanitizer-coverage-%s ' "$@"; }
# As cargo-fuzz does it, without a sanitizer, which stable Rust does not have, and with as many units of code as else: the targets with MLIR
# are built in three quarters of the time, and count the same places.
flags="--cfg fuzzing -Cpasses=sancov-module $(llvm level=4 inline-8bit-counters pc-table trace-compares)"
flags+=" -Cdebug-assertions=on -Coverflow-checks=on"
# With --target these flags are for what runs; build scripts and macros are those that `cargo build --release` has made.
CARGO_TARGET_DIR=target RUSTFLAGS="$flags" \
  cargo build --release -p cutec-fuzz --bin "$target" --no-default-features --features "$features" --target "$host"

corpus=target/fuzz/corpus/$target
artifacts=target/fuzz/artifacts/$target
mkdir -p "$corpus" "$artifacts"
python3 fuzz/seeds.py "$target" "target/fuzz/seeds/$target"
exec "target/$host/release/$target" "$corpus" "target/fuzz/seeds/$target" "fuzz/regressions/$target" \
  -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 -max_len=8192 -artifact_prefix="$artifacts/" "$@"
