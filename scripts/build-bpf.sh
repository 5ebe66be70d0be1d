#!/usr/bin/env bash
# Compiles the probe's programs for the kernel, with clang 14 or later (Debian's package clang):
#   scripts/build-bpf.sh           writes crates/probe/bpf/*.o and the hash of their source
#   scripts/build-bpf.sh --check   whether the objects are made from the source; where this is the clang
#                                  that made them, whether they come out the same
set -euo pipefail
cd "$(dirname "$0")/../crates/probe/bpf"

clang=${CLANG:-clang}
strip=${LLVM_STRIP:-llvm-strip}
command -v "$clang" >/dev/null || { clang=clang-14 strip=llvm-strip-14; }

hash_of_source() { cat kernel.h probe.bpf.c | sha256sum | cut -d' ' -f1; }
hash_of_objects() { cat probe.x86_64.o probe.aarch64.o | sha256sum | cut -d' ' -f1; }

build() { # ARCH MACRO FILE
  "$clang" -O2 -g -Wall -Werror -target bpf -mcpu=v3 "-D__TARGET_ARCH_$2" -fdebug-prefix-map="$PWD"=. \
    -c probe.bpf.c -o "$3"
  # Types are read by the kernel (BTF), lines of the source by nobody.
  "$strip" --strip-debug "$3"
}

made_by() { "$clang" --version | head -1; }

if [ "${1:-}" = --check ]; then
  { read -r source; read -r objects; read -r built; } <probe.sum
  [ "$source" = "$(hash_of_source)" ] || { echo "crates/probe/bpf has changed: run scripts/build-bpf.sh" >&2; exit 1; }
  [ "$objects" = "$(hash_of_objects)" ] || { echo "the objects in crates/probe/bpf are not those of probe.sum" >&2; exit 1; }
  command -v "$clang" >/dev/null || { echo "no clang: the objects were not compiled again"; exit 0; }
  [ "$built" = "$(made_by)" ] || { echo "made by another clang ($built): the objects were not compiled again"; exit 0; }
  scratch=$(mktemp -d)
  trap 'rm -r "$scratch"' EXIT
  build x86_64 x86 "$scratch/x86_64.o"
  build aarch64 arm64 "$scratch/aarch64.o"
  for arch in x86_64 aarch64; do
    cmp "probe.$arch.o" "$scratch/$arch.o"
  done
  exit 0
fi
build x86_64 x86 probe.x86_64.o
build aarch64 arm64 probe.aarch64.o
{ hash_of_source; hash_of_objects; made_by; } >probe.sum
