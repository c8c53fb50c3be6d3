/** Helpers for tests with PostgreSQL of the machine; the source and the image are the playground's. */

import { spawn } from "node:child_process"
import { chownSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe } from "vitest"
import {
  connectedTo,
  nobody,
  programPath,
  postgresqlFolder,
  programEnv,
  run,
  type Server
} from "../../../lab/playground/branches/postgresql.ts"
import { asObject, asObjects, asString, at, type JsonObject } from "../../../src/domain/json.ts"
import { isCi } from "../../support/tested-commit.ts"

export {
  connectedTo,
  type Ended,
  engineImage as postgresqlImage,
  nobody,
  programPath,
  run,
  type Server,
  startSource
} from "../../../lab/playground/branches/postgresql.ts"

/** Tests with the engine of this machine; with `CI=true` it must be there. */
export const describePostgresql = postgresqlFolder === undefined && !isCi ? describe.skip : describe

/** A folder that the engine may write, short enough for a socket. */
export const engineFolder = (): { readonly path: string; readonly remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), "pg-"))
  if (nobody.uid !== undefined) chownSync(path, nobody.uid, nobody.gid)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** The environment that a kubelet would give a container: values with `$(NAME)` and `$$`, and keys of Secrets. */
export const resolvedEnv = (
  container: JsonObject,
  secrets: Readonly<Record<string, Readonly<Record<string, string>>>>,
  more: Readonly<Record<string, string>> = {}
): Readonly<Record<string, string>> => {
  const env: Record<string, string> = {}
  for (const entry of asObjects(container["envFrom"])) {
    const prefix = asString(entry["prefix"]) ?? ""
    const secret = secrets[asString(at(entry, "secretRef", "name")) ?? ""] ?? {}
    for (const [key, value] of Object.entries(secret)) env[prefix + key] = value
  }
  for (const entry of asObjects(container["env"])) {
    const reference = asObject(at(entry, "valueFrom", "secretKeyRef"))
    const secret = secrets[asString(reference["name"]) ?? ""] ?? {}
    const value = asString(entry["value"])?.replace(/\$\$|\$\(([^)]+)\)/gu, (whole, name?: string) =>
      name === undefined ? "$" : (env[name] ?? whole)
    )
    env[asString(entry["name"]) ?? ""] = value ?? secret[asString(reference["key"]) ?? ""] ?? ""
  }
  return { ...env, ...more }
}

/** Starts the serving container of a branch, whose data folder is complete. */
export const serveBranch = async (
  command: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  address: string
): Promise<Server> => {
  const [program = "", ...args] = command
  const child = spawn(program, args, { ...nobody, env: programEnv({ ...env, POD_IP: address }), stdio: "ignore" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const server = connectedTo(address, env["BRANCH_PASSWORD"] ?? "", async () => {
    child.kill("SIGINT")
    await ended
  })
  for (;;) {
    const { status } = await run("pg_isready", ["-h", address])
    if (status === 0) return server
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
  }
}

/** The two folders of the pod's containers. */
export const podFolders = (folder: string): Readonly<Record<"DATA" | "STAGING", string>> => {
  const [data, staging] = [join(folder, "branch"), join(folder, "s")]
  mkdirSync(staging, { recursive: true })
  if (nobody.uid !== undefined) chownSync(staging, nobody.uid, nobody.gid)
  return { DATA: data, STAGING: staging }
}
