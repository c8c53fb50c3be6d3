#!/bin/sh
# Unpacks migrations that the client has sent as an archive, and runs Flyway, whose own variables say where the branch
# is.
#
# Variables: ARCHIVE, the file; WORK, a folder that can be written.
# Exit codes: 0 if all migrations have run, else that of tar or of Flyway.

set -eu
mkdir -p "$WORK/sql"
tar -xzf "$ARCHIVE" --no-same-owner -C "$WORK/sql"
export FLYWAY_LOCATIONS="filesystem:$WORK/sql"
exec flyway migrate
