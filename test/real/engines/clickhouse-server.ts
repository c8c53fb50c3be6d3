/** A ClickHouse of the machine as a source, and the serving container of a branch beside it. */

import { spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { enginePath } from "../../../lab/playground/engine-programs.ts"
import { eventually } from "../../support/eventually.ts"
import type { Command } from "./branch-containers.ts"
import { nobody, run, type Server } from "./postgresql-server.ts"

/** The search path with the engine's programs. */
export const clickhousePath = enginePath(process.env)

/** The login of a user of a server. */
export interface ClickhouseLogin {
  readonly user: string
  readonly password: string
}

/** Asks a server as one of its users; columns are parted by tabs. */
export const askClickhouse = async (
  address: string,
  { password, user }: ClickhouseLogin,
  database: string,
  sql: string
): Promise<string> => {
  const login = [`--host=${address}`, `--user=${user}`, `--password=${password}`, `--database=${database}`]
  const { err, out, status } = await run("clickhouse-client", [...login, `--query=${sql}`], { PATH: clickhousePath })
  if (status !== 0) throw new Error(err)
  return out.trim()
}

const started = async (
  { command, env }: Command,
  address: string,
  login: ClickhouseLogin,
  cwd: string
): Promise<Server> => {
  const [program = "", ...args] = command
  const options = { ...nobody, cwd, env: { ...env, PATH: clickhousePath } }
  const child = spawn(program, args, { ...options, stdio: ["ignore", "ignore", "pipe"] })
  let told = ""
  child.stderr.on("data", (chunk: Buffer) => void (told += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const query: Server["query"] = (database, sql) => askClickhouse(address, login, database, sql)
  await eventually("an answer of the server", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${told}`)
    await query("default", "select 1")
  })
  return {
    address,
    query,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}

/** Starts an empty source in a folder; `users`: by name, the first of whom the server is asked as. */
export const startClickhouseSource = (
  folder: string,
  address: string,
  users: Readonly<Record<string, { readonly password: string; readonly profile: string }>>
): Promise<Server> => {
  const data = join(folder, "source")
  mkdirSync(data, { recursive: true })
  const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  const user = ([name, { password, profile }]: (typeof entries)[number]): string =>
    `<${name}><password>${escaped(password)}</password><networks><ip>::/0</ip></networks>
    <profile>${profile}</profile><quota>default</quota></${name}>`
  const entries = Object.entries(users)
  writeFileSync(
    join(data, "users.xml"),
    `<yandex><profiles><default></default><reading><readonly>1</readonly></reading>
    <partial><max_rows_to_read>10</max_rows_to_read><read_overflow_mode>break</read_overflow_mode></partial></profiles>
    <quotas><default></default></quotas><users>${entries.map(user).join("")}</users></yandex>`
  )
  writeFileSync(
    join(data, "config.xml"),
    `<yandex><logger><level>warning</level><console>true</console></logger><listen_host>${address}</listen_host>
    <tcp_port>9000</tcp_port><path>${folder}/store/</path><tmp_path>${folder}/store/tmp/</tmp_path>
    <users_config>users.xml</users_config><default_profile>default</default_profile>
    <default_database>default</default_database><mark_cache_size>1073741824</mark_cache_size>
    <timezone>Europe/Berlin</timezone><macros><shard>1</shard><replica>1</replica></macros></yandex>`
  )
  const [first = ["", { password: "" }]] = entries
  const command = ["clickhouse-server", `--config-file=${join(data, "config.xml")}`]
  return started({ command, env: {} }, address, { user: first[0], password: first[1].password }, folder)
}

/** Starts the serving container of a branch. */
export const serveClickhouseBranch = ({ command, env }: Command, address: string, password: string): Promise<Server> =>
  started({ command, env: { ...env, POD_IP: address } }, address, { user: "default", password }, "/")
