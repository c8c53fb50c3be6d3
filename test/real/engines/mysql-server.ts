/** A MariaDB or MySQL of the machine as a source, and the serving container of a branch beside it. */

import { spawn } from "node:child_process"
import { join } from "node:path"
import { eventually } from "../../support/eventually.ts"
import { mysqlFolder } from "../../support/outside-programs.ts"
import type { Command } from "./branch-containers.ts"
import { nobody, run, type Server } from "./postgresql-server.ts"

/** An engine of this machine. */
export interface MysqlEngine {
  readonly name: "MariaDB" | "MySQL"
  readonly block: "mariadbOptions" | "mysqlOptions"
  /** Search path of its programs. */
  readonly path: string
  readonly server: string
  readonly client: string
  /** Makes the data folder `$DATA`, for `sh -c`. */
  readonly install: string
}

const defaultPath = `${process.env["PATH"] ?? ""}:/usr/sbin`

const mariadb: MysqlEngine = {
  name: "MariaDB",
  block: "mariadbOptions",
  path: defaultPath,
  server: "mariadbd",
  client: "mariadb",
  install: `mariadb-install-db --no-defaults --datadir="$DATA" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve > "$DATA.log" 2>&1`
}

// MariaDB has programs of the same names.
const mysql: MysqlEngine = {
  name: "MySQL",
  block: "mysqlOptions",
  path: `${mysqlFolder}:${defaultPath}`,
  server: "mysqld",
  client: "mysql",
  install: `mysqld --no-defaults --datadir="$DATA" --initialize-insecure > "$DATA.log" 2>&1`
}

export const mysqlEngines: readonly [mariadb: MysqlEngine, mysql: MysqlEngine] = [mariadb, mysql]

const asked = async (engine: MysqlEngine, login: Readonly<Record<string, string>>, sql: string): Promise<string> => {
  const { address = "", database = "", password = "", user = "root" } = login
  const args = [
    ...["--no-defaults", "--protocol=tcp", `--host=${address}`, `--user=${user}`, `--database=${database}`],
    ...["--batch", "--skip-column-names", "--raw", "--default-character-set=utf8mb4", `--execute=${sql}`]
  ]
  const { err, out, status } = await run(engine.client, args, { PATH: engine.path, MYSQL_PWD: password })
  if (status !== 0) throw new Error(err)
  return out.trim()
}

const started = async (
  engine: MysqlEngine,
  { command, env }: Command,
  login: Readonly<Record<string, string>>
): Promise<Server> => {
  const [program = "", ...args] = command
  const child = spawn(program, args, {
    ...nobody,
    cwd: "/",
    env: { ...env, PATH: engine.path },
    stdio: ["ignore", "ignore", "pipe"]
  })
  let told = ""
  child.stderr.on("data", (chunk: Buffer) => void (told += chunk.toString()))
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const query = (database: string, sql: string) => asked(engine, { ...login, database }, sql)
  await eventually("an answer of the server", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${told}`)
    await query("", "select 1")
  })
  return {
    address: login["address"] ?? "",
    query,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}

/** Starts an empty source in a folder, whose user root may enter from everywhere. */
export const startMysqlSource = async (
  engine: MysqlEngine,
  folder: string,
  address: string,
  password: string
): Promise<Server> => {
  const data = join(folder, "source")
  const literal = `'${password.replace(/['\\]/gu, (sign) => `\\${sign}`)}'`
  const first = [
    "drop user if exists 'root'@'127.0.0.1'",
    `create user 'root'@'%' identified by ${literal}`,
    "grant all on *.* to 'root'@'%' with grant option"
  ]
  const own = engine.name === "MySQL" ? "--mysqlx=OFF --secure-file-priv=" : "--secure-file-priv="
  const script = `${engine.install} && printf %s "$FIRST" > "$DATA.sql" && exec ${engine.server} --no-defaults \
    --datadir="$DATA" --bind-address=${address} --port=3306 --socket="$DATA.sock" --pid-file="$DATA.pid" \
    --skip-log-bin --skip-name-resolve --init-file="$DATA.sql" ${own}`
  const env = { DATA: data, TMPDIR: folder, FIRST: first.map((statement) => `${statement};\n`).join("") }
  return started(engine, { command: ["sh", "-c", script], env }, { address, password })
}

/** Starts the serving container of a branch. */
export const serveMysqlBranch = (
  engine: MysqlEngine,
  { command, env }: Command,
  address: string,
  password: string
): Promise<Server> => started(engine, { command, env: { ...env, POD_IP: address } }, { address, password })

/** Asks a server as one of its users. */
export const askAs = (engine: MysqlEngine, server: Server, user: string, password: string, sql: string) =>
  asked(engine, { address: server.address, user, password }, sql)
