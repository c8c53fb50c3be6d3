/**
 * ElasticMQ of this machine, a stand-in for Amazon SQS in one region and account. Its queues are in memory. It differs
 * from SQS: test/adapters/aws/message-queues-suite.ts names the differences.
 */

import { spawn } from "node:child_process"
import { realpathSync } from "node:fs"
import { Effect } from "effect"
import { reapWithUs } from "../../cluster/node/reaper.ts"
import { seen } from "../awaited.ts"
import { nobody } from "../branches/postgresql.ts"
import { engineProgram, missingEngines } from "../engine-programs.ts"
import { PlaygroundError } from "../readiness.ts"

/** Small and quiet, with the limits of SQS, on loopback alone and with that address in the URLs of queues. */
const flagsFor = (port: number): ReadonlyArray<string> => [
  ...["-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Drest-sqs.sqs-limits=strict", "-Drest-stats.enabled=false"],
  ...["rest-sqs.bind-hostname", "node-address.host"].map((name) => `-D${name}=127.0.0.1`),
  ...["rest-sqs.bind-port", "node-address.port"].map((name) => `-D${name}=${port}`)
]

const start = (jar: string, port: number) => {
  const args = [...flagsFor(port), "-jar", realpathSync(jar)]
  const env = { PATH: process.env["PATH"] }
  const child = spawn("java", args, { ...nobody, env, cwd: "/", detached: true, stdio: ["ignore", "pipe", "pipe"] })
  const server = { child, output: "" }
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => void (server.output = (server.output + chunk.toString()).slice(-2_000)))
  child.on("error", ({ message }) => void (server.output = message))
  if (child.pid !== undefined) child.on("exit", reapWithUs(child.pid))
  return server
}

const stop = ({ child }: ReturnType<typeof start>): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const isOver = child.pid === undefined || child.exitCode !== null || child.signalCode !== null
    if (isOver) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    // It has nothing to save, and would wait for polls whose clients are gone.
    child.kill("SIGKILL")
  })

/** Whether the server answers. */
const answers = (endpoint: string): Effect.Effect<true | undefined> =>
  Effect.promise(async (signal) => {
    const answer = await fetch(`${endpoint}/?Action=ListQueues`, { signal }).catch(() => undefined)
    await answer?.body?.cancel()
    return answer?.ok === true ? true : undefined
  })

/** A server on a port of this machine as long as the scope is open. Gives its URL once it answers. */
export const startElasticMq = Effect.fnUntraced(function* (port: number) {
  const jar = engineProgram("elasticmq.jar", process.env)
  if (jar === undefined) return yield* new PlaygroundError({ detail: missingEngines(["elasticmq.jar"]) })
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => start(jar, port)),
    stop
  )
  const endpoint = `http://127.0.0.1:${port}`
  const look = Effect.suspend(() =>
    server.child.exitCode === null && server.child.pid !== undefined
      ? answers(endpoint)
      : Effect.fail(new PlaygroundError({ detail: `ElasticMQ ended: ${server.output}` }))
  )
  yield* seen("an answer of ElasticMQ", look, () => server.output)
  return endpoint
})
