/** Helpers for tests with PostgreSQL of the machine; the source and the image are the playground's. */

import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chownSync, mkdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { connectedTo, nobody, programEnv, run, type Server } from "../../../lab/playground/branches/postgresql.ts"
import { enginePath, furtherEngine } from "../../../lab/playground/engine-programs.ts"
import { asObject, asObjects, asString, at, type JsonObject } from "../../../src/domain/json.ts"

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

/** Search path with the programs of a further, newer version first. */
export const furtherPath = `${furtherEngine("postgresql", process.env)}:${enginePath(process.env)}`

/**
 * A folder for data: in memory where that has room for some servers, of which those of MySQL write 200 MB to begin
 * with.
 */
export const quickFolder = (): string => {
  try {
    const { bavail, bsize } = statfsSync("/dev/shm")
    return bavail * bsize > 2_000_000_000 ? "/dev/shm" : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** A folder that the engine may write, short enough for a socket, whose path some drivers write in lower case. */
export const engineFolder = (parent = tmpdir()): { readonly path: string; readonly remove: () => void } => {
  const path = join(parent, `pg-${randomBytes(4).toString("hex")}`)
  mkdirSync(path, { mode: 0o700 })
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

/**
 * The two folders of the pod's containers, and one for temporary files: a server of MariaDB that starts deletes those
 * of all others, which in a pod are none.
 */
export const podFolders = (folder: string): Readonly<Record<"DATA" | "STAGING" | "TMPDIR", string>> => {
  const [staging, temporary] = [join(folder, "s"), join(folder, "t")]
  for (const path of [staging, temporary]) {
    mkdirSync(path, { recursive: true })
    if (nobody.uid !== undefined) chownSync(path, nobody.uid, nobody.gid)
  }
  return { DATA: join(folder, "branch"), STAGING: staging, TMPDIR: temporary }
}
