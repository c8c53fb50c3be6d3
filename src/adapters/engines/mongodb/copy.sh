#!/bin/sh
# Copies collections of one database of MongoDB: they are read by mongodump, which knows every form of the source's
# address, and restored in a server that listens to a socket alone.
#
# Variables and exit codes: shared/start.sh. The address with its credentials is in a file, so that no list of processes
# shows it.

. "$(dirname "$0")/../shared/start.sh"

export LC_ALL=C
. "$(dirname "$0")/../shared/decode.sh"

# The source, by its URL or by its parts. A branch that begins empty takes its database's name alone.
unread() { [ "$reads_source" = 0 ] || fail "$1"; }
source_database=${SOURCE_DATABASE-}
set --
quoted_value() { printf '"%s"' "$(printf %s "$1" | sed 's/["\\]/\\&/g')"; }
mkdir -p "$STAGING"
rm -rf "${STAGING:?}"/*
case ${SOURCE_URL-} in
  *[[:space:]]*) unread "the source's URL has a space: it must be percent-encoded" ;;
  "")
    [ -n "${SOURCE_HOST-}" ] || unread "the source's address has no host"
    set -- --host="${SOURCE_HOST-}" --port="${SOURCE_PORT:-27017}"
    [ -z "${SOURCE_USER-}" ] || set -- "$@" --username="$SOURCE_USER" --authenticationDatabase=admin
    say "password: $(quoted_value "${SOURCE_PASSWORD-}")" > "$STAGING/source"
    ;;
  mongodb://* | mongodb+srv://*)
    # The tool takes the milliseconds of these parameters for seconds.
    url=$(printf %s "$SOURCE_URL" | sed 's/\([?&]\)\(connect\|socket\|serverSelection\)TimeoutMS=[^&]*/\1/Ig')
    say "uri: $(quoted_value "$url")" > "$STAGING/source"
    place=${SOURCE_URL#*://}
    place=${place%%\?*}
    case $place in
      */*) decode "${place#*/}" ;;
      *) text= ;;
    esac
    source_database=$text
    # The tool would look for the user in the database that it copies, where drivers look in admin.
    case $source_database:$(printf %s "$SOURCE_URL" | tr '[:upper:]' '[:lower:]') in
      *[?\&]authsource=* | *[?\&]authmechanism=[!s]*) ;;
      :*@*) set -- --authenticationDatabase=admin ;;
    esac
    ;;
  *) unread "the source's URL has no form that can be read: it must begin with mongodb:// or mongodb+srv://" ;;
esac
source_database=${source_database:-${DATABASE_NAME-}}
database=${DATABASE_NAME:-$source_database}
case $source_database in
  "") unread "the source's address names no database: spec.databaseName must name it" ;;
  admin | config | local | *[.*$/]*) unread "the source's address has no name of a database that can be copied" ;;
esac

# What a tool says, without the address of the source, which has credentials.
tell() {
  sed 's#mongodb[+a-z]*://[^ ]*#the address#g; s/^[-0-9T:.+Z]*[[:space:]]//' "$STAGING/log" | tail -n 5 >&2
  exit 1
}
dump() {
  mongodump --config="$STAGING/source" --serverSelectionTimeout=10 "$@" < /dev/null > "$STAGING/log" 2>&1 || tell
}
is_any_file() {
  for file; do [ ! -f "$file" ] || return 0; done
  return 1
}

# Single collections, and the others where the mode says so.
every='{}'
name=
filter=
number=0
[ "$reads_source" = 0 ] || set -- "$@" --db="$source_database"
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  eval "name=\$COPY_ITEM_$number"
  eval "filter=\${COPY_FILTER_$number-}"
  printf %s "${filter:-$every}" > "$STAGING/filter"
  dump "$@" --collection="$name" --queryFile="$STAGING/filter" --out="$STAGING/part-$number"
  is_any_file "$STAGING/part-$number"/*/*.bson ||
    fail "the source has no collection $name with documents of its own in $source_database"
  number=$((number + 1))
done
if [ "$COPY_MODE" = all ]; then
  while [ "$number" -gt 0 ]; do
    number=$((number - 1))
    eval "name=\$COPY_ITEM_$number"
    set -- "$@" --excludeCollection="$name"
  done
  dump "$@" --out="$STAGING/part-all"
  # The tool takes a database that is not there for an empty one.
  [ "${COPY_ITEMS:-0}" != 0 ] || is_any_file "$STAGING/part-all"/*/*.bson "$STAGING/part-all"/*/*.metadata.json ||
    fail "the source has no database $source_database with collections"
fi

# A copy that was cut off is begun again.
rm -rf "$DATA"
mkdir "$DATA"
mongod --dbpath "$DATA" --bind_ip "$STAGING/m.sock" --unixSocketPrefix "$STAGING" > "$STAGING/server.log" 2>&1 &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
server_lives() { kill -0 "$server_id" 2> /dev/null || { tail -n 3 "$STAGING/server.log" >&2; exit 1; }; }
until [ -S "$STAGING/m.sock" ]; do
  server_lives
  sleep 0.1
done
socket=mongodb://$(printf %s "$STAGING/m.sock" | sed 's#/#%2F#g')/
for folder in "$STAGING/"part-*; do
  [ -d "$folder" ] || continue
  mongorestore --uri="$socket" --stopOnError --nsFrom="$source_database.*" --nsTo="$database.*" --dir="$folder" \
    < /dev/null > "$STAGING/log" 2>&1 || tell
done
# The program keeps files in its home.
create_user() {
  HOME=$STAGING/home mongosh "$socket" --quiet --norc --eval 'db.getSiblingDB("admin").createUser(
    { user: "root", pwd: process.env.BRANCH_PASSWORD, roles: ["root"] })' < /dev/null > "$STAGING/log" 2>&1
}
# The server has its socket before it listens, and this program, unlike the others, does not wait for that.
until create_user; do
  grep -q ECONNREFUSED "$STAGING/log" || tell
  server_lives
  sleep 0.2
done
trap - EXIT
kill "$server_id"
wait "$server_id" || { tail -n 3 "$STAGING/server.log" >&2; exit 1; }
rm -rf "${STAGING:?}"/*
