#!/usr/bin/env bash
# Debian's Squid before an origin, storing nothing.
#
#   apt-get install squid
#   scripts/servers/squid.sh 127.0.0.1:8080 127.0.0.1:9000
set -euo pipefail
listen=$1 origin=$2
# It reads its configuration once.
exec squid -N -f <(cat <<CONF
http_port $listen accel defaultsite=$origin
cache_peer ${origin%:*} parent ${origin##*:} 0 no-query originserver
http_access allow all
cache deny all
access_log none
cache_log /dev/stderr
pid_filename none
shutdown_lifetime 1 second
CONF
)
