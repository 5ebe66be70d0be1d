#!/usr/bin/env bash
# Makes what people install who have no Rust toolchain: a static binary with completions and manual
# page as an archive, a Debian package, and with podman a container image.
#
#   scripts/package.sh                       # for x86-64
#   scripts/package.sh aarch64-unknown-linux-musl
#
# All of it goes to target/package. The script needs rustup's target (it adds it), dpkg-deb for the
# Debian package and podman for the image; what is missing is told and left out.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-x86_64-unknown-linux-musl}
case $target in
  x86_64-unknown-linux-musl) debian=amd64 ;;
  aarch64-unknown-linux-musl) debian=arm64 ;;
  *)
    echo "no such target: $target (x86_64-unknown-linux-musl or aarch64-unknown-linux-musl)" >&2
    exit 2
    ;;
esac
version=$(cargo metadata --no-deps --format-version 1 --locked |
  python3 -c 'import json, sys; print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "harness"))')
name=turnstile-$version-${target%%-*}
out=$PWD/target/package
tree=$out/$name
rm -rf "$tree"
mkdir -p "$tree"

# Builds for that target; its binary's path is then in $binary.
build() {
  rustup target add "$1" 2>/dev/null ||
    echo "no rustup here: the standard library for $1 must be there already" >&2
  # The linker that comes with Rust knows both machines; musl's start files come with the target.
  local linker
  linker=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$1")_LINKER
  env "$linker=rust-lld" cargo build --release -p harness --locked --target "$1"
  binary=${CARGO_TARGET_DIR:-target}/$1/release/turnstile
}
build "$target"
cp "$binary" LICENSE README.md "$tree"

# Completions and manual page are the same for every machine: where the binary does not run, that of this
# machine's own package prints them.
"$binary" --version >/dev/null 2>&1 || build "$(uname -m)-unknown-linux-musl"
mkdir "$tree/completions"
"$binary" completions bash >"$tree/completions/turnstile.bash"
"$binary" completions zsh >"$tree/completions/_turnstile"
"$binary" completions fish >"$tree/completions/turnstile.fish"
"$binary" man >"$tree/turnstile.1"
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/$name.tar.gz" "$name"
echo "$out/$name.tar.gz"

if command -v dpkg-deb >/dev/null; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  install -D -m 755 "$tree/turnstile" "$root/usr/bin/turnstile"
  install -D -m 644 "$tree/completions/turnstile.bash" "$root/usr/share/bash-completion/completions/turnstile"
  install -D -m 644 "$tree/completions/_turnstile" "$root/usr/share/zsh/vendor-completions/_turnstile"
  install -D -m 644 "$tree/completions/turnstile.fish" "$root/usr/share/fish/vendor_completions.d/turnstile.fish"
  install -D -m 644 "$tree/turnstile.1" "$root/usr/share/man/man1/turnstile.1"
  gzip -9n "$root/usr/share/man/man1/turnstile.1"
  install -D -m 644 LICENSE "$root/usr/share/doc/turnstile/copyright"
  mkdir "$root/DEBIAN"
  cat >"$root/DEBIAN/control" <<CONTROL
Package: turnstile
Version: $version
Architecture: $debian
Maintainer: The Turnstile authors <turnstile@localhost>
Section: net
Priority: optional
Suggests: nginx, haproxy
Description: reproduces and explains fast-connection starvation in event-loop servers
 One download that never runs dry holds a worker of an event-loop server, and
 every short request of that worker waits. This program makes that happen,
 names what held each request, and names who holds a worker of a live server.
CONTROL
  chmod -R g-w "$root"
  dpkg-deb --root-owner-group --build "$root" "$out/turnstile_${version}_$debian.deb"
else
  echo "no dpkg-deb: no Debian package" >&2
fi

if ! command -v podman >/dev/null; then
  echo "no podman: no container image" >&2
elif [ "$debian" = amd64 ]; then
  podman build --quiet --file Containerfile --tag "turnstile:$version" "$tree" >/dev/null
  podman save --quiet --output "$out/$name-image.tar" "turnstile:$version"
  echo "$out/$name-image.tar"
fi
