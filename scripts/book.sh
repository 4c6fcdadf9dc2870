#!/usr/bin/env bash
# Builds the book, target/book/index.html, by mdBook, which is built into target/mdbook the first time unless it is installed.
# What it shows is tested without it: test-suite/book.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
mdbook=$(command -v mdbook || true)
if [ -z "$mdbook" ]; then
  mdbook=target/mdbook/bin/mdbook
  [ -x "$mdbook" ] || cargo install --locked --no-default-features --features search --version '^0.5' --root target/mdbook mdbook
fi
"$mdbook" build
printf '%s\n' "$PWD/target/book/index.html"
