#!/usr/bin/env bash
# What threads.go does, on Debian's Tomcat 10: two JSPs, and five things that make its requests late.
#
#   apt-get install tomcat10
#   PORT=8080 WHAT=lock scripts/servers/tomcat/run.sh
#
# THREADS is how many threads Tomcat may have: 200 unless said, as its own default is.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
mkdir -p "$base"/{conf,logs,temp,work} "$base/webapps/ROOT"
cp "$here"/*.jsp "$base/webapps/ROOT"
cp /etc/tomcat10/web.xml "$base/conf"
cat >"$base/conf/server.xml" <<XML
<Server port="-1">
  <Service name="Catalina">
    <Connector port="$PORT" address="127.0.0.1" maxThreads="${THREADS:-200}" />
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="webapps" />
    </Engine>
  </Service>
</Server>
XML
CATALINA_BASE=$base /usr/share/tomcat10/bin/catalina.sh run &
tomcat=$!
trap 'kill "$tomcat" 2>/dev/null; wait "$tomcat" || true; rm -rf "$base"' EXIT
trap 'exit 143' TERM INT
wait "$tomcat"
