/**
 * A program in Flyway's place, for the image of Flyway as a process of this machine: it takes Flyway's variables, and
 * applies the files of its folder by the machine's `psql`. Each file is applied once; one that was changed since
 * fails.
 */

import { execFileSync } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ContainerProgram } from "../../../lab/cluster/node/container-program.ts"
import type { PodAddresses } from "../../../lab/cluster/node/pod-addresses.ts"
import { postgresqlImage, programPath } from "./postgresql-server.ts"

const flyway = `#!/bin/sh
set -eu
[ "$1" = migrate ]
export PGUSER="$FLYWAY_USER" PGPASSWORD="$FLYWAY_PASSWORD"
sql() { psql --no-psqlrc --quiet --tuples-only --no-align --set=ON_ERROR_STOP=1 "\${FLYWAY_URL#jdbc:}" "$@"; }
sql --command="set client_min_messages = warning;
  create table if not exists flyway_schema_history (name text primary key, checksum text)"
for file in "\${FLYWAY_LOCATIONS#filesystem:}"/*.sql; do
  name=$(basename "$file")
  checksum=$(md5sum < "$file" | cut -c1-32)
  known=$(sql --command="select checksum from flyway_schema_history where name = '$name'")
  if [ -z "$known" ]; then
    sql --single-transaction --file="$file" --command="insert into flyway_schema_history values ('$name', '$checksum')"
  elif [ "$known" != "$checksum" ]; then
    echo "ERROR: Validate failed: Migration checksum mismatch for migration $name" >&2
    exit 1
  fi
done
`

let folder: string | undefined

/** The folder with the program, which lives as long as this process. */
const programFolder = (): string => {
  if (folder !== undefined) return folder
  const made = mkdtempSync(join(tmpdir(), "flyway-"))
  process.once("exit", () => rmSync(made, { recursive: true, force: true }))
  writeFileSync(join(made, "flyway"), flyway)
  for (const path of [made, join(made, "flyway")]) chmodSync(path, 0o755)
  folder = made
  return made
}

/** The images of PostgreSQL and of Flyway. */
export const postgresqlImages = (addresses: PodAddresses): ReadonlyMap<string, ContainerProgram> =>
  new Map([
    ["docker.io/library/postgres", postgresqlImage(addresses)],
    ["docker.io/flyway/flyway", postgresqlImage(addresses, `${programFolder()}:${programPath}`)]
  ])

/** Writes files of migrations, by name, into a new folder. */
export const writeMigrations = (place: string, files: Readonly<Record<string, string>>): string => {
  const path = mkdtempSync(join(place, "migrations-"))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return path
}

/** The files as a client sends them. */
export const archiveOf = (files: Readonly<Record<string, string>>): string => {
  const path = writeMigrations(tmpdir(), files)
  try {
    return execFileSync("tar", ["-czf", "-", "-C", path, "."]).toString("base64")
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
}
