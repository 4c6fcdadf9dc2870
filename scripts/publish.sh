#!/usr/bin/env bash
# Packs every crate that is published, in the order of their dependencies, as `cargo publish` would, and looks at what is in each:
# the licences, a README, what its manifest has to say, no tests. Nothing is uploaded. With --verify each one is built from its
# package too, which takes as long as a first build of everything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
case ${1:-} in
  '') flags=(--no-verify) ;;
  --verify) flags=() ;;
  *)
    printf 'publish: unknown argument %s\n' "$1" >&2
    exit 1
    ;;
esac

crates=$(cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
metadata = json.load(sys.stdin)
print(metadata["target_directory"])
wrong = []
for package in metadata["packages"]:
    if package["publish"] == []:
        continue
    print(package["name"], package["version"])
    for field in ("description", "license", "repository", "documentation", "keywords", "categories", "readme", "rust_version"):
        if not package[field]:
            wrong.append(package["name"] + " has no " + field)
    for dependency in package["dependencies"]:
        if dependency.get("path") and dependency["kind"] != "dev" and dependency["req"] == "*":
            wrong.append(package["name"] + " takes any version of " + dependency["name"])
if wrong:
    sys.exit("publish: " + "; ".join(wrong))
')
target=$(head -n 1 <<<"$crates")

names=()
while read -r name _; do names+=(-p "$name"); done < <(tail -n +2 <<<"$crates")
# Changes that are not committed are packed too, so that the check runs before a commit.
cargo publish --dry-run --quiet --allow-dirty "${flags[@]}" "${names[@]}"
# The same packages, which the command before does not leave behind.
cargo package --quiet --allow-dirty --no-verify "${names[@]}"

tail -n +2 <<<"$crates" | while read -r name version; do
  files=$(tar tzf "$target/package/$name-$version.crate")
  for file in LICENSE-APACHE LICENSE-MIT README.md Cargo.toml; do
    grep -qx "$name-$version/$file" <<<"$files" || {
      printf 'publish: %s has no %s\n' "$name" "$file" >&2
      exit 1
    }
  done
  # A link to a licence would end at the borders of the package.
  if tar tvzf "$target/package/$name-$version.crate" | grep -q '^l'; then
    printf 'publish: %s has links\n' "$name" >&2
    exit 1
  fi
  printf '%s %s: %s files\n' "$name" "$version" "$(wc -l <<<"$files")"
done
