#!/usr/bin/env bash
# Makes target/handout, what is handed out of a version:
#   cutec-VERSION-x86_64-linux.tar.gz      the programs, which need nothing but glibc 2.34, with manual pages, completions of shells,
#                                          examples and documents
#   libcutec-VERSION-x86_64-linux.tar.gz   header and library for C and C++
#   cutec-VERSION-*.whl                    the Python package
#   cute-VERSION.vsix                      the extension for VS Code
#   SHA256SUMS
#
#   scripts/release.sh [--bolt] [PART…]    PART: programs, library, wheel, extension; all of them unless some are named
#
# With --bolt the code of `cutec` is laid out by scripts/bolt.sh. The extension is packed by npm. `scripts/try_release.sh` tries each on a bare
# Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bolt=
parts=()
for argument in "$@"; do
  case $argument in
    --bolt) bolt=--bolt ;;
    programs | library | wheel | extension) parts+=("$argument") ;;
    *)
      printf 'release: unknown argument %s\n' "$argument" >&2
      exit 1
      ;;
  esac
done
[ ${#parts[@]} != 0 ] || parts=(programs library wheel extension)
wanted() { [[ " ${parts[*]} " == *" $1 "* ]]; }

# shellcheck disable=SC2086
scripts/setup.sh $bolt
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
target=$(cargo metadata --no-deps --format-version 1 |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | sed -n 1p)
machine=$(uname -m)-linux
out=$target/handout
mkdir -p "$out"
work=$(mktemp -d "$target/handout.XXXXXX")
trap 'rm -rf "$work"' EXIT

step() { printf '\n== %s\n' "$*"; }
die() {
  printf 'release: %s\n' "$*" >&2
  exit 1
}

# needs_only_glibc FILE: what is loaded with it, and which glibc it asks for.
needs_only_glibc() {
  local needed versions newest
  needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|ld-linux-aarch64)\.so\.[0-9]+$' || true)
  [ -z "$needed" ] || die "$1 needs $needed"
  versions=$(objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu)
  newest=$(printf '%s\nGLIBC_2.34\n' "$versions" | sort -V | tail -n 1)
  [ "$newest" = GLIBC_2.34 ] || die "$1 needs $newest, expected GLIBC_2.34 at most"
  printf '%s: %s bytes\n' "$(basename "$1")" "$(stat -c %s "$1")"
}

# pack FOLDER: FOLDER of $work as an archive that is the same for the same files.
pack() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C "$work" -czf "$out/$1.tar.gz" "$1"
}

# What `cutec --version` says.
CUTEC_COMMIT=$(git rev-parse --short HEAD)
export CUTEC_COMMIT
arguments=$(scripts/portable.sh "$target/portable")
mapfile -t portable <<<"$arguments"

if wanted programs; then
  step "programs"
  name=cutec-$version-$machine
  mkdir -p "$work/$name/bin" "$work/$name/examples"
  for program in cute-opt cute-lsp-server; do
    cargo rustc --release -p cutec-driver --bin "$program" -- "${portable[@]}"
  done
  if [ -n "$bolt" ]; then
    scripts/bolt.sh "${portable[@]}"
    cp "$target/shipped/cutec" "$work/$name/bin"
  else
    cargo rustc --release -p cutec-driver --bin cutec -- "${portable[@]}"
    cp "$target/release/cutec" "$work/$name/bin"
  fi
  for program in cutec-launch cutec-sim cutec-bench; do
    cargo rustc --release -p cutec-runtime --bin "$program" -- "${portable[@]}"
  done
  cp "$target"/release/{cute-opt,cute-lsp-server,cutec-launch,cutec-sim,cutec-bench} "$work/$name/bin"
  for program in "$work/$name"/bin/*; do
    strip "$program"
    needs_only_glibc "$program"
  done
  share=$work/$name/share
  mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
  "$work/$name/bin/cutec" man -o "$share/man/man1"
  "$work/$name/bin/cutec" completions bash >"$share/bash-completion/completions/cutec"
  "$work/$name/bin/cutec" completions zsh >"$share/zsh/site-functions/_cutec"
  "$work/$name/bin/cutec" completions fish >"$share/fish/vendor_completions.d/cutec.fish"
  cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/$name"
  cp -r docs "$work/$name"
  cp -r examples/*.cute examples/attention examples/hopper examples/sequence examples/README.md "$work/$name/examples"
  pack "$name"
fi

if wanted library; then
  step "libcutec"
  name=libcutec-$version-$machine
  scripts/capi.sh --portable "$work/$name"
  needs_only_glibc "$work/$name"/lib/libcutec.so.*
  cp LICENSE-APACHE LICENSE-MIT docs/c.md "$work/$name"
  pack "$name"
fi

if wanted wheel; then
  step "wheel"
  scripts/wheel.sh
  cp "$target"/wheels/cutec-"$version"-*.whl "$out"
fi

if wanted extension; then
  step "extension"
  # Links within are followed: an extension is a folder by itself.
  cp -rL editors/vscode "$work/extension"
  cp LICENSE-MIT "$work/extension/LICENSE"
  cp editors/README.md "$work/extension/README.md"
  (cd "$work/extension" && npm install --omit=dev --no-audit --no-fund --silent &&
    npx --yes @vscode/vsce@3 package --out "$work/extension.vsix" >/dev/null)
  cp "$work/extension.vsix" "$out/cute-$(sed -n 's/.*"version": "\(.*\)".*/\1/p' editors/vscode/package.json).vsix"
fi

step "handed out"
(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS && cat SHA256SUMS)
