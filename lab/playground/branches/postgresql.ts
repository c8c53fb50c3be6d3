/**
 * PostgreSQL of this machine: a source of branches on an address of its own, and the images of branches' pods, whose
 * containers are processes with the machine's own programs.
 */

import { execFile } from "node:child_process"
import { chownSync, readdirSync, realpathSync } from "node:fs"
import { delimiter, join } from "node:path"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import type { ContainerProgram } from "../../cluster/node/container-program.ts"
import { underRoot } from "../../cluster/node/container-volumes.ts"
import type { PodAddresses } from "../../cluster/node/pod-addresses.ts"
import { processProgram } from "../../cluster/node/process-program.ts"
import { enginePath } from "../engine-programs.ts"
import { isProgram } from "../kubernetes/programs.ts"

/** The folders of Debian's packages, the newest version first. */
const packagedFolders = (): ReadonlyArray<string> => {
  const root = "/usr/lib/postgresql"
  try {
    return readdirSync(root)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(root, version, "bin"))
  } catch {
    return []
  }
}

/** The folder of the engine's programs; `undefined` if the machine has none. */
export const postgresqlFolder: string | undefined = [
  ...packagedFolders(),
  ...enginePath(process.env).split(delimiter)
].find((folder) => isProgram(join(folder, "initdb")))

/** The engine runs as an unprivileged user where this process is root: it refuses to be root. */
export const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Search path with the engine's programs first. */
export const programPath = `${postgresqlFolder ?? ""}:${enginePath(process.env)}`

/** The variables of a program, which has no others of this process. */
export const programEnv = (env: Readonly<Record<string, string>>) => ({ LC_ALL: "C.UTF-8", PATH: programPath, ...env })

export interface Ended {
  readonly status: number
  readonly out: string
  readonly err: string
}

/** Runs a program to its end. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { ...nobody, env: programEnv(env), cwd: "/", maxBuffer: 64 * 1024 * 1024 }
    execFile(program, args, options, (error, out, err) => {
      const failure = typeof error?.code === "number" ? error.code : 1
      resolve({ status: error === null ? 0 : failure, out, err })
    })
  })

const mountsOf = (pod: object, container: string): ReadonlyArray<string> =>
  [...asObjects(at(pod, "spec", "containers")), ...asObjects(at(pod, "spec", "initContainers"))]
    .filter(({ name }) => name === container)
    .flatMap(({ volumeMounts }) => asObjects(volumeMounts))
    .flatMap(({ mountPath }) => asString(mountPath) ?? [])

/** A text with the addresses of pods as this machine dials them. */
const dialled = (text: string, { real }: PodAddresses): string => text.replaceAll(/\b10(?:\.\d{1,3}){3}\b/gu, real)

/** Gives a mounted folder and its files to the engine's user. */
const give = (folder: string): void => {
  const { gid, uid } = nobody
  if (uid === undefined) return
  for (const path of [folder, ...readdirSync(folder).map((file) => join(folder, file))]) chownSync(path, uid, gid)
}

/**
 * A container of an engine's image as processes of this machine, with the machine's own engine.
 *
 * @param path search path of its programs; PostgreSQL's come first unless given
 */
export const engineImage = (addresses: PodAddresses, path = programPath): ContainerProgram =>
  processProgram({
    runsAnything: true,
    command: ({ args, containerName, pod, root }) => {
      for (const path of mountsOf(pod, containerName)) give(realpathSync(underRoot(root, path)))
      const [program = "sh", ...rest] = args
      return nobody.uid === undefined
        ? [program, ...rest]
        : ["/usr/bin/setpriv", `--reuid=${nobody.uid}`, `--regid=${nobody.gid}`, "--clear-groups", program, ...rest]
    },
    env: ({ containerName, env, pod, root }) => {
      const mounts = mountsOf(pod, containerName)
      const isMounted = (value: string) => mounts.some((path) => value === path || value.startsWith(`${path}/`))
      const moved = [...env].map(([name, value]) => [
        name,
        isMounted(value) ? underRoot(root, value) : dialled(value, addresses)
      ])
      return programEnv({ ...Object.fromEntries(moved), PATH: path })
    }
  })

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

/** Starts an empty source, with its data in a folder that the engine may write; `path` is as for `engineImage`. */
export const startSource = async (
  folder: string,
  address: string,
  password: string,
  path = programPath
): Promise<Server> => {
  const data = join(folder, "source")
  const script = `printf %s "$PASSWORD" > "$DATA.pw" &&
    initdb -D "$DATA" -U postgres --pwfile="$DATA.pw" -A scram-sha-256 -E UTF8 -N > /dev/null &&
    pg_ctl -D "$DATA" -w -s -l "$DATA.log" start \
      -o "-c listen_addresses=$ADDRESS -c port=5432 -c unix_socket_directories= -c fsync=off \
        -c max_prepared_transactions=1"`
  const env = { DATA: data, ADDRESS: address, PASSWORD: password, PATH: path }
  const { err, status } = await run("sh", ["-c", script], env)
  if (status !== 0) throw new Error(err)
  return connectedTo(address, password, async () => {
    await run("pg_ctl", ["-D", data, "-m", "immediate", "-w", "stop"], { PATH: path })
  })
}
