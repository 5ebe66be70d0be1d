#!/usr/bin/env bash
# Builds nginx of any version from its source, to be put in the mirror's place with --proxy-bin: of the
# eras that packages no longer have. Nothing is installed. A version that is there already is left.
#
#   scripts/build-nginx.sh 1.17.4 1.17.5                  into target/nginx/VERSION/nginx
#   scripts/build-nginx.sh --source DIR-OR-URL 1.10.3     from another git repository
#   scripts/build-nginx.sh --patch FILE 1.31.4            with a change, into target/nginx/VERSION-FILE/nginx
#
# Then: turnstile --reuseport --proxy nginx --proxy-bin target/nginx/1.17.4/nginx
#
# Plain HTTP/1.1 with nginx's own defaults: no TLS, no rewriting (so no OpenSSL, no PCRE); gzip where
# zlib's header is found. Needs git, make and a C compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

source=https://github.com/nginx/nginx.git
into=$PWD/target/nginx

usage() {
  sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

patch=
versions=()
while [ $# -gt 0 ]; do
  case "$1" in
    --source) [ $# -ge 2 ] || usage; source=$2; shift 2 ;;
    --patch) [ $# -ge 2 ] || usage; patch=$(realpath -e "$2"); shift 2 ;;
    -h | --help) usage ;;
    [0-9]*.[0-9]*.[0-9]*) versions+=("$1"); shift ;;
    *) usage ;;
  esac
done
[ ${#versions[@]} -gt 0 ] || usage
change=${patch:+-$(basename "$patch" .patch)} # a build tells it beside its version
for tool in git make cc; do
  command -v "$tool" >/dev/null || {
    echo "failed to build nginx: $tool is missing (apt-get install git make gcc libc6-dev)" >&2
    exit 1
  }
done

work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

build() { # one version, in $work; errexit does not reach in here, hence the chain
  local without=(--without-http_rewrite_module)
  echo '#include <zlib.h>' | cc -E -xc - >/dev/null 2>&1 || without+=(--without-http_gzip_module)
  git init -q "$work/git" &&
    git -C "$work/git" fetch -q --depth 1 "$source" "refs/tags/release-$1" &&
    mkdir "$work/nginx" &&
    git -C "$work/git" archive FETCH_HEAD | tar -x -C "$work/nginx" &&
    cd "$work/nginx" &&
    { [ -z "$patch" ] || git apply "$patch"; } &&
    # libxcrypt has no such member; nginx left the line out in 1.15.0 (ticket 1469).
    sed -i '/cd\.current_salt\[0\]/d' src/os/unix/ngx_user.c &&
    # Today's compilers warn of what was well then.
    auto/configure --prefix=/nonexistent ${change:+--build="${change#-}"} --with-cc-opt='-O2 -g -Wno-error' "${without[@]}" >log 2>&1 &&
    make -j"$(nproc)" >>log 2>&1
}

for version in "${versions[@]}"; do
  binary=$into/$version$change/nginx
  if [ ! -x "$binary" ]; then
    work=$(mktemp -d)
    (build "$version") || {
      [ ! -e "$work/nginx/log" ] || tail -20 "$work/nginx/log" >&2
      echo "failed to build nginx $version$change of $source" >&2
      exit 1
    }
    mkdir -p "$into/$version$change"
    # Whole or not at all.
    cp "$work/nginx/objs/nginx" "$binary.new"
    mv "$binary.new" "$binary"
    rm -rf "$work"
    work=
  fi
  printf '%-9s %s\n' "$version$change" "$binary"
done
