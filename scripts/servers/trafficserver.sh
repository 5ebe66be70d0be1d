#!/usr/bin/env bash
# Debian's Traffic Server before an origin, storing nothing.
#
#   apt-get install trafficserver
#   scripts/servers/trafficserver.sh 8080 127.0.0.1:9000 2      port, origin, threads
set -euo pipefail
port=$1 origin=$2 threads=$3
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
cp -r /etc/trafficserver "$base/etc"
mkdir "$base/run"
# It gives up root.
chmod 755 "$base"
chmod 777 "$base/run"
cat >"$base/etc/records.config" <<CONF
CONFIG proxy.config.http.server_ports STRING $port:ip-in=127.0.0.1
CONFIG proxy.config.http.cache.http INT 0
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT $threads
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.admin.user_id STRING nobody
CONF
echo "map / http://$origin/" >"$base/etc/remap.config"
: >"$base/etc/storage.config"
cat >"$base/runroot.yaml" <<CONF
prefix: $base
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: $base/etc
datadir: $base/run
includedir: /usr/include
libdir: /usr/lib
libexecdir: /usr/lib/trafficserver/modules
localstatedir: $base/run
runtimedir: $base/run
logdir: $base/run
cachedir: $base/run
CONF
traffic_server --run-root="$base/runroot.yaml" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" || true; rm -rf "$base"' EXIT
trap 'exit 143' TERM INT
wait "$server"
