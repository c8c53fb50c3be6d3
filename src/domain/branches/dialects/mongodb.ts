/**
 * Branches of MongoDB. The collections of one database of the source are read by `mongodump`, which knows every form of
 * the source's address, and restored in a server that listens to a socket alone.
 *
 * Not here: the variables that these scripts read (branch-pod.ts).
 */

import * as Result from "effect/Result"
import { isObject } from "../../json.ts"
import type { AddressForm, CopiedPart, Dialect } from "../dialect.ts"
import { decoding, scriptStart } from "./copy-script.ts"

/** The source's address with its credentials is in a file, so that no list of processes shows it. */
const copyScript = `${scriptStart(["URL", "HOST", "PORT", "USER", "PASSWORD", "DATABASE"])}
export LC_ALL=C
${decoding}

# The source, by its URL or by its parts. A branch that begins empty takes its database's name alone.
unread() { [ "$reads_source" = 0 ] || fail "$1"; }
source_database=\${SOURCE_DATABASE-}
set --
quoted_value() { printf '"%s"' "$(printf %s "$1" | sed 's/["\\\\]/\\\\&/g')"; }
mkdir -p "$STAGING"
rm -rf "\${STAGING:?}"/*
case \${SOURCE_URL-} in
  *[[:space:]]*) unread "the source's URL has a space: it must be percent-encoded" ;;
  "")
    [ -n "\${SOURCE_HOST-}" ] || unread "the source's address has no host"
    set -- --host="\${SOURCE_HOST-}" --port="\${SOURCE_PORT:-27017}"
    [ -z "\${SOURCE_USER-}" ] || set -- "$@" --username="$SOURCE_USER" --authenticationDatabase=admin
    say "password: $(quoted_value "\${SOURCE_PASSWORD-}")" > "$STAGING/source"
    ;;
  mongodb://* | mongodb+srv://*)
    # The tool takes the milliseconds of these parameters for seconds.
    url=$(printf %s "$SOURCE_URL" | sed 's/\\([?&]\\)\\(connect\\|socket\\|serverSelection\\)TimeoutMS=[^&]*/\\1/Ig')
    say "uri: $(quoted_value "$url")" > "$STAGING/source"
    place=\${SOURCE_URL#*://}
    place=\${place%%\\?*}
    case $place in
      */*) decode "\${place#*/}" ;;
      *) text= ;;
    esac
    source_database=$text
    # The tool would look for the user in the database that it copies, where drivers look in admin.
    case $source_database:$(printf %s "$SOURCE_URL" | tr A-Z a-z) in
      *[?\\&]authsource=* | *[?\\&]authmechanism=[!s]*) ;;
      :*@*) set -- --authenticationDatabase=admin ;;
    esac
    ;;
  *) unread "the source's URL has no form that can be read: it must begin with mongodb:// or mongodb+srv://" ;;
esac
source_database=\${source_database:-\${DATABASE_NAME-}}
database=\${DATABASE_NAME:-$source_database}
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
number=0
[ "$reads_source" = 0 ] || set -- "$@" --db="$source_database"
while [ "$number" -lt "\${COPY_ITEMS:-0}" ]; do
  eval "name=\\$COPY_ITEM_$number"
  eval "filter=\\\${COPY_FILTER_$number-}"
  printf %s "\${filter:-$every}" > "$STAGING/filter"
  dump "$@" --collection="$name" --queryFile="$STAGING/filter" --out="$STAGING/part-$number"
  is_any_file "$STAGING/part-$number"/*/*.bson ||
    fail "the source has no collection $name with documents of its own in $source_database"
  number=$((number + 1))
done
if [ "$COPY_MODE" = all ]; then
  while [ "$number" -gt 0 ]; do
    number=$((number - 1))
    eval "name=\\$COPY_ITEM_$number"
    set -- "$@" --excludeCollection="$name"
  done
  dump "$@" --out="$STAGING/part-all"
  # The tool takes a database that is not there for an empty one.
  [ "\${COPY_ITEMS:-0}" != 0 ] || is_any_file "$STAGING/part-all"/*/*.bson "$STAGING/part-all"/*/*.metadata.json ||
    fail "the source has no database $source_database with collections"
fi

# A copy that was cut off is begun anew.
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
  mongorestore --uri="$socket" --stopOnError --nsFrom="$source_database.*" --nsTo="$database.*" --dir="$folder" \\
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
rm -rf "\${STAGING:?}"/*
`

/** The server listens at the pod's address, or at all of them where it has none of its own. */
const serveScript = `case \${POD_IP-} in *:*) set -- --ipv6 "$@" ;; esac
exec mongod --dbpath "$DATA" --port 27017 --bind_ip "\${POD_IP:-0.0.0.0}" --auth --nounixsocket "$@"
`

/** Parameters of drivers that say which servers are asked, through what, and who enters. */
const placeParameters: ReadonlySet<string> = new Set([
  ...["replicaset", "loadbalanced", "srvservicename", "srvmaxhosts", "proxyhost", "proxyport", "proxyusername"],
  ...["proxypassword", "authmechanism", "authmechanismproperties", "gssapiservicename"]
])

/** A branch is one server without TLS, whose user is in `admin`. Records of DNS would lead to the source. */
const address: AddressForm = {
  schemes: ["mongodb"],
  scheme: "mongodb",
  locates: (parameter) => placeParameters.has(parameter),
  secures: (parameter) => /^(?:ssl|tls)/u.test(parameter),
  own: {},
  needs: { authSource: "admin" },
  isNamedAfterUser: false
}

/**
 * Operators that run code in the source. Those with an underscore are a server's own, and some of them run code in the
 * versions that take them from clients (`$_internalJsEmit` in 4.4).
 */
const runsCode = (operator: string): boolean =>
  ["where", "function", "accumulator"].includes(operator) || operator.startsWith("_")

const escape = /\\u([0-9a-fA-F]{4})/gu

/**
 * Why a filter cannot be given to `mongodump`. Operators are looked for in the text, since a value of JSON keeps only
 * the last of two fields with one name.
 */
const filterProblem = (filter: string): string | undefined => {
  const read = Result.try((): unknown => JSON.parse(filter))
  if (Result.isFailure(read) || !isObject(read.success)) {
    return 'has a filter that is no JSON object, such as {"age": {"$gt": 30}}'
  }
  const text = filter.replace(escape, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  for (const piece of text.split('"$').slice(1)) {
    const [operator = "", after = ""] = piece.split('"', 2)
    if (after.trimStart().startsWith(":") && runsCode(operator)) {
      return `has a filter with $${operator}, which runs code in the source`
    }
  }
  return undefined
}

const collectionProblem = ({ filter, name }: CopiedPart): string | undefined => {
  if (name === "" || name.includes("$") || name.startsWith("system."))
    return "has no name of a collection: it may not be empty, have a $, or begin with system."
  return filter === undefined ? undefined : filterProblem(filter)
}

/** MongoDB. */
export const mongodb: Dialect = {
  repository: "docker.io/library/mongo",
  version: "8.0",
  port: 27_017,
  address,
  user: "root",
  userId: 999,
  copyScript,
  serveScript,
  parts: "Collections",
  databaseForm: {
    holds: (name) => !/[/\\. "$*<>:|?]/u.test(name) && !["admin", "config", "local"].includes(name),
    words: 'a name without the signs /\\. "$*<>:|? that is none of admin, config and local'
  },
  partProblem: collectionProblem,
  partName: (name) => name,
  dumpArgumentProblem: () => "and copies of MongoDB take none",
  dumpArguments: []
}
