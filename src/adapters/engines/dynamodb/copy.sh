#!/bin/sh
# Makes the folder of a branch of DynamoDB, which begins empty.
#
# Variables: DATA, the folder; COPY_MODE, which must be empty.
# Exit codes: 1 for every other mode.

set -eu
[ "$COPY_MODE" = empty ] || { echo "tables of DynamoDB cannot be copied" >&2; exit 1; }
mkdir -p "$DATA"
