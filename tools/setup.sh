#!/usr/bin/env bash
# Installs what loopless is built and run with, where something is missing (Debian, Ubuntu).
# Usage: tools/setup.sh [--ci]        --ci: also what the checks of .ci/run need
set -euo pipefail

# What must be there, and the Debian package that brings it.
programs=(g++:g++ make:make python3:python3 bible:bible-kjv)
headers=(oneapi/dnnl/dnnl.hpp:libdnnl-dev CLI/CLI.hpp:libcli11-dev
         nlohmann/json.hpp:nlohmann-json3-dev gtest/gtest.h:libgtest-dev
         zlib.h:zlib1g-dev png.h:libpng-dev)
case "${1:-}" in
  "") ;;
  --ci)
    ci=1
    programs+=(clang++:clang clang-format:clang-format qemu-x86_64:qemu-user)
    ;;
  *)
    sed -n '2,3s/^# //p' "$0" >&2
    exit 2
    ;;
esac

missing=()
for entry in "${programs[@]}"; do
  command -v "${entry%%:*}" >/dev/null || missing+=("${entry#*:}")
done
[ -z "${ci:-}" ] || compgen -G '/usr/lib/llvm-*/lib/libomp.so' >/dev/null || missing+=(libomp-dev)

# One run of the preprocessor names the package of every header that it does not find. Without a
# compiler all are asked for: installing one that is there is harmless.
if command -v g++ >/dev/null; then
  missing+=($(
    for entry in "${headers[@]}"; do
      printf '#if !__has_include(<%s>)\n%s\n#endif\n' "${entry%%:*}" "${entry#*:}"
    done | g++ -E -P -x c++ -
  ))
else
  missing+=("${headers[@]#*:}")
fi
/usr/bin/python3 -c 'import importlib.util as u, sys; sys.exit(not u.find_spec("matplotlib"))' \
  2>/dev/null || missing+=(python3-matplotlib)

[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
if ! command -v apt-get >/dev/null || ! command -v "${as_root[0]:-env}" >/dev/null; then
  echo "setup: please install (names of the Debian packages): ${missing[*]}" >&2
  exit 1
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
echo "setup: reading the package lists"
"${apt[@]}" update
echo "setup: installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  echo "setup: apt-get could not install ${missing[*]}; its messages are above" >&2
  exit 1
fi
echo "setup: done"
