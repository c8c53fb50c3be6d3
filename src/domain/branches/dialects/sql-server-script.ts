/**
 * The programs of SQL Server's branches. The server keeps all that it has in one folder of its image, on which the
 * volume of the branch is mounted. Structures, and all rows, are copied by Microsoft's own SqlPackage; rows of single
 * tables by bcp. No test has ever run these programs with a SQL Server: there is none for the tests.
 *
 * Not here: the variables that these scripts read (branch-pod.ts), and the address of a branch (sql-server-address.ts).
 */

import { scriptStart, sourceParts } from "./copy-script.ts"

/** Places of the programs in Microsoft's image, behind those that the image has named itself. */
const programs = `PATH="$PATH:/opt/mssql/bin:/opt/mssql-tools18/bin:/opt/mssql-tools/bin:/opt/sqlpackage"
export PATH HOME="$STAGING" TMPDIR="$STAGING" MSSQL_TCP_PORT=1433
[ "\${ACCEPT_EULA-}" = Y ] || { echo "the licence of SQL Server is not accepted" >&2; exit 1; }`

/** Reads a text of keys and values into the variables in which `sourceParts` leaves the parts of a URL. */
const textReading = `# The next pair of $pairs, a text of keys and values, as $key and $value. $quotes has the signs
# that open a text in quotes.
next_pair() {
  while :; do case $pairs in [\\;\\ ]*) pairs=\${pairs#?} ;; *) break ;; esac; done
  [ -n "$pairs" ] || return 1
  case $pairs in *=*) ;; *) unread "the source's text of keys and values has a key without a value" && return 1 ;; esac
  key=$(printf %s "\${pairs%%=*}" | tr -d ' _' | tr '[:upper:]' '[:lower:]')
  pairs=\${pairs#*=}
  while :; do case $pairs in " "*) pairs=\${pairs#?} ;; *) break ;; esac; done
  value=
  close=
  case $quotes$pairs in
    "{{"*) close="}" ;;
    \\"\\"* | \\"\\'*) close=\${pairs%"\${pairs#?}"} ;;
    \\"{*) unread "the source's text of keys and values has a value in braces, which no driver is named to read" ;;
  esac
  if [ -z "$close" ]; then
    value=\${pairs%%;*}
    pairs=\${pairs#"$value"}
    while :; do case $value in *" ") value=\${value%?} ;; *) return 0 ;; esac; done
  fi
  pairs=\${pairs#?}
  while :; do
    case $pairs in
      *"$close"*) ;;
      *) unread "the source's text of keys and values has quotes that are never closed" ;;
    esac
    value=$value\${pairs%%"$close"*}
    pairs=\${pairs#*"$close"}
    case $pairs in "$close"*) ;; *) break ;; esac
    value=$value$close
    pairs=\${pairs#?}
  done
  case $pairs in "" | [\\;\\ ]*) ;; *) unread "the source's text of keys and values goes on behind quotes" ;; esac
}
# Two keys that mean the same may not differ, since drivers do not agree on which one counts.
once() { [ -z "$1" ] || [ "$1" = "$2" ] || unread "the source's text of keys and values says $3 twice"; }
read_pair() {
  case $key in
    server | datasource | address | addr | networkaddress | servername)
      once "$place" "$value" "its server" && place=$value ;;
    port | portnumber) once "$port" "$value" "its port" && port=$value ;;
    instance | instancename) instance=$value ;;
    database | initialcatalog | databasename)
      once "$source_database" "$value" "its database" && source_database=$value ;;
    user | userid | uid | username) once "$user" "$value" "its user" && user=$value ;;
    password | pwd) once "$password" "$value" "its password" && password=$value ;;
    dsn | filedsn) unread "the source's address names a file of drivers ($key), which the copy does not have" ;;
    integratedsecurity | trustedconnection)
      case $value in [Tt]rue | [Yy]es | SSPI | sspi | 1) login=other ;; esac ;;
    authentication | fedauth)
      case $value in [Ss]ql[Pp]assword | "Sql Password" | [Nn]ot[Ss]pecified) ;; *) login=other ;; esac ;;
  esac
}
read_text() {
  place=
  instance=
  login=
  pairs=$SOURCE_URL
  quotes=\\"
  case $pairs in *[Dd][Rr][Ii][Vv][Ee][Rr]=*) quotes="{" ;; esac
  case \${pairs%%=*} in
    sqlserver:* | jdbc:sqlserver:*)
      quotes="{"
      pairs=\${pairs#*://}
      place=\${pairs%%;*}
      pairs=\${pairs#"$place"}
      case $place in
        *:*) port=\${place##*:} && place=\${place%:*} ;;
      esac
      ;;
    *://*) unread "the source's URL is none of SQL Server: it must begin with mssql:// or sqlserver://" ;;
  esac
  while next_pair; do read_pair; done
  [ -z "$login" ] || unread "the source's address asks for another login than name and password, which no copy has"
  read_place
}
# A server's name in the form of Microsoft's drivers.
read_place() {
  place=\${place#tcp:}
  case $place in *,*) port=\${place##*,} && place=\${place%%,*} ;; esac
  case $place in *\\\\*) instance=\${place#*\\\\} && place=\${place%%\\\\*} ;; esac
  case $place in
    *:* | "("* | .) unread "the source's server has no name that can be reached from a pod by TCP" ;;
  esac
  [ -z "$instance" ] || [ -n "$port" ] || unread "the source's address names an instance without its port"
  host=$place
}
read_query() {
  read_url
  case $SOURCE_URL in *\\?*) ;; *) return 0 ;; esac
  pieces=\${SOURCE_URL#*\\?}
  pieces=\${pieces%%#*}
  while [ -n "$pieces" ]; do
    piece=\${pieces%%&*}
    pieces=\${pieces#"$piece"}
    pieces=\${pieces#&}
    # The database of the query counts, whatever the path is.
    case $piece in
      database=*) decode "\${piece#*=}" && source_database=$text ;;
      odbc_connect=*) unread "the source's URL holds another address (odbc_connect)" ;;
    esac
  done
}`

/** The forms in which a source's address may be. */
const otherForms = `  jdbc:sqlserver:* | sqlserver://*\\;*) read_text ;;
  mssql://* | mssql+*://* | sqlserver://*) read_query ;;
  *=*) read_text ;;
`

/** Objects by which a program in the branch would reach another server. */
const leadingObjects = [
  ...["Credentials", "DatabaseScopedCredentials", "Endpoints", "EventNotifications", "ExternalDataSources"],
  ...["ExternalFileFormats", "ExternalTables", "LinkedServerLogins", "LinkedServers", "Logins"],
  ...["RemoteServiceBindings", "Routes"]
]

/** Drops all but the tables of @kept, in any order that the server takes, with the keys between them and others. */
const pruningStart = `set nocount on;
set quoted_identifier on;
declare @statement nvarchar(max), @id int, @dropped bit = 1;
declare @kept table (id int not null);
declare @tried table (id int not null);`

/** The part behind the rows of @kept. */
const pruning = `while 1 = 1
begin
  set @statement = null;
  select top (1) @statement = concat(N'drop trigger ', quotename(name), N' on database')
  from sys.triggers where parent_class = 0 and is_ms_shipped = 0;
  if @statement is null break;
  exec sp_executesql @statement;
end;
while 1 = 1
begin
  set @statement = null;
  select top (1) @statement = concat(N'alter table ', quotename(object_schema_name(parent_object_id)), N'.',
    quotename(object_name(parent_object_id)), N' drop constraint ', quotename(name))
  from sys.foreign_keys
  where parent_object_id not in (select id from @kept) or referenced_object_id not in (select id from @kept);
  if @statement is null break;
  exec sp_executesql @statement;
end;
while 1 = 1
begin
  set @statement = null;
  select top (1) @statement = concat(N'alter table ', quotename(schema_name(schema_id)), N'.', quotename(name),
    N' set (system_versioning = off)')
  from sys.tables where temporal_type = 2 and object_id not in (select id from @kept);
  if @statement is null break;
  exec sp_executesql @statement;
end;
while @dropped = 1
begin
  set @dropped = 0;
  delete from @tried;
  while 1 = 1
  begin
    set @id = null;
    select top (1) @id = object_id, @statement = concat(N'drop ', case
        when type = 'U' then N'table' when type = 'V' then N'view' when type in ('P', 'PC') then N'procedure'
        when type = 'SN' then N'synonym' when type = 'SP' then N'security policy'
        when type in ('TR', 'TA') then N'trigger' else N'function'
      end, N' ', quotename(schema_name(schema_id)), N'.', quotename(name))
    from sys.objects
    where type in ('U', 'V', 'P', 'PC', 'FN', 'IF', 'TF', 'FS', 'FT', 'SN', 'SP', 'TR', 'TA')
      and is_ms_shipped = 0
      and object_id not in (select id from @kept) and object_id not in (select id from @tried)
    order by object_id desc;
    if @id is null break;
    insert into @tried (id) values (@id);
    begin try
      exec sp_executesql @statement;
      set @dropped = 1;
    end try
    begin catch
      set @statement = null;
    end catch;
  end;
end;
if exists (select 1 from sys.tables where is_ms_shipped = 0 and object_id not in (select id from @kept))
  raiserror(N'the branch keeps a table that is not to be copied', 16, 1);`

/** The source's sequences go on behind the last value, of which structures know nothing. */
const sequences = `set nocount on; select concat(N'alter sequence ', quotename(schema_name(schema_id)), N'.',
    quotename(name), N' restart with ', convert(decimal(38), current_value) + convert(decimal(38), increment), N';')
  from sys.sequences
  where convert(decimal(38), current_value) + convert(decimal(38), increment)
    between convert(decimal(38), minimum_value) and convert(decimal(38), maximum_value)`

/** The copy. Until it is done, the server listens to no address of the pod. */
export const copyScript = `${scriptStart(["URL", "HOST", "PORT", "USER", "PASSWORD", "DATABASE"])}
# Text is taken byte by byte here. Microsoft's programs are told that it is UTF-8.
export LC_ALL=C
unset SQLCMDINI SQLCMDSERVER SQLCMDUSER SQLCMDDBNAME SQLCMDPASSWORD
${programs}
${textReading}
${sourceParts("mssql://*", "mssql://, sqlserver://, jdbc:sqlserver:// or Server=", otherForms)}
case $host in *,* | *\\\\* | tcp:*) place=$host && instance= && read_place ;; esac
case $port in *[!0-9]*) unread "the source's address has a port that is no number" ;; esac
[ -n "$user" ] || unread "the source's address names no user: a copy logs in with the name and password of one"
database=\${DATABASE_NAME:-$source_database}
source_database=\${source_database:-$database}
[ -n "$database" ] || unread "the source's address names no database: set the name of the branch"
# A line of its own could end a statement.
case $database$source_database$host$port$user in
  *[[:cntrl:]]*) fail "the source's address holds a control character, which is not served" ;;
esac

# Programs. Microsoft's image of the server has no SqlPackage.
need() { command -v "$1" > "$STAGING/found" || fail "the image has no program $1, which $2"; }
need sqlservr "is the server"
need sqlcmd "makes the database"
if [ "$reads_source" != 0 ]; then
  need sqlpackage "copies structures: name an image that has it"
  [ "\${COPY_ITEMS:-0}" = 0 ] || need bcp "copies rows of single tables: name an image that has it"
fi

# A text, and a name, inside of a statement; and a value inside of a connection string.
literal() { printf "N'%s'" "$(printf %s "$1" | sed "s|'|''|g")"; }
identifier() { printf '[%s]' "$(printf %s "$1" | sed 's/]/]]/g')"; }
value() { printf '"%s"' "$(printf %s "$1" | sed 's|"|""|g')"; }
# What went wrong, but no line with the source's password.
quietly() { "$@" > "$STAGING/tool.log" 2>&1 || { told "$STAGING/tool.log" >&2 && return 1; }; }
told() {
  while IFS= read -r line; do
    case $line in
      "") ;;
      *"\${password:-$BRANCH_PASSWORD}"* | *"$BRANCH_PASSWORD"*) ;;
      *) say "$line" ;;
    esac
  done < "$1"
}

# A program of Microsoft's.
run() (
  export LC_ALL=C.UTF-8 DACFX_TELEMETRY_OPTOUT=1
  exec "$@" < /dev/null
)
sql() (
  export SQLCMDPASSWORD="$1"
  shift
  run sqlcmd -C -b -x -h -1 -W -w 65535 -l 15 "$@"
)
# The source, of which nothing but questions is asked.
server=tcp:$host,\${port:-1433}
ask() {
  sql "$password" -S "$server" -U"$user" -d "$source_database" -Q "$1" > "$STAGING/answer" 2> "$STAGING/tool.log" ||
    { cat "$STAGING/answer" >> "$STAGING/tool.log" && told "$STAGING/tool.log" >&2 &&
      fail "the source does not answer"; }
}
# The branch's server.
enter() { sql "$BRANCH_PASSWORD" -S tcp:127.0.0.1,1433 -Usa "$@"; }

# A copy that was cut off is begun anew.
home=\${DATA%/*}
rm -rf "\${home:?}/.system" "$home/data" "$home/log" "$home/secrets" "\${STAGING:?}"/*
collation=
if [ "$reads_source" != 0 ]; then
  # The first question tells whether the source can be reached, before a server is started.
  ask "set nocount on;
    select concat(N'collation ', convert(nvarchar(128), databasepropertyex(db_name(), N'Collation')),
      case when not exists (select 1 from sys.fn_my_permissions(null, N'DATABASE')
        where permission_name = N'VIEW DEFINITION') then N' in part' end)"
  # What a user does not see is missing from SqlPackage's package, of which it says nothing.
  case $(cat "$STAGING/answer") in
    "collation "*" in part") fail "the source's user sees its database in part: grant it VIEW DEFINITION there" ;;
  esac
  collation=$(sed -n 's/^collation \\([A-Za-z0-9_]*\\)$/collate \\1/p' "$STAGING/answer")
  [ -n "$collation" ] || fail "the source does not say the collation of its database"
fi
MSSQL_SA_PASSWORD="$BRANCH_PASSWORD" MSSQL_IP_ADDRESS=127.0.0.1 \\
  MSSQL_MEMORY_LIMIT_MB="\${MSSQL_MEMORY_LIMIT_MB:-2048}" sqlservr > "$STAGING/server.log" 2>&1 < /dev/null &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
until enter -Q 'select 1' > "$STAGING/answer" 2>&1; do
  kill -0 "$server_id" 2> /dev/null || { told "$STAGING/server.log" >&2; exit 1; }
  sleep 0.1
done
if [ -n "$database" ]; then quietly enter -Q "create database $(identifier "$database") $collation"; fi

# Single tables, which must be there, by the names that the source has for them.
: > "$STAGING/tables"
: > "$STAGING/kept.sql"
number=0
while [ "$number" -lt "\${COPY_ITEMS:-0}" ]; do
  eval "name=\\$COPY_ITEM_$number"
  ask "set nocount on; select concat(case when is_external = 1 then N'external' when temporal_type <> 0
    then N'temporal' else N'plain' end, N' ', quotename(schema_name(schema_id)), N'.', quotename(name))
    from sys.tables where object_id = object_id($(literal "$name"), N'U')"
  found=$(cat "$STAGING/answer")
  case $found in
    "plain ["*"].["*"]") ;;
    "external "*) fail "table $name of the source is an external one, whose rows are elsewhere" ;;
    "temporal "*) fail "table $name of the source keeps its own history (system versioning), which is not copied" ;;
    *) fail "the source has no table $name" ;;
  esac
  found=\${found#plain }
  say "$found" >> "$STAGING/tables"
  say "insert into @kept (id) values (object_id($(literal "$found"), N'U'));" >> "$STAGING/kept.sql"
  number=$((number + 1))
done

# Structures, and with the mode all the rows too.
if [ "$reads_source" != 0 ]; then
  rows=False
  [ "$COPY_MODE" != all ] || rows=True
  login="User ID=$(value "$user");Password=$(value "$password")"
  quietly run sqlpackage /Action:Extract /TargetFile:"$STAGING/branch.dacpac" \\
    /Quiet:True "/SourceConnectionString:Data Source=$(value "$server");Initial Catalog=$(value "$source_database");\\
$login;Encrypt=True;TrustServerCertificate=True" /Properties:ExtractAllTableData="$rows" \\
    /Properties:VerifyExtraction=False /Properties:ExtractReferencedServerScopedElements=False \\
    /Properties:IgnoreUserLoginMappings=True /Properties:IgnorePermissions=True /Properties:CommandTimeout=1800 ||
    fail "the source's database could not be read"
  [ -s "$STAGING/branch.dacpac" ] || fail "the source's database could not be read: there is no package of it"
  quietly run sqlpackage /Action:Publish /SourceFile:"$STAGING/branch.dacpac" \\
    /Quiet:True "/TargetConnectionString:Data Source=tcp:127.0.0.1,1433;Initial Catalog=$(value "$database");\\
User ID=sa;Password=$(value "$BRANCH_PASSWORD");Encrypt=True;TrustServerCertificate=True" \\
    /Properties:AllowIncompatiblePlatform=True /Properties:CommandTimeout=1800 \\
    "/Properties:ExcludeObjectTypes=${leadingObjects.join(";")}" || fail "the branch's database could not be made"
  rm "$STAGING/branch.dacpac"
fi
if [ "$COPY_MODE" = empty ] && [ "$reads_source" != 0 ]; then
  {
    cat << 'END'
${pruningStart}
END
    cat "$STAGING/kept.sql"
    cat << 'END'
${pruning}
END
  } > "$STAGING/prune.sql"
  quietly enter -I -d "$database" -i "$STAGING/prune.sql" ||
    fail "tables that are not to be copied could not be dropped"
fi

# Rows of single tables. A filter stands in the one statement that bcp sends, a select.
trust=
if [ "\${COPY_ITEMS:-0}" != 0 ]; then case $(bcp -v) in *[Vv]ersion:*" 1"[0-7].*) ;; *) trust=-u ;; esac; fi
# The exit code alone does not tell that rows were lost.
bulk() {
  quietly run bcp "$@" || return 1
  grep -q '^Error = ' "$STAGING/tool.log" || return 0
  told "$STAGING/tool.log" >&2
  return 1
}
copied() { sed -n 's/^\\([0-9][0-9]*\\) rows copied.*/\\1/p' "$STAGING/tool.log"; }
number=0
while IFS= read -r table; do
  eval "filter=\\\${COPY_FILTER_$number-}"
  condition=
  [ -z "$filter" ] || condition=" where ($filter
)"
  bulk "select * from $table$condition" queryout "$STAGING/rows" -n -q -k -m 1 -S "$server" $trust \\
    -U"$user" -P"$password" -d "$source_database" -l 15 || fail "rows of table $table could not be read"
  sent=$(copied)
  bulk "$table" in "$STAGING/rows" -n -q -k -E -m 1 -e "$STAGING/refused" $trust \\
    -S tcp:127.0.0.1,1433 -Usa -P"$BRANCH_PASSWORD" -d "$database" -l 15 ||
    fail "rows of table $table could not be written"
  [ -n "$sent" ] && [ "$(copied)" = "$sent" ] && [ ! -s "$STAGING/refused" ] ||
    fail "rows of table $table were not all copied"
  rm -f "$STAGING/rows" "$STAGING/refused"
  number=$((number + 1))
done < "$STAGING/tables"
if [ "$COPY_MODE" != empty ]; then
  ask "${sequences}"
  # Nothing but these statements is run.
  ! grep -qvE '^(alter sequence \\[.*;)?$' "$STAGING/answer" || fail "the source's sequences could not be read"
  if [ -s "$STAGING/answer" ]; then
    quietly enter -d "$database" -i "$STAGING/answer" || fail "the branch's sequences could not be set"
  fi
fi
# The server ends the connection of the program that asks it to end. It has a minute to write all that it has.
enter -Q shutdown > "$STAGING/tool.log" 2>&1 || :
number=0
while [ "$number" -lt 600 ] && kill -0 "$server_id" 2> /dev/null; do
  sleep 0.1
  number=$((number + 1))
done
[ "$number" -lt 600 ] || fail "the server did not end"
wait "$server_id" || :
trap - EXIT
rm -rf "\${STAGING:?}"/*
`

/** The server listens at the pod's address, or at all of them where it has none that the server can take. */
export const serveScript = `${programs}
case \${POD_IP-} in
  "" | *:*) unset MSSQL_IP_ADDRESS ;;
  *) export MSSQL_IP_ADDRESS="$POD_IP" ;;
esac
exec sqlservr "$@"
`

/** The port is open while the server still recovers its databases. One with a collation takes connections. */
export const startedScript = `${programs}
host=127.0.0.1
case \${POD_IP-} in "" | *:*) ;; *) host=$POD_IP ;; esac
SQLCMDPASSWORD="$BRANCH_PASSWORD" exec sqlcmd -C -b -x -h -1 -l 5 -S "tcp:$host,1433" -Usa -Q "
if exists (select 1 from sys.databases where databasepropertyex(name, 'Collation') is null)
  raiserror(N'starting', 16, 1)"
`
