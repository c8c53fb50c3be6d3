#!/bin/sh
# Copies a database of PostgreSQL: the server is made by initdb, and filled by pg_dump, pg_restore and psql of its own
# image.
#
# Variables and exit codes: shared/start.sh, and SOURCE_OPTIONS, settings of the source's sessions, as PGOPTIONS has
# them.
#
# User text reaches psql and pg_dump as values of variables or as whole arguments. Until the copy is done, the server
# listens to no address, so nothing can take it for ready.

. "$(dirname "$0")/../shared/start.sh"

# The source. Its sessions only read. A URL may hold options of its own, so the transaction of a filter says so again.
source_url=${SOURCE_URL-}
case $source_url in
  "" | postgres://* | postgresql://*) ;;
  postgres+*://* | postgresql+*://*) source_url="postgresql://${source_url#*://}" ;;
  *)
    [ "$reads_source" = 0 ] || fail "the source's URL has no form that can be read: it must begin with postgresql://"
    source_url=
    ;;
esac
from_source() (
  export PGOPTIONS="${SOURCE_OPTIONS-} -c default_transaction_read_only=on" PGCONNECT_TIMEOUT=10
  for part in HOST PORT USER PASSWORD DATABASE SSLMODE; do
    eval "value=\${SOURCE_$part-}"
    [ -z "$value" ] || export "PG$part=$value"
  done
  program=$1
  shift
  exec "$program" --dbname="$place" --no-password "$@"
)
# A text inside of a connection's parameters.
parameter() { printf "'%s'" "$(printf %s "$1" | sed "s/[\\\\']/\\\\&/g")"; }
place=${source_url:-dbname=$(parameter "${SOURCE_DATABASE:-postgres}")}
ask() { from_source psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "$@"; }

# The name of the database: the user's, or that in the source, which is asked only if something is copied from it.
database=${DATABASE_NAME-}
if [ -z "$database" ]; then
  if [ "$reads_source" != 0 ]; then
    database=$(say 'select current_database()' | ask)
  elif [ -n "$source_url" ]; then
    path=${source_url#*://}
    path=${path%%\?*}
    case $path in */*) database=${path#*/} ;; esac
    case $database in *%*) fail "the database's name in the source's URL is encoded: set the name of the branch" ;; esac
  else
    database=${SOURCE_DATABASE-}
  fi
fi
database=${database:-postgres}

# A copy that was cut off is begun again.
rm -rf "$DATA"
rm -rf "${STAGING:?}"/*
printf %s "$BRANCH_PASSWORD" > "$STAGING/password"
initdb --pgdata="$DATA" --username=postgres --pwfile="$STAGING/password" --auth=scram-sha-256 --encoding=UTF8 \
  --no-sync > "$STAGING/initdb.log" 2>&1 || { cat "$STAGING/initdb.log" >&2; exit 1; }
rm "$STAGING/password"
say 'host all all all scram-sha-256' >> "$DATA/pg_hba.conf"
# A lost server is copied again, so it need not write everything twice, nor see to it that it is on disk.
pg_ctl --pgdata="$DATA" --silent --wait --log="$STAGING/server.log" start \
  --options="-c listen_addresses= -c unix_socket_directories='$STAGING' -c port=5432 -c fsync=off \
    -c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off -c maintenance_work_mem=256MB \
    -c max_locks_per_transaction=1024" || { cat "$STAGING/server.log" >&2; exit 1; }
# No variable of the container may lead the programs elsewhere.
unset PGSERVICE PGHOSTADDR
into_branch() (
  export PGPASSWORD="$BRANCH_PASSWORD" PGHOST="$STAGING" PGPORT=5432 PGUSER=postgres
  exec "$@"
)
enter() { into_branch psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 "$@" > "$STAGING/psql.log"; }
if [ "$database" != postgres ]; then
  say 'create database :"name";' | enter --dbname=postgres --set=name="$database"
fi
target=dbname=$(parameter "$database")

# Structures. A table that the user names must be there; roles are needed by policies and never log in.
if [ "$reads_source" != 0 ]; then
  say "select format('create role %I nologin;', rolname) from pg_roles
    where rolname !~ '^pg_' and rolname <> 'postgres'" | ask > "$STAGING/roles.sql"
  enter --dbname="$target" --file="$STAGING/roles.sql"
fi
set --
argument=
name=
filter=
number=0
while [ "$number" -lt "${DUMP_ARGUMENTS:-0}" ]; do
  eval "argument=\$DUMP_ARGUMENT_$number"
  set -- "$@" "$argument"
  number=$((number + 1))
done
if [ "$COPY_MODE" = empty ] && [ "$reads_source" != 0 ]; then
  # A dump of single tables has neither their schemas nor the types of their columns.
  from_source pg_dump --format=custom --file="$STAGING/kinds" --schema-only --exclude-table='*.*' "$@"
fi
number=0
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  eval "name=\$COPY_ITEM_$number"
  # The name with its schema, as the source finds it.
  found=$(say "select format('%I.%I', n.nspname, c.relname) from pg_class c join pg_namespace n
    on n.oid = c.relnamespace where c.oid = to_regclass(:'name') and c.relkind in ('r', 'p')" | ask --set=name="$name")
  [ -n "$found" ] || fail "the source has no table $name"
  printf %s "$found" > "$STAGING/item-$number"
  # A column that is computed cannot be filled.
  say "select string_agg(format('%I', attname), ', ' order by attnum) from pg_attribute
    where attrelid = to_regclass(:'name') and attnum > 0 and not attisdropped and attgenerated = ''" |
    ask --set=name="$name" > "$STAGING/columns-$number"
  if [ "$COPY_MODE" = empty ]; then set -- "$@" --table="$found"; fi
  number=$((number + 1))
done
# A subscription would bring its publisher's login along, and its end take the source's slot there.
dump() { from_source pg_dump --format=custom --no-subscriptions "$@"; }
restore() { into_branch pg_restore --dbname="$target" --single-transaction --no-owner --no-acl --no-tablespaces "$@"; }
if [ "$COPY_MODE" = all ]; then
  # The dump goes straight into the server. It counts only if both ends say that it is all.
  restored=1
  { dump --compress=0 "$@" || : > "$STAGING/broken"; } |
    restore --clean --if-exists 2> "$STAGING/restore.log" || restored=0
  # Of a dump that breaks off, the restore says no more than that.
  if [ "$restored" = 0 ]; then grep -Ev ' (could not read from input file|input file is too short)' >&2; fi \
    < "$STAGING/restore.log" || :
  [ "$restored" = 1 ] && [ ! -e "$STAGING/broken" ] || exit 1
elif [ "$reads_source" != 0 ]; then
  dump --file="$STAGING/dump" --schema-only "$@"
fi
if [ "$COPY_MODE" = schema ]; then
  restore --clean --if-exists "$STAGING/dump"
elif [ "$COPY_MODE" = empty ] && [ "$reads_source" != 0 ]; then
  # Whatever the tables need: schemas, types, extensions, functions. No reference to another table, and no trigger.
  number=0
  while [ "$number" -lt "$COPY_ITEMS" ]; do
    say "with recursive needed (classid, objid) as (
        select 'pg_class'::regclass::oid, to_regclass(:'name')::oid
        union
        select found.classid, found.objid from needed, lateral (
          select d.refclassid, d.refobjid from pg_depend d
            where d.classid = needed.classid and d.objid = needed.objid
          union all
          select d.classid, d.objid from pg_depend d
            where d.refclassid = needed.classid and d.refobjid = needed.objid and d.deptype in ('a', 'i')
              and d.refclassid in ('pg_class'::regclass, 'pg_type'::regclass)
        ) as found (classid, objid)
        where found.classid <> 'pg_trigger'::regclass
          and not exists (select from pg_constraint
            where found.classid = 'pg_constraint'::regclass and oid = found.objid and contype = 'f')
          and not exists (select from pg_class
            where found.classid = 'pg_class'::regclass and oid = found.objid and relkind not in ('c', 'i', 'I', 'S'))
      )
      select format('; %s %s ', classid, objid) from needed" |
      ask --set=name="$(cat "$STAGING/item-$number")" >> "$STAGING/needed"
    number=$((number + 1))
  done
  pg_restore --list "$STAGING/kinds" | grep -F -f "$STAGING/needed" > "$STAGING/list" || :
  restore --clean --if-exists --use-list="$STAGING/list" "$STAGING/kinds"
  pg_restore --list "$STAGING/dump" | grep -Ev '^[0-9]+; [0-9]+ [0-9]+ (FK CONSTRAINT|TRIGGER) ' > "$STAGING/list"
  restore --use-list="$STAGING/list" "$STAGING/dump"
fi

# A branch has no logins of other databases, which its foreign tables would read and write. They go before rows come,
# which a partition could hand on.
say "set session_replication_role = replica;
  select format('drop user mapping for %s server %I;', case umuser when 0 then 'public' else format('%I', usename) end,
    srvname) from pg_user_mappings \gexec" | enter --dbname="$target"

# Rows of single tables. Both filter and name are read by psql; the source's transaction cannot write.
number=0
while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
  name=$(cat "$STAGING/item-$number")
  columns=$(cat "$STAGING/columns-$number")
  eval "filter=\${COPY_FILTER_$number-}"
  {
    say 'begin transaction read only;'
    # From the first query on, nothing can make the transaction write. Limits of the source's own stay where they are
    # shorter.
    say "select count(set_config(name, longest::text, true)) as one from pg_settings,
      (values ('statement_timeout', $((COPY_SECONDS * 1000))), ('idle_in_transaction_session_timeout', 60000))
      as limits (limited, longest)
      where case name when limited then setting::bigint not between 1 and longest end \gset ignored_"
    say 'copy (select :columns from :name where (:filter'
    say ')) to stdout;'
  } | ask --set=name="$name" --set=columns="$columns" --set=filter="${filter:-true}" > "$STAGING/rows" ||
    fail "rows of table $name could not be copied"
  {
    # Rows may refer to rows that the filter leaves out.
    say 'set session_replication_role = replica;'
    say 'copy :name (:columns) from stdin;'
    cat "$STAGING/rows"
    say '\.'
  } | enter --dbname="$target" --set=name="$name" --set=columns="$columns"
  rm "$STAGING/rows"
  number=$((number + 1))
done

# Sequences go on behind the rows that were copied.
if [ "${COPY_ITEMS:-0}" != 0 ]; then
  say "select format('select setval(%L, coalesce(max(%I), 1), max(%I) is not null) from %s;',
      s.oid::regclass, a.attname, a.attname, c.oid::regclass)
    from pg_class s join pg_depend d on d.objid = s.oid and d.deptype in ('a', 'i')
    join pg_class c on c.oid = d.refobjid join pg_attribute a on a.attrelid = c.oid and a.attnum = d.refobjsubid
    where s.relkind = 'S' \gexec" | enter --dbname="$target"
fi

# Sessions begin with what the source has set for its database and for its user, such as a search path. Some settings
# name what a branch does not have, and a branch is written. A value may be a secret, so only names are told. Before
# PostgreSQL 14 a name may be any text: a text that psql could read as a command is left out.
if [ "$reads_source" != 0 ]; then
  ask << 'END' > "$STAGING/settings.sql"
set client_encoding to 'UTF8';
select format(E'begin;
select set_config(%L, %L, true) \\gset ignored_
alter database :"name" set %s from current;
\\if :ERROR
\\echo %L
\\endif
commit;', name, substr(setting, length(name) + 2),
    (select string_agg(quote_ident(part), '.') from unnest(string_to_array(name, '.')) as part), name)
  from pg_db_role_setting, unnest(setconfig) as setting, split_part(setting, '=', 1) as name
  where setdatabase in (0, (select oid from pg_database where datname = current_database()))
    and setrole in (0, (select oid from pg_roles where rolname = session_user))
    and name !~ '[^[:alnum:]_$.]' and lower(name) not in ('role', 'session_authorization', 'session_preload_libraries',
      'local_preload_libraries', 'dynamic_library_path', 'default_tablespace', 'temp_tablespaces',
      'default_transaction_read_only')
  order by setrole <> 0, setdatabase <> 0
END
  into_branch psql --no-psqlrc --quiet --dbname="$target" --set=name="$database" --file="$STAGING/settings.sql" \
    > "$STAGING/untaken" 2> "$STAGING/psql.log" || fail "the settings of the source could not be taken over"
  while IFS= read -r name; do
    say "warning: the branch cannot have the setting $name of the source" >&2
  done < "$STAGING/untaken"
fi
pg_ctl --pgdata="$DATA" --silent --wait --mode=fast stop
rm -rf "${STAGING:?}"/*
