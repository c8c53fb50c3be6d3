#!/bin/sh
# Copies a database of MySQL or MariaDB by the dump program and the client of the image, whose programs say which of the
# two it is: MySQL's servers take some options that MariaDB's lack.
#
# Variables and exit codes: shared/start.sh. User text reaches the programs as whole arguments, and statements quoted.
# Passwords are in variables of the programs' own. Until the copy is done, the server listens to no address.

. "$(dirname "$0")/../shared/start.sh"

# Text is taken byte by byte, and no variable of the image may lead the programs elsewhere.
export LC_ALL=C
unset MYSQL_HOST MYSQL_TCP_PORT MYSQL_UNIX_PORT
. "$(dirname "$0")/../shared/source.sh"
case ${SOURCE_URL-} in
  "") ;;
  mysql://* | mysql+*://* | mysql2://* | mariadb://* | mariadb+*://*) read_url ;;
  *) unread "the source's URL has no form that can be read: it must begin with mysql:// or mariadb://" ;;
esac
[ -n "$host" ] || unread "the source's address has no host"

database=${DATABASE_NAME:-$source_database}
source_database=${source_database:-$database}
[ -n "$database" ] || unread "the source's address names no database: set the name of the branch"

# Programs, and the options that only one of the engines has.
. "$(dirname "$0")/server.sh"
if [ "$server" = mariadbd ]; then
  client=mariadb
  dump=mariadb-dump
  # With TLS where the source has it, as MySQL's programs do by themselves.
  secured=--ssl-verify-server-cert=0
else
  client=mysql
  dump=mysqldump
  secured=--get-server-public-key
fi

# Runs the program $2 with the password $1.
run() (
  export MYSQL_PWD="$1"
  program=$2
  shift 2
  exec "$program" --no-defaults --default-character-set=utf8mb4 --max-allowed-packet=1G "$@"
)
# The source, whose sessions only read.
from_source() {
  reader=$1
  shift
  run "$password" "$reader" "$secured" --protocol=tcp --host="$host" --port="${port:-3306}" --user="${user:-root}" "$@"
}
# A client that fails also repeats the statement, which may hold rows or the branch's password.
quietly() {
  "$@" 2> "$STAGING/client.log" || {
    while IFS= read -r line; do
      case $line in ERROR* | "$client: "*) say "$line" >&2 ;; esac
    done < "$STAGING/client.log"
    return 1
  }
}
# The modes of the source may give quotes and backslashes another meaning. Only MySQL reads the first comment, and only
# MariaDB the second one.
modes="set session sql_mode = ''
  /*!50720 , transaction_read_only = 1, max_execution_time = cast(
    if(@@max_execution_time between 1 and ${COPY_SECONDS}000, @@max_execution_time, ${COPY_SECONDS}000) as unsigned) */
  /*M!100101 , max_statement_time =
    if(@@max_statement_time between 1 and $COPY_SECONDS, @@max_statement_time, $COPY_SECONDS) */"
ask() {
  { say "$modes;" && cat; } | quietly from_source "$client" \
    --connect-timeout=10 --init-command='set session transaction read only' \
    --database="$source_database" --batch --skip-column-names --raw --binary-mode
}
# A text, and a name, inside of a statement.
literal() { printf "'%s'" "$(printf %s "$1" | sed "s/[\\\\']/\\\\&/g")"; }
# shellcheck disable=SC2016 # Backticks of MySQL run nothing.
identifier() { printf '`%s`' "$(printf %s "$1" | sed 's/`/``/g')"; }

# A copy that was cut off is begun again.
rm -rf "$DATA" "$DATA.cnf"
rm -rf "${STAGING:?}"/*
folded=0
characters=
if [ "$reads_source" != 0 ]; then
  if [ "$server" = mariadbd ] && ! say 'select 1;' | ask > "$STAGING/answer" 2>&1; then
    case $(cat "$STAGING/answer") in *SSL*) secured=--skip-ssl ;; esac
  fi
  # Whether the source tells large and small letters of tables apart can be said only once.
  folded=$(say 'select if(@@lower_case_table_names, 1, 0);' | ask)
  characters=$(say "select concat('character set ', default_character_set_name, ' collate ', default_collation_name)
    from information_schema.schemata where schema_name = database();" | ask)
fi
cat > "$DATA.cnf" << END
[mysqld]
lower_case_table_names = $folded
max_allowed_packet = 1G
skip_name_resolve
skip_log_bin
END
if [ "$server" = mariadbd ]; then
  mariadb-install-db --defaults-file="$DATA.cnf" --datadir="$DATA" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve > "$STAGING/install.log" 2>&1 || { cat "$STAGING/install.log" >&2; exit 1; }
else
  printf 'mysqlx = OFF\nsecure_file_priv = NULL\n' >> "$DATA.cnf"
  mysqld --defaults-file="$DATA.cnf" --datadir="$DATA" --initialize-insecure > "$STAGING/install.log" 2>&1 ||
    { cat "$STAGING/install.log" >&2; exit 1; }
fi
"$server" --defaults-file="$DATA.cnf" --datadir="$DATA" --skip-networking --socket="$STAGING/s" \
  --pid-file="$STAGING/pid" --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=OFF > "$STAGING/server.log" 2>&1 &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
root_password=
into_branch() { quietly enter "$@"; }
enter() {
  run "$root_password" "$client" --protocol=socket --socket="$STAGING/s" --user=root --batch --skip-column-names \
    --raw --binary-mode "$@"
}
until say 'select 1;' | into_branch > "$STAGING/answer" 2>&1; do
  kill -0 "$server_id" 2> /dev/null || { cat "$STAGING/server.log" >&2; exit 1; }
  sleep 0.1
done

# The branch's user. A user of the same name at a nearer host would be taken for it.
say "select concat('drop user ', quote(user), '@', quote(host), ';') from mysql.user
  where user = '' or (user = 'root' and host <> 'localhost');" | into_branch > "$STAGING/users.sql"
new_password=$(literal "$BRANCH_PASSWORD")
{
  say "alter user 'root'@'localhost' identified by $new_password;"
  say "create user 'root'@'%' identified by $new_password;"
  say "grant all on *.* to 'root'@'%' with grant option;"
} >> "$STAGING/users.sql"
into_branch < "$STAGING/users.sql"
rm "$STAGING/users.sql"
root_password=$BRANCH_PASSWORD
if [ -n "$database" ]; then
  target=$(identifier "$database")
  say "create database $target $characters;" | into_branch
fi

# Views, triggers and routines run as the users that made them, who never log in here.
if [ "$reads_source" != 0 ]; then
  say "select distinct concat(quote(substring_index(definer, '@', char_length(definer)
      - char_length(replace(definer, '@', '')))), '@', quote(substring_index(definer, '@', -1))) from (
    select definer from information_schema.views where table_schema = database() union
    select definer from information_schema.triggers where trigger_schema = database() union
    select definer from information_schema.routines where routine_schema = database() union
    select definer from information_schema.events where event_schema = database()
  ) as objects where definer like '_%@_%';" | ask > "$STAGING/definers"
  while IFS= read -r definer; do
    case $definer in
      "'root'@"*) say "create user if not exists $definer identified by $new_password;
        grant all on *.* to $definer with grant option;" ;;
      *) say "create user if not exists $definer account lock; grant all on $target.* to $definer;" ;;
    esac
  done < "$STAGING/definers" > "$STAGING/definers.sql"
  into_branch < "$STAGING/definers.sql"
  rm "$STAGING/definers.sql"
fi

# Prints the dump as it grows, until its program has ended.
follow_dump() {
  while :; do
    is_ended=0
    if [ -f "$STAGING/ended" ] || ! kill -0 "$dump_id" 2> /dev/null; then is_ended=1; fi
    cat || return 0
    [ "$is_ended" = 0 ] || break
    sleep 0.1
  done < "$STAGING/dump"
  : > "$STAGING/followed"
}
# Dumps the source, and restores the dump meanwhile. The source is read as fast as it answers: a pipe would make its
# session wait while the branch builds an index. A copy is whole if all three say so; else all of it goes.
copy_dump() {
  rm -f "$STAGING/dumped" "$STAGING/ended" "$STAGING/followed"
  [ "$server" = mariadbd ] || set -- --set-gtid-purged=OFF --column-statistics=0 --loose-masking-policies=0 "$@"
  : > "$STAGING/dump"
  {
    from_source "$dump" --single-transaction --no-tablespaces --hex-blob "$@" > "$STAGING/dump" \
      2> "$STAGING/dump.log" && : > "$STAGING/dumped"
    : > "$STAGING/ended"
  } &
  dump_id=$!
  restored=1
  follow_dump | into_branch --database="$database" 2> "$STAGING/restore.log" || restored=0
  # A dump that broke off may end within a statement, of which the branch complains too.
  if [ -f "$STAGING/followed" ] && [ ! -f "$STAGING/dumped" ]; then
    cat "$STAGING/dump.log" >&2
    fail "the dump of the source broke off"
  fi
  if [ "$restored" = 0 ] || [ ! -f "$STAGING/followed" ]; then
    cat "$STAGING/restore.log" >&2
    fail "the dump could not be restored"
  fi
  # MySQL's program leaves out what it may not see, and ends as if all were well.
  lacks_some=0
  while IFS= read -r line; do
    case $line in
      "" | [Ww]arning:* | WARNING:* | "-- Warning:"* | *": [Warning] "*) ;;
      *) lacks_some=1 ;;
    esac
  done < "$STAGING/dump.log"
  [ "$lacks_some" = 0 ] || { cat "$STAGING/dump.log" >&2; exit 1; }
}

# Structures. A table that the user names must be there.
set --
triggers=1
argument=
name=
filter=
number=0
while [ "$number" -lt "${DUMP_ARGUMENTS:-0}" ]; do
  eval "argument=\$DUMP_ARGUMENT_$number"
  [ "$argument" != --skip-triggers ] || triggers=0
  set -- "$@" "$argument"
  number=$((number + 1))
done
[ "$COPY_MODE" != empty ] || set -- "$@" --skip-routines --skip-events
set -- "$@" -- "$source_database"
number=0
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  eval "name=\$COPY_ITEM_$number"
  found=$(say "select count(*) from information_schema.tables where table_schema = database()
    and table_name = $(literal "$name") and table_type not like '%VIEW';" | ask)
  [ "$found" != 0 ] || fail "the source has no table $name"
  if [ "$COPY_MODE" = empty ]; then set -- "$@" "$name"; fi
  number=$((number + 1))
done
if [ "$COPY_MODE" = all ]; then
  copy_dump "$@"
elif [ "$reads_source" != 0 ]; then
  copy_dump --no-data --skip-triggers "$@"
fi

# Rows of single tables. A filter is tried where it cannot write before the dump program gets it.
number=0
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  eval "name=\$COPY_ITEM_$number"
  eval "filter=\${COPY_FILTER_$number-}"
  set --
  if [ -n "$filter" ]; then
    {
      say "select count(*) from $(identifier "$name") where ("
      say "$filter"
      say ');'
    } | ask > "$STAGING/answer" || fail "rows of table $name could not be copied"
    set -- --where="($filter
)"
    # MariaDB's program has no such option, and cuts its own limit of more than nine seconds off.
    [ "$server" = mariadbd ] || set -- --loose-init-command="$modes" "$@"
  fi
  copy_dump --no-create-info --skip-triggers "$@" -- "$source_database" "$name"
  number=$((number + 1))
done

# Triggers come last, so that copied rows do not run them.
if [ "$COPY_MODE" != empty ] && [ "$triggers" = 1 ]; then
  if [ "$COPY_MODE" = schema ]; then
    copy_dump --no-create-info --no-data --triggers -- "$source_database"
  fi
  seen=$(say "select (select count(*) from information_schema.user_privileges where privilege_type = 'TRIGGER') +
    (select count(*) from information_schema.schema_privileges
      where privilege_type = 'TRIGGER' and database() like table_schema) +
    (select count(*) from information_schema.table_privileges where privilege_type = 'TRIGGER');" | ask)
  [ "$seen" != 0 ] || say "warning: the source's user has no right to see triggers, so the branch may lack some" >&2
fi
# A foreign key into a table that was not copied would refuse every new row.
if [ "$reads_source" != 0 ]; then
  into_branch --database="$database" << 'END' > "$STAGING/keys.sql"
select concat('alter table `', replace(table_name, '`', '``'), '` drop foreign key `',
    replace(constraint_name, '`', '``'), '`;')
  from information_schema.referential_constraints as r where constraint_schema = database() and not exists (
    select 1 from information_schema.tables as t
    where t.table_schema = r.unique_constraint_schema and t.table_name = r.referenced_table_name
  );
END
  into_branch --database="$database" < "$STAGING/keys.sql"
fi
trap - EXIT
kill "$server_id"
wait "$server_id"
rm -rf "${STAGING:?}"/*
