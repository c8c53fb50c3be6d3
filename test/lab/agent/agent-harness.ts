/** Starts an agent for tests: the reference agent in this process, or mirrord's own binary. */

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { type AgentOptions, runAgent } from "../../../lab/agent/agent.ts"
import { freePort } from "../../../lab/playground/free-ports.ts"

export interface RunningAgent {
  readonly port: number
  /** The exit code of the agent. */
  readonly exit: Promise<number>
  readonly log: ReadonlyArray<string>
  readonly stop: () => Promise<void>
}

type Given = Partial<AgentOptions> & Pick<AgentOptions, "target">

/** Starts the reference agent inside this process. */
export const startOurs = (options: Given): Promise<RunningAgent> =>
  new Promise((resolve) => {
    const stop = new AbortController()
    const log: Array<string> = []
    let bound = 0
    const exit = Effect.runPromise(
      Effect.scoped(
        runAgent({
          listen: { host: "127.0.0.1", port: 0 },
          communicationTimeoutSecs: 600,
          idleTtlSecs: 0,
          ...options,
          onListening: (port) => {
            bound = port
          },
          log: (line) => {
            log.push(line)
            if (line.startsWith("agent ready")) {
              resolve({
                port: bound,
                exit,
                log,
                stop: async () => {
                  stop.abort()
                  await exit.catch(() => undefined)
                }
              })
            }
          }
        })
      ),
      { signal: stop.signal }
    )
  })

/** Starts mirrord's unmodified agent as a plain process, without a target. */
export const startReal = async (
  binary: string,
  env: Readonly<Record<string, string>>,
  options: ReadonlyArray<string> = []
): Promise<RunningAgent> => {
  const port = await freePort()
  const child = spawn(binary, ["-l", String(port), "-t", "600", ...options, "targetless"], {
    cwd: "/",
    env: { ...env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const log: Array<string> = []
  const exit = new Promise<number>((resolve) => child.once("close", (code) => resolve(code ?? -1)))
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) =>
      reject(new Error(`the agent ended with ${code} before it was ready: ${log.join("\n")}`))
    )
    createInterface({ input: child.stdout }).on("line", (line) => {
      log.push(line)
      if (line.startsWith("agent ready")) resolve()
    })
  })
  return {
    port,
    exit,
    log,
    stop: async () => {
      child.kill("SIGKILL")
      await exit
    }
  }
}
