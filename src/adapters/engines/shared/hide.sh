#!/bin/sh
# Runs the program $1 by a shell so that no value of the source is in what it says: all its output goes through the awk
# program $2 (hide.awk) to the errors. The last words of a copy become the branch's status, its Events and the client's
# output, and tools repeat pieces of an address that they read in another way than its writer meant.
#
# Exit codes: that of the program, or 1 if there is no awk.

command -v awk > /dev/null || {
  echo "the image has no awk, which would take secrets out of what its programs say" >&2
  exit 1
}
exec 4>&2
status=$({ { sh -c "$1" 3>&- 4>&-; echo "$?" >&3; } 2>&1 | LC_ALL=C awk "$2" >&4 3>&-; } 3>&1)
exit "${status:-1}"
