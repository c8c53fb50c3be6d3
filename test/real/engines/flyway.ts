/** Flyway as a process of this machine, and files of migrations. */

import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ContainerProgram } from "../../../lab/cluster/node/container-program.ts"
import type { PodAddresses } from "../../../lab/cluster/node/pod-addresses.ts"
import { postgresqlImage } from "./postgresql-server.ts"

/** The images of PostgreSQL and of Flyway. */
export const postgresqlImages = (addresses: PodAddresses): ReadonlyMap<string, ContainerProgram> =>
  new Map([
    ["docker.io/library/postgres", postgresqlImage(addresses)],
    ["docker.io/flyway/flyway", postgresqlImage(addresses)]
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
