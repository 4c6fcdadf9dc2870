#!/usr/bin/env bash
# libcutec and exports with a plan on this machine's GPU: compiled for it, launched in given streams, results checked, launches timed.
#   libcutec.sh PREFIX [FOLDER]     PREFIX is what scripts/capi.sh installs: include/cutec.h, lib/libcutec.so
# Needs gcc and the driver; with the program `cutec` in CUTEC, in target/release or on the path, a plan is made by `cutec tune`
# (20 seconds, TUNE_SECONDS) and used by libcutec and by an export, which needs ptxas or libnvJitLink. FOLDER gets what is made.
# The exit status is 1 where a result is wrong.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ $# -lt 1 ]; then
  echo "usage: libcutec.sh PREFIX [FOLDER]" >&2
  exit 2
fi
prefix=$(cd "$1" && pwd)
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cutec=${CUTEC:-}
for candidate in "$root/target/release/cutec" "$(command -v cutec || true)"; do
  [ -n "$cutec" ] || [ ! -x "$candidate" ] || cutec=$candidate
done
cc=${CC:-gcc}
flags=(-std=gnu11 -O2 -Wall -I "$prefix/include")
failed=0

plan=()
if [ -n "$cutec" ]; then
  "$cutec" tune "$here/tune.cute" --bench gemm_sizes --arch "${TUNE_ARCH:-sm_90}" --time "${TUNE_SECONDS:-20}" --limit 8 \
    -o "$folder/gemm.plan.json" >"$folder/tune.txt" 2>&1 || { tail -5 "$folder/tune.txt"; failed=1; }
  [ ! -f "$folder/gemm.plan.json" ] || plan=("$here/tune.cute" "$folder/gemm.plan.json")
fi

"$cc" "${flags[@]}" "$here/libcutec.c" "$prefix/lib/libcutec.so" "-Wl,-rpath,$prefix/lib" -ldl -lm -lpthread -o "$folder/libcutec"
"$folder/libcutec" "$root/examples/gemm.cute" "$root/examples/hopper/gemm_sm90.cute" ${plan[@]+"${plan[@]}"} || failed=1

# Exports: the defaults alone, and with the plan. What choosing costs is the difference of their launches.
if [ ${#plan[@]} -gt 0 ]; then
  for library in gemm_default gemm_planned; do
    options=()
    [ $library = gemm_default ] || options=(--plan "${plan[1]}")
    "$cutec" export "$here/tune.cute" --kernel gemm --arch "${TUNE_ARCH:-sm_90}" "${options[@]}" -o "$folder/$library"
    "$cc" "${flags[@]}" -I "$folder" "$here/export.c" "$folder/$library.o" -DHEADER="\"$library.h\"" -DNAME="\"$library\"" \
      "-DLOAD=${library}_load" -DLAUNCH=gemm_launch "-DERROR=${library}_last_error" -lm -ldl -lpthread -o "$folder/$library"
    "$folder/$library" || failed=1
  done
  grep -A12 'A launch takes' "$folder/gemm_planned.h" || true
fi
exit $failed
