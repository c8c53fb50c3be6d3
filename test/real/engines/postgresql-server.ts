/** A PostgreSQL of the machine as a source, and the containers of a branch's pod as processes beside it. */

import { execFile, spawn } from "node:child_process"
import { chownSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { ContainerProgram } from "../../../lab/cluster/node/container-program.ts"
import { underRoot } from "../../../lab/cluster/node/container-volumes.ts"
import type { PodAddresses } from "../../../lab/cluster/node/pod-addresses.ts"
import { processProgram } from "../../../lab/cluster/node/process-program.ts"
import { asObject, asObjects, asString, at, type JsonObject } from "../../../src/domain/json.ts"
import { describeWithout } from "./describe-engine.ts"

/** The folder of the engine's programs; nothing where the machine has none. */
const postgresqlFolder = ((): string | undefined => {
  const root = "/usr/lib/postgresql"
  try {
    const [newest] = readdirSync(root).toSorted((a, b) => Number(b) - Number(a))
    return newest === undefined ? undefined : join(root, newest, "bin")
  } catch {
    return undefined
  }
})()

/** The search path with the engine's programs. */
export const postgresqlPath = `${postgresqlFolder ?? ""}:${process.env["PATH"] ?? ""}`

/** Tests with the engine of this machine. */
export const describePostgresql = (name: string, body: () => void): void =>
  describeWithout(postgresqlFolder === undefined ? ["initdb"] : [], name, body)

/** The engine runs as nobody where the tests are root: it refuses to be root. */
export const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

export interface Ended {
  readonly status: number
  readonly out: string
  readonly err: string
}

const programEnv = (env: Readonly<Record<string, string>>) => ({
  LC_ALL: "C.UTF-8",
  PATH: postgresqlPath,
  ...env
})

/** Runs a program to its end. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { ...nobody, env: programEnv(env), cwd: "/", maxBuffer: 64 * 1024 * 1024 }
    execFile(program, args, options, (error, out, err) => {
      const status = error === null ? 0 : typeof error.code === "number" ? error.code : 1
      resolve({ status, out, err })
    })
  })

/** A folder that the engine may write, short enough for a socket. */
export const engineFolder = (): { readonly path: string; readonly remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), "pg-"))
  if (nobody.uid !== undefined) chownSync(path, nobody.uid, nobody.gid)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** A container of a PostgreSQL image as processes of this machine, with the machine's own engine. */
export const postgresqlImage = (addresses: PodAddresses): ContainerProgram =>
  processProgram({
    command: ({ args, containerName, pod, root }) => {
      for (const path of mountsOf(pod, containerName))
        if (nobody.uid !== undefined) chownSync(realpathSync(underRoot(root, path)), nobody.uid, nobody.gid)
      const [program = "sh", ...rest] = args
      return nobody.uid === undefined
        ? [program, ...rest]
        : ["/usr/bin/setpriv", `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, "--clear-groups", program, ...rest]
    },
    env: ({ containerName, env, pod, root }) => {
      const mounts = mountsOf(pod, containerName)
      const moved = [...env].filter(([, value]) =>
        mounts.some((path) => value === path || value.startsWith(`${path}/`))
      )
      const address = env.get("POD_IP")
      return programEnv({
        ...Object.fromEntries(moved.map(([name, value]) => [name, underRoot(root, value)])),
        ...(address === undefined ? {} : { POD_IP: addresses.real(address) })
      })
    }
  })

const mountsOf = (pod: object, container: string): ReadonlyArray<string> =>
  [...asObjects(at(pod, "spec", "containers")), ...asObjects(at(pod, "spec", "initContainers"))]
    .filter(({ name }) => name === container)
    .flatMap(({ volumeMounts }) => asObjects(volumeMounts))
    .flatMap(({ mountPath }) => asString(mountPath) ?? [])

/** A server that listens to an address of its own. */
export interface Server {
  readonly address: string
  readonly query: (database: string, sql: string) => Promise<string>
  readonly stop: () => Promise<void>
}

export const connectedTo = (address: string, password: string, stop: () => Promise<void>): Server => ({
  address,
  stop,
  query: async (database, sql) => {
    const env = { PGHOST: address, PGUSER: "postgres", PGPASSWORD: password, PGCONNECT_TIMEOUT: "10" }
    const args = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", sql]
    const { err, out, status } = await run("psql", args, env)
    if (status !== 0) throw new Error(err)
    return out.trim()
  }
})

/** Starts an empty source. */
export const startSource = async (folder: string, address: string, password: string): Promise<Server> => {
  const data = join(folder, "source")
  const script = `printf %s "$PASSWORD" > "$DATA.pw" &&
    initdb -D "$DATA" -U postgres --pwfile="$DATA.pw" -A scram-sha-256 -E UTF8 -N > /dev/null &&
    pg_ctl -D "$DATA" -w -s -l "$DATA.log" start \
      -o "-c listen_addresses=$ADDRESS -c port=5432 -c unix_socket_directories= -c fsync=off"`
  const { err, status } = await run("sh", ["-c", script], { DATA: data, ADDRESS: address, PASSWORD: password })
  if (status !== 0) throw new Error(err)
  return connectedTo(address, password, async () => {
    await run("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"])
  })
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
