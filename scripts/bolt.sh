#!/usr/bin/env bash
# Makes target/shipped/cutec: the program of target/release with its code laid out by LLVM's BOLT after linking, by a profile of the
# examples. It compiles in a tenth less time. `scripts/release.sh --bolt` hands it out.
#   scripts/bolt.sh [ARGUMENTS]     further arguments for rustc, as scripts/portable.sh prints them
#
# After the build it takes about four minutes and 2 GB of disk for the while. Tried on x86-64 only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh --bolt
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
llvm=${MLIR_SYS_220_PREFIX:-/usr/lib/llvm-22}/bin

# On the file system of the result, so that renaming it is one step.
mkdir -p "$target"
work=$(mktemp -d "$target/shipped.XXXXXX")
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %s\n' "$*"; }
bolt() {
  "$llvm/llvm-bolt" "$@" >"$work/log" 2>&1 || {
    tail -n 20 "$work/log" >&2
    exit 1
  }
}

# compile PROGRAM SOURCE ARCH FOLDER: the PTX goes to FOLDER.
compile() { (cd "$4" && "$1" "$2" --arch "$3" -o out.ptx); }

step "programs"
# BOLT moves functions by the linker's relocations. Cargo keeps the two links apart, and the second
# command leaves the program as it is otherwise in target/release.
cargo rustc --release -p cutec-driver --bin cutec -- "$@" -C link-arg=-Wl,--emit-relocs -C strip=none
cp "$target/release/cutec" "$work/linked"
cargo rustc --release -p cutec-driver --bin cutec -- "$@"

step "instrumented program"
# cutec ends by _exit, where what BOLT writes at exit is not written. With an interval BOLT starts a
# second process beside each run, which shares the counters and writes them when the run is over. The
# interval itself is never reached. The profile has a relative name: each run has a folder.
bolt "$work/linked" -o "$work/instrumented" -instrument -instrumentation-file=profile \
  -instrumentation-binpath="$work/instrumented" \
  -instrumentation-sleep-time=1000000 -instrumentation-no-counters-clear

step "profile of the examples"
# Those that any target takes are compiled for one of two, in turn; the rest is for Hopper.
# `cat` ends when the last of the second processes has closed the pipe.
archs=(sm_80 sm_90a)
any=("$PWD"/examples/*.cute)
hopper=("$PWD"/examples/{hopper/{gemm_sm90,gemm_epilogues,gemm_weights},attention/attention_{sm90,variants_sm90}}.cute)
count=0
for source in "${any[@]}" "${hopper[@]}"; do
  folder=$work/profiles/$count
  mkdir -p "$folder"
  arch=sm_90a
  [ "$count" -lt "${#any[@]}" ] && arch=${archs[count % 2]}
  compile "$work/instrumented" "$source" "$arch" "$folder"
  count=$((count + 1))
done | cat
"$llvm/merge-fdata" "$work"/profiles/*/profile >"$work/profile" 2>"$work/log"
rm -rf "$work/profiles"

step "optimised program"
# Frame optimisation, inlining, promotion of indirect calls, jump tables moved, PLT calls, peepholes and
# splitting of landing pads were measured with these: none gave 1 %. Only functions whose address nobody
# takes are folded: others may be told apart by it. What BOLT would note of this command names this machine.
bolt "$work/linked" -o "$work/cutec" -data="$work/profile" -bolt-info=0 -icf=safe \
  -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-all-cold

step "the same PTX"
mkdir "$work/plain" "$work/shipped"
same() {
  compile "$target/release/cutec" "$1" "$2" "$work/plain"
  compile "$work/cutec" "$1" "$2" "$work/shipped"
  cmp "$work/plain/out.ptx" "$work/shipped/out.ptx"
}
for source in "${any[@]}"; do same "$source" sm_80; done
for source in "${any[@]}" "${hopper[@]}"; do same "$source" sm_90a; done

mkdir -p "$target/shipped"
mv "$work/cutec" "$target/shipped/cutec"
printf '\n%s\n' "$target/shipped/cutec"
