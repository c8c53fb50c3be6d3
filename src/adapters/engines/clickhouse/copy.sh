#!/bin/sh
# Copies a database of ClickHouse: structures as the source writes them down, rows as blocks that go straight into the
# branch's server. The source is read by the client of the branch's image through the native protocol.
#
# Variables and exit codes: shared/start.sh. User text reaches the client as whole arguments, and statements quoted.
# Until the copy is done, the server listens to the loopback alone.

. "$(dirname "$0")/../shared/start.sh"

# Text is taken byte by byte.
export LC_ALL=C
. "$(dirname "$0")/configure.sh"
. "$(dirname "$0")/../shared/source.sh"
case ${SOURCE_URL-} in
  "") ;;
  clickhouse://* | clickhouse+*://* | clickhouses://* | clickhousedb://* | clickhousedb+*://*) read_url ;;
  http://* | https://*) read_url ;;
  *) unread "the source's URL has no form that can be read: it must begin with clickhouse:// or http://" ;;
esac
[ -n "$host" ] || unread "the source's address has no host"

secured=
case ${SOURCE_URL-} in clickhouses:* | clickhousedb+https:* | clickhouse+https:* | https:*) secured=--secure ;; esac
query=
case ${SOURCE_URL-} in *\?*) query=${SOURCE_URL#*\?} && query=${query%%#*} ;; esac
while [ -n "$query" ]; do
  piece=${query%%&*}
  query=${query#"$piece"}
  query=${query#&}
  case $piece in
    secure=1 | secure=[Tt]rue | protocol=https | ssl=1 | ssl=true) secured=--secure ;;
    user=* | username=*) decode "${piece#*=}" && user=$text ;;
    password=*) decode "${piece#*=}" && password=$text ;;
    database=* | db=*) decode "${piece#*=}" && source_database=$text ;;
  esac
done
# The client speaks the native protocol alone, whose usual port is beside that of HTTP.
case $port in
  8123) port=9000 ;;
  8443) port=9440 ;;
  *)
    case ${SOURCE_URL-} in
      http:* | https:*) unread "the source's URL has no usual port of HTTP (8123, 8443), beside which that of the\
 native protocol would be: declare host and native port as params" ;;
    esac
    ;;
esac
[ "$port" != 9440 ] || secured=--secure
port=${port:-${secured:+9440}}
database=${DATABASE_NAME:-${source_database:-default}}
source_database=${source_database:-$database}

# A text, and a name, inside of a statement.
literal() { printf "'%s'" "$(printf %s "$1" | sed "s/[\\\\']/\\\\&/g")"; }
# shellcheck disable=SC2016 # Backticks of ClickHouse run nothing.
identifier() { printf '`%s`' "$(printf %s "$1" | sed 's/[\\`]/\\&/g')"; }
# The configuration of a client, which has the password.
client() {
  cat > "$STAGING/$1.xml" << END
<config>
  <password>$(printf %s "$2" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g')</password>
  <openSSL>
    <client>
      <verificationMode>none</verificationMode>
      <invalidCertificateHandler><name>AcceptCertificateHandler</name></invalidCertificateHandler>
    </client>
  </openSSL>
</config>
END
}
# What went wrong, without the server's stack, and with no more than the beginning of a statement.
quietly() { "$@" 2> "$STAGING/client.log" || { told "$STAGING/client.log" >&2 && return 1; }; }
told() { sed '/^Stack trace/,$d; s/^\((query: .\{80\}\).*/\1/; /^ *$/d' "$1"; }

# The source. Where its user may, the server itself makes sure that nothing is written.
reading=
limiting=
from_source() {
  clickhouse-client --config-file="$STAGING/source.xml" --host="$host" --port="${port:-9000}" \
    --user="${user:-default}" --database="$source_database" \
    ${secured:+"$secured"} ${reading:+"$reading"} ${limiting:+"$limiting"} "$@" < /dev/null
}
ask() { quietly from_source --format=TabSeparatedRaw --query="$1"; }

# A copy that was cut off is begun again.
rm -rf "$DATA"
rm -rf "${STAGING:?}"/*
mkdir "$DATA" "$DATA/store"
: > "$DATA/timezone"
client source "$password"
client branch "$BRANCH_PASSWORD"
if [ "$reads_source" != 0 ]; then
  # Settings that leave rows out in silence. They act on this question, too: an offset takes its one row away.
  parting=$(ask "select concat('has ', arrayStringConcat(groupArray(name), ', ')) from system.settings
    where (name like '%overflow_mode%' and value = 'break') or
      (name in ('limit', 'offset') and value not in ('0', ''))")
  parting=${parting:-has offset}
  [ "$parting" = "has " ] || fail "the source's user has settings that leave rows out (${parting#has }): take them\
 from its profile, or copy as another user"
  # A user who only reads may not say so.
  zone=$(ask "select concat(value, timezone()) from system.settings where name = 'readonly'")
  case $zone in
    0*)
      reading=--readonly=1
      limit=$(ask "select toFloat64OrZero(value) between 1 and $COPY_SECONDS from system.settings
        where name = 'max_execution_time'")
      [ "$limit" = 1 ] || limiting=--max_execution_time=$COPY_SECONDS
      ;;
  esac
  zone=${zone#?}
  case $zone in *[!A-Za-z0-9/_+-]*) fail "the source's time zone has no name that can be read" ;; esac
  say "<timezone>$zone</timezone>" > "$DATA/timezone"
fi
cat > "$DATA/users.xml" << END
<yandex>
  <profiles><default></default></profiles>
  <quotas><default></default></quotas>
  <users>
    <default>
      <password_sha256_hex>$(printf %s "$BRANCH_PASSWORD" | sha256sum | cut -c 1-64)</password_sha256_hex>
      <networks><ip>::/0</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
      <access_management>1</access_management>
    </default>
  </users>
</yandex>
END
# In a pod any port is free. Where pods are processes of one machine, each has another, below those of connections.
own_port=$((10000 + $$ % 10000))
configure 127.0.0.1 "$own_port" ""
clickhouse-server --config-file="$DATA/config.xml" > "$STAGING/server.log" 2>&1 < /dev/null &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
: > "$STAGING/settings"
enter() {
  while IFS= read -r setting; do set -- "$setting" "$@"; done < "$STAGING/settings"
  clickhouse-client --config-file="$STAGING/branch.xml" --host=127.0.0.1 --port="$own_port" --user=default "$@"
}
# A table of the source must be taken as it is, whatever the server thinks of new ones. Rows that are alike, and rows
# of many partitions, must all be kept. An old server does not have each of these settings.
until enter --query="select name from system.settings where name in ('flatten_nested', 'insert_deduplicate',
    'max_partitions_per_insert_block', 'optimize_on_insert', 'allow_suspicious_low_cardinality_types',
    'allow_suspicious_codecs', 'allow_suspicious_fixed_string_types', 'allow_suspicious_variant_types',
    'allow_suspicious_indices', 'allow_suspicious_ttl_expressions', 'allow_experimental_object_type',
    'allow_experimental_json_type', 'allow_experimental_variant_type', 'allow_experimental_dynamic_type')" \
  > "$STAGING/known" 2> "$STAGING/answer" < /dev/null; do
  kill -0 "$server_id" 2> /dev/null || { cat "$STAGING/server.log" >&2; exit 1; }
  sleep 0.1
done
while IFS= read -r name; do
  case $name in allow_*) say "--$name=1" ;; *) say "--$name=0" ;; esac
done < "$STAGING/known" > "$STAGING/settings"

# The objects of the source's database. A table's engine must keep its rows in the server: one that leads elsewhere,
# such as Kafka or MySQL, would lead the branch's program there.
mine="database = currentDatabase() and not is_temporary and substring(name, 1, 7) != '.inner.' and
  substring(name, 1, 10) != '.inner_id.'"
stored="(engine like '%MergeTree' or engine in ('Log', 'TinyLog', 'StripeLog'))"
others="engine in ('Memory', 'Null', 'Buffer', 'Merge', 'View', 'MaterializedView')"
# So would a view that asks a function of such a table, or an engine in it, and a table whose own disk is elsewhere.
# https://clickhouse.com/docs/sql-reference/table-functions
away="remote|remotesecure|cluster[a-z]*|distributed|url|urlcluster|file|filecluster|filelog|s3[a-z]*|gcs|oss|cosn"
away="$away|hdfs[a-z]*|azure[a-z]*|iceberg[a-z0-9]*|deltalake[a-z0-9]*|hudi[a-z]*|paimon[a-z0-9]*|hive"
away="$away|mysql|postgresql|mongodb|redis|sqlite|jdbc|odbc|executable|executablepool|kafka|rabbitmq|nats"
away="$away|ytsaurus|arrowflight"
# A name behind a full stop is a table's.
leads="(match(lower(create_table_query), '[^a-z0-9_]disk *= *disk *[(]') or (engine like '%View' and
  match(lower(create_table_query), '[^a-z0-9_.\x60]\x60?($away)\x60? *[(]')))"
# Makes objects in the branch's database. A branch has no keeper, to which replicated tables would belong, and the
# users of the source, as whom views look, are not in it.
target=$(identifier "$database")
make() {
  say "create database if not exists $target; use $target;" > "$STAGING/make.sql"
  [ -z "$1" ] || ask "select concat($(cat "$STAGING/statement"), ';') from system.tables where $mine and $1
    order by name" >> "$STAGING/make.sql" || return 1
  quietly enter --multiquery < "$STAGING/make.sql"
}
named() { say "name = $(literal "$1")"; }
cat > "$STAGING/statement" << 'END'
replaceRegexpOne(replaceRegexpOne(
  if(match(engine, '^(Replicated|Shared)') or engine = 'MaterializedView', replaceRegexpOne(replaceRegexpOne(
    create_table_query,
    ' ENGINE = (Replicated|Shared)([A-Za-z]*MergeTree)[(]\x27[^\x27]*\x27, \x27[^\x27]*\x27(, )?',
    ' ENGINE = \\2('),
    ' ENGINE = (Replicated|Shared)([A-Za-z]*MergeTree)', ' ENGINE = \\2'), create_table_query),
  '^CREATE TABLE (`[^`]*`|[^ `.]+)[.]', 'CREATE TABLE '),
  '^(CREATE [^\x27]*) DEFINER = [^ ]+ SQL SECURITY (DEFINER|INVOKER|NONE)', '\\1')
END
# Rows go from server to server. What was sent counts only if both ends say that it is all.
copy_rows() {
  table=$(identifier "$1")
  condition=
  [ -z "$2" ] || condition="where ($2
)"
  sent=1
  taken=1
  { from_source --query="select * from $table $condition format Native" 2> "$STAGING/select.log" ||
    : > "$STAGING/unsent"; } |
    enter --database="$database" --query="insert into $table format Native" 2> "$STAGING/insert.log" || taken=0
  [ ! -e "$STAGING/unsent" ] || sent=0
  # A new client does not take it well that there are no rows.
  if [ "$sent" = 1 ]; then case $(cat "$STAGING/insert.log") in *"Code: 108."*) taken=1 ;; esac; fi
  [ "$sent$taken" = 11 ] || { told "$STAGING/insert.log" && told "$STAGING/select.log" &&
    say "rows of table $1 could not be copied"; exit 1; } >&2
}

: > "$STAGING/tables"
: > "$STAGING/views"
if [ "$COPY_MODE" != empty ]; then
  ask "select multiIf(match(name, '[[:cntrl:]]'), 'odd', $leads, concat('leading ', name, ' (', engine, ')'),
      $stored, concat('table ', name), $others, concat('view ', name), concat('foreign ', name, ' (', engine, ')'))
    from system.tables where $mine order by name" > "$STAGING/objects"
  while IFS= read -r object; do
    case $object in
      "table "*) say "${object#table }" >> "$STAGING/tables" ;;
      "view "*) say "${object#view }" >> "$STAGING/views" ;;
      "leading "*) fail "the source has ${object#leading }, which leads out of the server: name the tables to copy,\
 with mode empty" ;;
      odd) fail "the source has a table whose name holds a control character, which is not served" ;;
      *) fail "the source has ${object#foreign }, whose engine a branch cannot have: name the tables to copy, with\
 mode empty" ;;
    esac
  done < "$STAGING/objects"
  if [ "$database" != "$source_database" ] && [ -s "$STAGING/views" ]; then
    fail "the source's views name its database: leave out the name of the branch's, so that it is the same"
  fi
  [ ! -s "$STAGING/views" ] || ask "select name, viewer from system.tables
    array join dependencies_table as viewer where $mine" > "$STAGING/viewers"
  make "$stored" || fail "the tables could not be made"
else
  make ""
fi
if [ "$COPY_MODE" = all ]; then
  while IFS= read -r name; do copy_rows "$name" ""; done < "$STAGING/tables"
fi

# Single tables, which must be there.
name=
filter=
number=0
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  eval "name=\$COPY_ITEM_$number"
  eval "filter=\${COPY_FILTER_$number-}"
  found=$(ask "select count() from system.tables where $mine and $stored and not $leads and
    $(named "$name")")
  [ "$found" != 0 ] || fail "the source has no table $name that keeps rows in the server"
  if [ "$COPY_MODE" = empty ]; then make "$(named "$name")" || fail "table $name could not be made"; fi
  copy_rows "$name" "$filter"
  number=$((number + 1))
done

# Views come last, so that copied rows do not run through them. One with rows of its own gets them before others look
# at it; which plain view another one reads is only seen when it fails.
tab=$(printf '\t')
identifier='(\x60[^\x60]*\x60|[^ \x60.]+)'
is_next() {
  while IFS="$tab" read -r seen viewer; do
    [ "$viewer" != "$1" ] || ! grep -qxF -e "$seen" "$STAGING/views" || return 1
  done < "$STAGING/viewers"
}
while [ -s "$STAGING/views" ]; do
  made=0
  : > "$STAGING/left"
  : > "$STAGING/why"
  while IFS= read -r name; do
    if is_next "$name" && make "$(named "$name")" 2> "$STAGING/why"; then
      made=1
      kept=$(ask "select count() from system.tables where $mine and $(named "$name") and
        match(create_table_query, '^CREATE MATERIALIZED VIEW ${identifier}[.]${identifier} [(]')")
      if [ "$COPY_MODE" = all ] && [ "$kept" != 0 ]; then copy_rows "$name" ""; fi
    else
      say "$name" >> "$STAGING/left"
    fi
  done < "$STAGING/views"
  [ "$made" = 1 ] || { cat "$STAGING/why" >&2 && fail "view $(sed -n 1p "$STAGING/left") could not be made"; }
  mv "$STAGING/left" "$STAGING/views"
done
trap - EXIT
kill "$server_id"
wait "$server_id"
rm -rf "${STAGING:?}"/*
