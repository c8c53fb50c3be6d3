#!/bin/sh
# The beginning of every program that copies; it is read by them and never runs alone.
#
# Variables, as the pod of a branch has them:
#   DATA             folder that the copy is made in; it is made new
#   STAGING          folder for all else; it is emptied, and is empty again after a copy
#   BRANCH_PASSWORD  password of the branch's own user
#   COPY_MODE        empty, schema or all
#   COPY_SECONDS     how long a question with a filter may keep the source busy
#   COPY_ITEMS       how many parts are copied by name: COPY_ITEM_0 and so on, and COPY_FILTER_0 where rows are left out
#   DUMP_ARGUMENTS   how many arguments the dump program gets: DUMP_ARGUMENT_0 and so on
#   DATABASE_NAME    name of the branch's database; without it that of the source
#   SOURCE_URL, or SOURCE_HOST, _PORT, _USER, _PASSWORD, _DATABASE and _SSLMODE: where the source is. A branch that
#                    begins empty needs none.
#
# Exit codes of a copy: 0 if all is there, else that of the program that failed, or 1. The last lines of its errors say
# why, in words for the branch's user.

set -eu
umask 077
say() { printf '%s\n' "$1"; }
fail() { say "$1" >&2; exit 1; }

reads_source=${COPY_ITEMS:-0}
[ "$COPY_MODE" = empty ] || reads_source=1
value=
for part in URL HOST PORT USER PASSWORD DATABASE SSLMODE; do
  eval "value=\${SOURCE_$part-}"
  # shellcheck disable=SC2016 # The kubelet leaves the name of a variable that is missing as it is.
  case $value in
    '$(TARGET_'*')')
      [ "$reads_source" = 0 ] || fail "the target's container has no variable for the source's $part"
      unset "SOURCE_$part"
      ;;
  esac
done
