#!/usr/bin/env bash
# Packs every crate that is published, in the order of their dependencies, as `cargo publish` would, and looks at what is in each:
# the licences, a README, what its manifest has to say, no tests. Nothing is uploaded. With --verify each one is built from its
# package too, which takes as long as a first build of everything; with --verify-light those are that link no MLIR, which takes minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
verified=none
case ${1:-} in
  '') ;;
  --verify) verified=all ;;
  --verify-light) verified=light ;;
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
packages = {package["name"]: package for package in metadata["packages"]}
def links_mlir(name):
    if name not in packages:
        return name in ("melior", "mlir-sys")
    kinds = [dependency for dependency in packages[name]["dependencies"] if dependency["kind"] != "dev"]
    return any(links_mlir(dependency["name"]) for dependency in kinds)
for package in metadata["packages"]:
    if package["publish"] == []:
        continue
    print(package["name"], package["version"], "heavy" if links_mlir(package["name"]) else "light")
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

names=() built=() packed=()
while read -r name _ weight; do
  names+=(-p "$name")
  case $verified:$weight in
    all:* | light:light) built+=(-p "$name") ;;
    *) packed+=(-p "$name") ;;
  esac
done < <(tail -n +2 <<<"$crates")
# Changes that are not committed are packed too, so that the check runs before a commit.
if [ ${#built[@]} -gt 0 ]; then
  cargo publish --dry-run --quiet --allow-dirty "${built[@]}"
  printf 'built from their packages: %s\n' "$(printf '%s\n' "${built[@]}" | grep -v '^-p$' | paste -sd ' ')"
fi
if [ ${#packed[@]} -gt 0 ]; then
  # Those above too: what is packed here may depend on them.
  cargo publish --dry-run --quiet --allow-dirty --no-verify "${names[@]}"
fi
# The same packages, which the command before does not leave behind.
cargo package --quiet --allow-dirty --no-verify "${names[@]}"

tail -n +2 <<<"$crates" | while read -r name version _; do
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
