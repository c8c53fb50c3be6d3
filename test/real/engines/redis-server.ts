/** A Redis of the machine as a source, and the serving container of a branch beside it. */

import { spawn } from "node:child_process"
import { eventually } from "../../support/eventually.ts"
import type { Command } from "./branch-containers.ts"
import { nobody, run } from "./postgresql-server.ts"

/** A server that listens to an address of its own. */
export interface RedisServer {
  /** The answer to a command in a database, quoted. */
  readonly ask: (database: number, ...command: ReadonlyArray<string>) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Starts a server; `password`: of its user `default`, empty if it has none. */
export const startRedis = async (
  { command, env }: Command,
  address: string,
  password: string
): Promise<RedisServer> => {
  const [program = "", ...args] = command
  const child = spawn(program, args, { ...nobody, cwd: "/", env: { ...env, POD_IP: address }, stdio: "ignore" })
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const ask: RedisServer["ask"] = async (database, ...words) => {
    const options = ["-h", address, "-n", String(database), "--no-raw"]
    const { err, out } = await run(
      "redis-cli",
      [...options, ...words],
      password === "" ? {} : { REDISCLI_AUTH: password }
    )
    if (err !== "" || out.startsWith("(error)")) throw new Error(err + out)
    return out.trim()
  }
  await eventually("an answer of the server", async () => {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    if ((await ask(0, "ping")) !== "PONG") throw new Error("no answer")
  })
  return {
    ask,
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}
