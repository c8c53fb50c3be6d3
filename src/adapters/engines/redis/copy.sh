#!/bin/sh
# Copies the keys of one database of Redis: they are read by SCAN, PTTL and DUMP, which need no rights of replication
# and work through proxies, and restored in a server that then saves them to its data folder. Where the source lets its
# user run scripts that only read, one call of EVAL_RO reads many keys.
#
# Variables and exit codes: shared/start.sh. Keys and values pass through files as redis-cli quotes and reads them, one
# in a line. Until the copy is done, the server listens to no address.
#
# Reading many keys at once may fail, in part too: the keys that the branch then lacks are read one by one, and only an
# error of that fails the copy. The answers go to the branch as they come, so their user may do no more than restore.

. "$(dirname "$0")/../shared/start.sh"

# Text is taken byte by byte, and no variable of the image may lead the programs elsewhere.
export LC_ALL=C
unset REDISCLI_AUTH REDISCLI_RCFILE
. "$(dirname "$0")/../shared/source.sh"
case ${SOURCE_URL-} in
  "") ;;
  redis://* | rediss://*) read_url ;;
  *) unread "the source's URL has no form that can be read: it must begin with redis:// or rediss://" ;;
esac
[ -n "$host" ] || unread "the source's address has no host"

case ${SOURCE_URL-} in
  *\?db=* | *\?*\&db=*)
    source_database=${SOURCE_URL##*[?\&]db=}
    source_database=${source_database%%[\&#]*}
    ;;
esac
case $source_database in
  *[!0-9]* | 0?* | ?????*)
    unread "the source's address has no index of a database, such as 0"
    source_database=
    ;;
esac
source_database=${source_database:-${DATABASE_NAME:-0}}
database=${DATABASE_NAME:-$source_database}
secured=
case ${SOURCE_URL-} in rediss:*) secured=1 ;; esac

# The source. The answers of its server come quoted.
from_source() (
  [ -z "$password" ] || export REDISCLI_AUTH="$password"
  [ -z "$user" ] || set -- --user "$user" "$@"
  [ -z "$secured" ] || set -- --tls --insecure "$@"
  exec redis-cli -h "$host" -p "${port:-6379}" -n "$source_database" --no-raw "$@"
)
into_branch() { redis-cli -s "$STAGING/s" -n "$database" --no-raw "$@"; }
# Fails with the first error among answers.
refuse_errors() {
  told=$(sed -n '/^(error) /{s/^(error) //p;q;}' "$1")
  [ -z "$told" ] || fail "$2: $told"
}
lines() { wc -l < "$1" | tr -d ' '; }
# Answers to commands that redis-cli reads: behind an answer that took half a second it writes how long, as (0.86s).
answers_only() { sed '/^([0-9]*\.[0-9]*s)$/d'; }
# The commands that run a script ($1) with all keys, 100 at a time.
with_keys() {
  program=$1
  set -- - - - - - - - - - -
  set -- "$@" "$@" "$@" "$@" "$@" "$@" "$@" "$@" "$@" "$@"
  paste -d ' ' "$@" | sed "s/^/$program /"
}
# Keys by their patterns, or all of them. Redis 7.2 or later lists more than 10 a call.
list_keys() {
  set --
  case $(redis-cli --help 2>&1) in *"--count <"*) set -- --count 1000 ;; esac
  if [ "${COPY_ITEMS:-0}" = 0 ]; then from_source --scan "$@" || return 1; fi
  pattern=
  number=0
  while [ "$number" -lt "${COPY_ITEMS:-0}" ]; do
    eval "pattern=\$COPY_ITEM_$number"
    from_source --scan "$@" --pattern "$pattern" || return 1
    number=$((number + 1))
  done
  : > "$STAGING/listed"
}
# Copies keys, many at once, as far as that goes.
copy_many() {
  with_keys "$read_many" | from_source --raw 2> "$STAGING/answer" |
    REDISCLI_AUTH=none into_branch --user copy --pipe > "$STAGING/answers" 2>&1 || :
}
# Commands that run a script, each in one line. No sign in them may mean something to sed or within double quotes of
# redis-cli.
#
# For the source: reads the keys of ARGV into one answer, which is the commands that restore them, as the protocol has
# them. It leaves out the keys behind 4 MB, so that the source answers others soon and needs little memory.
read_many=$(paste -s -d ' ' - << 'END'
eval_ro "local parts, size, crlf = {}, 0, string.char(13, 10)
for _, key in ipairs(ARGV) do
local value = redis.call('dump', key)
if value then
local left = redis.call('pttl', key)
local time = left < 0 and '0' or string.format('%d', math.max(left, 1))
parts[#parts + 1] = table.concat({'*5', '$7', 'restore', '$' .. #key, key, '$' .. #time, time,
'$' .. #value, value, '$7', 'replace', ''}, crlf)
size = size + #value
if size > 4000000 then break end
end end
return table.concat(parts)" 0
END
)
# For the branch: the keys of ARGV that it does not have, behind a 1.
find_absent=$(paste -s -d ' ' - << 'END'
eval "local absent = {1}
for _, key in ipairs(ARGV) do
if redis.call('exists', key) == 0 then absent[#absent + 1] = key end
end
return absent" 0
END
)

# A copy that was cut off is begun again.
rm -rf "$DATA" "$DATA.conf"
rm -rf "${STAGING:?}"/*
mkdir "$DATA"
databases=16
[ "${database:-0}" -lt 16 ] 2> /dev/null || databases=$((database + 1))
if [ "$reads_source" != 0 ]; then
  # A login that fails and a database that is not there are told, and the program goes on without.
  from_source scan 0 count 1 > "$STAGING/answer" 2>&1 || :
  case $(sed -n 1p "$STAGING/answer") in '1) "'*) ;; *) cat "$STAGING/answer" >&2 && exit 1 ;; esac
  [ "$(from_source readonly)" != OK ] || fail "the source is a cluster, whose keys are at several servers: not served"
fi
printf 'requirepass "%s"\n' "$(printf %s "$BRANCH_PASSWORD" | sed 's/["\\]/\\&/g')" > "$DATA.conf"
printf 'databases %s\nsave ""\nappendonly no\n' "$databases" >> "$DATA.conf"
redis-server --dir "$DATA" --databases "$databases" --port 0 --unixsocket "$STAGING/s" --unixsocketperm 700 \
  --save "" --appendonly no > "$STAGING/server.log" 2>&1 &
server_id=$!
trap 'kill -9 "$server_id" 2> /dev/null || :' EXIT
until into_branch ping > "$STAGING/answer" 2>&1; do
  kill -0 "$server_id" 2> /dev/null || { cat "$STAGING/server.log" >&2; exit 1; }
  sleep 0.1
done

if [ "$reads_source" != 0 ]; then
  into_branch acl setuser copy on nopass '~*' +select +restore +echo > "$STAGING/answer"
  many=$(from_source eval_ro "return 1" 0 2>&1) || :
  if [ "$many" = "(integer) 1" ]; then
    before=0
    # The list is whole, whatever becomes of the rest.
    list_keys | { tee "$STAGING/keys" || rm -f "$STAGING/listed"; } | { copy_many && cat > /dev/null; }
  else
    before=all
    list_keys | cat > "$STAGING/keys" || rm -f "$STAGING/listed"
  fi
  [ -f "$STAGING/listed" ] || fail "the source's keys could not be listed"
  refuse_errors "$STAGING/keys" "the source's keys could not be listed"
  # Many at once again, as long as that brings some.
  [ "$(into_branch dbsize)" != "(integer) $(lines "$STAGING/keys")" ] || : > "$STAGING/keys"
  while [ "$before" != all ] && [ -s "$STAGING/keys" ] && [ "$(lines "$STAGING/keys")" != "$before" ]; do
    before=$(lines "$STAGING/keys")
    with_keys "$find_absent" < "$STAGING/keys" | into_branch > "$STAGING/answers" 2> /dev/null
    refuse_errors "$STAGING/answers" "the branch does not tell its keys"
    [ "$(grep -c '^ *1) (integer) 1$' "$STAGING/answers")" = "$(((before + 99) / 100))" ] ||
      fail "the branch's server was lost"
    sed -n 's|^ *[0-9]*) "|"|p' "$STAGING/answers" > "$STAGING/keys"
    copy_many < "$STAGING/keys"
  done
  # The others, one by one.
  mkdir "$STAGING/parts"
  split -a 6 -l 5000 "$STAGING/keys" "$STAGING/parts/"
  for part in "$STAGING/parts/"*; do
    [ -f "$part" ] || continue
    sed 's/.*/pttl &\
dump &/' "$part" > "$STAGING/commands"
    from_source < "$STAGING/commands" | answers_only > "$STAGING/answers"
    refuse_errors "$STAGING/answers" "the source's keys could not be read"
    [ "$(lines "$STAGING/answers")" = "$(lines "$STAGING/commands")" ] ||
      fail "the source's keys could not be read: the connection was lost"
    # A key that is gone meanwhile has no value; one without a time has -1, and one with 0 has almost none left.
    paste -d ' ' - - < "$STAGING/answers" | sed '
      s/^(integer) -[0-9]* "/0 "/
      s/^(integer) 0 "/1 "/
      s/^(integer) \([0-9]* "\)/\1/' |
      paste -d ' ' "$part" - | sed '/ (nil)$/d; s/^/restore /; s/$/ replace/' > "$STAGING/commands"
    into_branch < "$STAGING/commands" | answers_only > "$STAGING/answers"
    refuse_errors "$STAGING/answers" "the branch does not take a key"
    [ "$(lines "$STAGING/answers")" = "$(lines "$STAGING/commands")" ] || fail "the branch's server was lost"
    rm "$part"
  done
fi
[ "$(into_branch save)" = OK ] || { cat "$STAGING/server.log" >&2; exit 1; }
trap - EXIT
into_branch shutdown nosave > "$STAGING/answer" 2>&1 || :
wait "$server_id" || :
rm -rf "${STAGING:?}"/*
