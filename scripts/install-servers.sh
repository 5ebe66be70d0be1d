#!/usr/bin/env bash
# Installs the foreign proxies that turnstile can put in the mirror's place, and the tools that look
# at them, from Debian's packages. No service is left running or enabled. Again: changes nothing.
#
#   sudo scripts/install-servers.sh                  all of them
#   sudo scripts/install-servers.sh nginx haproxy    some of them
#   scripts/install-servers.sh --list                what there is, and which version is installed
set -euo pipefail

all=(nginx haproxy caddy apache h2o curl)

usage() {
  echo "usage: install-servers.sh [--list] [${all[*]}]..." >&2
  exit 2
}

package() { # the Debian package of a program
  case "$1" in
    nginx) echo nginx-light ;;
    apache) echo apache2-bin ;; # the program without its service
    haproxy | caddy | h2o | curl) echo "$1" ;;
    *) return 1 ;;
  esac
}

program() { [ "$1" = apache ] && echo apache2 || echo "$1"; }

find_program() { PATH="$PATH:/usr/sbin:/sbin" command -v "$(program "$1")"; }

version() { # one line, or nothing
  local path
  path=$(find_program "$1") || return 0
  case "$1" in
    nginx | haproxy | apache) "$path" -v ;;
    caddy) "$path" version ;;
    h2o | curl) "$path" --version ;;
  esac 2>&1 | sed -n 1p || true
}

versions() {
  local name said
  for name in "$@"; do
    said=$(version "$name")
    printf '%-9s %s\n' "$name" "${said:-not installed (package $(package "$name"))}"
  done
}

list=no
names=()
for word in "$@"; do
  case "$word" in
    --list) list=yes ;;
    -h | --help) usage ;;
    *) package "$word" >/dev/null || usage; names+=("$word") ;;
  esac
done
[ ${#names[@]} -gt 0 ] || names=("${all[@]}")

if [ "$list" = yes ]; then
  versions "${names[@]}"
  exit 0
fi

missing=()
for name in "${names[@]}"; do
  find_program "$name" >/dev/null || missing+=("$name")
done

if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || {
    echo "install-servers.sh knows Debian's packages only; install by other means: ${missing[*]}" >&2
    exit 1
  }
  [ "$(id -u)" = 0 ] || {
    echo "to install ${missing[*]} run it as root: sudo $0 $*" >&2
    exit 1
  }

  # Which units are enabled now: the others that packages enable are ours to disable.
  units() {
    command -v systemctl >/dev/null || return 0
    systemctl list-unit-files --type=service --state=enabled --no-legend 2>/dev/null |
      awk '{print $1}' | sort
  }
  links() { find /etc/rc[2-5].d -name 'S*' 2>/dev/null | sort; }

  # While this file says 101, packages start nothing (invoke-rc.d, policy-rc.d.spec).
  policy=/usr/sbin/policy-rc.d
  kept=
  restore() {
    rm -f "$policy"
    [ -z "$kept" ] || mv "$kept" "$policy"
  }
  trap restore EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if [ -e "$policy" ]; then
    # Into a name of its own only once there is one to put back.
    saved=$(mktemp /usr/sbin/policy-rc.d.XXXXXX)
    mv "$policy" "$saved"
    kept=$saved
  fi
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"

  units_before=$(units)
  links_before=$(links)
  packages=()
  for name in "${missing[@]}"; do packages+=("$(package "$name")"); done
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -y -q --no-install-recommends "${packages[@]}"

  for service in nginx haproxy caddy h2o apache2; do
    unit=$service.service
    if units | grep -qx "$unit" && ! grep -qx "$unit" <<<"$units_before"; then
      systemctl disable "$unit"
    fi
    if links | grep -q "/S..$service\$" && ! grep -q "/S..$service\$" <<<"$links_before"; then
      update-rc.d "$service" disable
    fi
  done
fi

versions "${names[@]}"
for name in "${names[@]}"; do
  find_program "$name" >/dev/null || exit 1
done
