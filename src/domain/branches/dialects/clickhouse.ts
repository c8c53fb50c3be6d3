/**
 * Branches of ClickHouse. The source is read by the client of the branch's image through the native protocol:
 * structures as the server writes them down, rows as blocks that go straight into the branch's server.
 *
 * Not here: the variables that these scripts read (branch-pod.ts).
 */

import type { AddressForm, Dialect } from "../dialect.ts"
import { maxCopyMillis, scriptStart, sourceParts } from "./copy-script.ts"
import { backtickedName, filterProblem } from "./sql-text.ts"

const port = 9000
const httpPort = 8123

/**
 * Writes the server's configuration, with its address, its port, and further elements. Its root has the name that old
 * servers want and new ones take.
 */
const configuration = `# One process is the server; no variable of the image may lead the programs elsewhere.
export CLICKHOUSE_WATCHDOG_ENABLE=0
unset CLICKHOUSE_HOST CLICKHOUSE_USER CLICKHOUSE_PASSWORD CLICKHOUSE_DB CLICKHOUSE_CONFIG
configure() {
  cat > "$DATA/config.xml" << END
<yandex>
  <logger><level>warning</level><console>true</console></logger>
  <listen_host>$1</listen_host>
  <tcp_port>$2</tcp_port>
  $3
  <path>$DATA/store/</path>
  <tmp_path>$DATA/store/tmp/</tmp_path>
  <user_files_path>$DATA/store/user_files/</user_files_path>
  <format_schema_path>$DATA/store/format_schemas/</format_schema_path>
  <access_control_path>$DATA/store/access/</access_control_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>1073741824</mark_cache_size>
  $(cat "$DATA/timezone")
</yandex>
END
}`

/**
 * Functions and engines of tables that lead out of the server, as patterns of lower-case letters.
 * https://clickhouse.com/docs/sql-reference/table-functions
 */
const leadingFunctions = [
  ...["remote", "remotesecure", "cluster[a-z]*", "distributed", "url", "urlcluster", "file", "filecluster", "filelog"],
  ...["s3[a-z]*", "gcs", "oss", "cosn", "hdfs[a-z]*", "azure[a-z]*", "iceberg[a-z0-9]*", "deltalake[a-z0-9]*"],
  ...["hudi[a-z]*", "paimon[a-z0-9]*", "hive", "mysql", "postgresql", "mongodb", "redis", "sqlite", "jdbc", "odbc"],
  ...["executable", "executablepool", "kafka", "rabbitmq", "nats", "ytsaurus", "arrowflight"]
]

/**
 * The copy. Folders are named by variables alone; user text reaches the client as whole arguments, and statements
 * quoted. Until the copy is done, the server listens to the loopback alone.
 */
const copyScript = `${scriptStart(["URL", "HOST", "PORT", "USER", "PASSWORD", "DATABASE"])}
# Text is taken byte by byte.
export LC_ALL=C
${configuration}
${sourceParts(
  "clickhouse://* | clickhouse+*://* | clickhouses://* | clickhousedb://* | clickhousedb+*://* | http://* | https://*",
  "clickhouse:// or http://"
)}
secured=
case \${SOURCE_URL-} in clickhouses:* | clickhousedb+https:* | clickhouse+https:* | https:*) secured=--secure ;; esac
query=
case \${SOURCE_URL-} in *\\?*) query=\${SOURCE_URL#*\\?} && query=\${query%%#*} ;; esac
while [ -n "$query" ]; do
  piece=\${query%%&*}
  query=\${query#"$piece"}
  query=\${query#&}
  case $piece in
    secure=1 | secure=[Tt]rue | protocol=https | ssl=1 | ssl=true) secured=--secure ;;
    user=* | username=*) decode "\${piece#*=}" && user=$text ;;
    password=*) decode "\${piece#*=}" && password=$text ;;
    database=* | db=*) decode "\${piece#*=}" && source_database=$text ;;
  esac
done
# The client speaks the native protocol alone, whose usual port is beside that of HTTP.
case $port in
  8123) port=9000 ;;
  8443) port=9440 ;;
  *)
    case \${SOURCE_URL-} in
      http:* | https:*) unread "the source's URL has no usual port of HTTP (8123, 8443), beside which that of the\\
 native protocol would be: declare host and native port as params" ;;
    esac
    ;;
esac
[ "$port" != 9440 ] || secured=--secure
port=\${port:-\${secured:+9440}}
database=\${DATABASE_NAME:-\${source_database:-default}}
source_database=\${source_database:-$database}

# A text, and a name, inside of a statement.
literal() { printf "'%s'" "$(printf %s "$1" | sed "s/[\\\\\\\\']/\\\\\\\\&/g")"; }
identifier() { printf '\`%s\`' "$(printf %s "$1" | sed 's/[\\\\\`]/\\\\&/g')"; }
# The configuration of a client, which has the password.
client() {
  cat > "$STAGING/$1.xml" << END
<config>
  <password>$(printf %s "$2" | sed 's/&/\\&amp;/g; s/</\\&lt;/g; s/>/\\&gt;/g')</password>
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
told() { sed '/^Stack trace/,$d; s/^\\((query: .\\{80\\}\\).*/\\1/; /^ *$/d' "$1"; }

# The source. Where its user may, the server itself makes sure that nothing is written.
reading=
from_source() {
  clickhouse-client --config-file="$STAGING/source.xml" --host="$host" --port="\${port:-9000}" $secured \\
    --user="\${user:-default}" --database="$source_database" $reading "$@" < /dev/null
}
ask() { quietly from_source --format=TabSeparatedRaw --query="$1"; }

# A copy that was cut off is begun anew.
rm -rf "$DATA"
rm -rf "\${STAGING:?}"/*
mkdir "$DATA" "$DATA/store"
: > "$DATA/timezone"
client source "$password"
client branch "$BRANCH_PASSWORD"
if [ "$reads_source" != 0 ]; then
  # Settings that leave rows out in silence. They act on this question, too: an offset takes its one row away.
  parting=$(ask "select concat('has ', arrayStringConcat(groupArray(name), ', ')) from system.settings
    where (name like '%overflow_mode%' and value = 'break') or
      (name in ('limit', 'offset') and value not in ('0', ''))")
  parting=\${parting:-has offset}
  [ "$parting" = "has " ] || fail "the source's user has settings that leave rows out (\${parting#has }): take them\
 from its profile, or copy as another user"
  # A user who only reads may not say so.
  zone=$(ask "select concat(value, timezone()) from system.settings where name = 'readonly'")
  case $zone in
    0*)
      reading=--readonly=1
      limit=$(ask "select toFloat64OrZero(value) between 1 and ${maxCopyMillis / 1000} from system.settings
        where name = 'max_execution_time'")
      [ "$limit" = 1 ] || reading="$reading --max_execution_time=${maxCopyMillis / 1000}"
      ;;
  esac
  zone=\${zone#?}
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
# In a pod any port is free; where pods are processes of one machine, it is to be another for each.
own_port=$((20000 + $$ % 20000))
configure 127.0.0.1 "$own_port" ""
clickhouse-server --config-file="$DATA/config.xml" > "$STAGING/server.log" 2>&1 < /dev/null &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
settings=
enter() {
  clickhouse-client --config-file="$STAGING/branch.xml" --host=127.0.0.1 --port="$own_port" --user=default \\
    $settings "$@"
}
# A table of the source must be taken as it is, whatever the server thinks of new ones. Rows that are alike, and rows
# of many partitions, must all be kept. An old server does not have each of these settings.
until enter --query="select name from system.settings where name in ('flatten_nested', 'insert_deduplicate',
    'max_partitions_per_insert_block', 'optimize_on_insert', 'allow_suspicious_low_cardinality_types',
    'allow_suspicious_codecs', 'allow_suspicious_fixed_string_types', 'allow_suspicious_variant_types',
    'allow_suspicious_indices', 'allow_suspicious_ttl_expressions', 'allow_experimental_object_type',
    'allow_experimental_json_type', 'allow_experimental_variant_type', 'allow_experimental_dynamic_type')" \\
  > "$STAGING/settings" 2> "$STAGING/answer" < /dev/null; do
  kill -0 "$server_id" 2> /dev/null || { cat "$STAGING/server.log" >&2; exit 1; }
  sleep 0.1
done
for name in $(cat "$STAGING/settings"); do
  case $name in allow_*) settings="$settings --$name=1" ;; *) settings="$settings --$name=0" ;; esac
done

# The objects of the source's database. A table's engine must keep its rows in the server: one that leads elsewhere,
# such as Kafka or MySQL, would lead the branch's program there.
mine="database = currentDatabase() and not is_temporary and substring(name, 1, 7) != '.inner.' and
  substring(name, 1, 10) != '.inner_id.'"
stored="(engine like '%MergeTree' or engine in ('Log', 'TinyLog', 'StripeLog'))"
others="engine in ('Memory', 'Null', 'Buffer', 'Merge', 'View', 'MaterializedView')"
# So would a view that asks a function of such a table, or an engine in it, and a table whose own disk is elsewhere.
# A name behind a full stop is a table's.
leads="(match(lower(create_table_query), '[^a-z0-9_]disk *= *disk *[(]') or (engine like '%View' and
  match(lower(create_table_query), '[^a-z0-9_.\\x60]\\x60?(${leadingFunctions.join("|")})\\x60? *[(]')))"
# Makes objects anew, in the branch's database. A branch has no keeper, to which replicated tables would belong, and the
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
    ' ENGINE = (Replicated|Shared)([A-Za-z]*MergeTree)[(]\\x27[^\\x27]*\\x27, \\x27[^\\x27]*\\x27(, )?',
    ' ENGINE = \\\\2('),
    ' ENGINE = (Replicated|Shared)([A-Za-z]*MergeTree)', ' ENGINE = \\\\2'), create_table_query),
  '^CREATE TABLE (\`[^\`]*\`|[^ \`.]+)[.]', 'CREATE TABLE '),
  '^(CREATE [^\\x27]*) DEFINER = [^ ]+ SQL SECURITY (DEFINER|INVOKER|NONE)', '\\\\1')
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
      "table "*) say "\${object#table }" >> "$STAGING/tables" ;;
      "view "*) say "\${object#view }" >> "$STAGING/views" ;;
      "leading "*) fail "the source has \${object#leading }, which leads out of the server: name the tables to copy,\
 with mode empty" ;;
      odd) fail "the source has a table whose name holds a control character, which is not served" ;;
      *) fail "the source has \${object#foreign }, whose engine a branch cannot have: name the tables to copy, with\\
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
number=0
while [ "$number" -lt "\${COPY_ITEMS:-0}" ]; do
  eval "name=\\$COPY_ITEM_$number"
  eval "filter=\\\${COPY_FILTER_$number-}"
  found=$(ask "select count() from system.tables where $mine and $stored and not $leads and
    $(named "$name")")
  [ "$found" != 0 ] || fail "the source has no table $name that keeps rows in the server"
  if [ "$COPY_MODE" = empty ]; then make "$(named "$name")" || fail "table $name could not be made"; fi
  copy_rows "$name" "$filter"
  number=$((number + 1))
done

# Views come last, so that copied rows do not run through them. One with rows of its own gets them before others look
# at it; which plain view another one reads is only seen when it fails.
tab=$(printf '\\t')
identifier='(\\x60[^\\x60]*\\x60|[^ \\x60.]+)'
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
        match(create_table_query, '^CREATE MATERIALIZED VIEW $identifier[.]$identifier [(]')")
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
rm -rf "\${STAGING:?}"/*
`

/** The server listens at the pod's address, or at all of them where it has none of its own. */
const serveScript = `${configuration}
configure "\${POD_IP:-0.0.0.0}" ${port} "<http_port>${httpPort}</http_port>"
exec clickhouse-server --config-file="$DATA/config.xml" "$@"
`

/** Drivers whose name in a scheme says that they speak HTTP. */
const httpDrivers: ReadonlySet<string> = new Set(["http", "connect"])

/**
 * The branch's port by the source's: programs that speak HTTP stay there. Without a usual port the URL's scheme says
 * it, and the native protocol is the usual one. A branch has no TLS, which some schemes ask for.
 */
const portFor: AddressForm["portFor"] = (scheme, old) => {
  const [protocol = "", driver = ""] = scheme.split("+")
  if (protocol === "https" || protocol === "clickhouses" || driver === "https") return undefined
  const speaksHttp =
    ["http", "clickhousedb"].includes(protocol) || httpDrivers.has(driver) || ["8123", "8443"].includes(old)
  return speaksHttp ? httpPort : port
}

const address: AddressForm = {
  schemes: ["clickhouse", "clickhousedb", "clickhouses", "http", "https"],
  locates: (parameter) =>
    ["host", "hostname", "server", "servers", "alt_hosts", "port", "proxy", "http_proxy", "https_proxy", "proxy_host"]
      .concat(["proxy_port", "user", "username", "password", "db", "database", "server_host_name"])
      .includes(parameter),
  secures: (parameter) => /^(?:ssl|tls|secure|verify|ca_?cert|client_?cert|protocol$|skip_verify)/u.test(parameter),
  own: {},
  isNamedAfterUser: false,
  portFor
}

/** ClickHouse. */
export const clickhouse: Dialect = {
  repository: "docker.io/clickhouse/clickhouse-server",
  version: "24.8",
  port,
  address,
  user: "default",
  userId: 101,
  copyScript,
  serveScript,
  parts: "Tables",
  partProblem: ({ filter, name }) =>
    backtickedName(name) === undefined
      ? "has no name of a table: it must be like orders or `Odd.Name`, without its database"
      : filter === undefined
        ? undefined
        : filterProblem(filter, "ClickHouse"),
  partName: (name) => backtickedName(name) ?? name,
  dumpArgumentProblem: () => "and there is no dump program to take it",
  dumpArguments: []
}
