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
import type { Command } from "../started-program.ts"

const loopback = "127.0.0.1"

/** Where a server is. */
interface Place {
  readonly port: number
  /** The address at which it listens, and that the URLs of queues have; loopback unless given. */
  readonly host?: string
  /** A command that runs in the network of the address; that of this machine unless given. */
  readonly inNetwork?: (command: Command) => Command
}

/** Small and quiet, with the limits of SQS. */
const flagsFor = ({ host = loopback, port }: Place): ReadonlyArray<string> => [
  ...["-Xmx128m", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Drest-sqs.sqs-limits=strict", "-Drest-stats.enabled=false"],
  ...["rest-sqs.bind-hostname", "node-address.host"].map((name) => `-D${name}=${host}`),
  ...["rest-sqs.bind-port", "node-address.port"].map((name) => `-D${name}=${port}`)
]

const start = (jar: string, place: Place) => {
  const command: Command = ["java", ...flagsFor(place), "-jar", realpathSync(jar)]
  const [file, ...args] = place.inNetwork?.(command) ?? command
  const env = { PATH: process.env["PATH"] }
  // Another network is entered by root alone.
  const user = place.inNetwork === undefined ? nobody : {}
  const child = spawn(file, args, { ...user, env, cwd: "/", detached: true, stdio: ["ignore", "pipe", "pipe"] })
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

/** Whether the server has printed that it answers. */
const answers = ({ output }: ReturnType<typeof start>): true | undefined =>
  output.includes("Started SQS rest server") || undefined

/** A server as long as the scope is open. Gives its URL once it answers. */
export const startElasticMq = Effect.fnUntraced(function* (place: Place) {
  const jar = engineProgram("elasticmq.jar", process.env)
  if (jar === undefined) return yield* new PlaygroundError({ detail: missingEngines(["elasticmq.jar"]) })
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => start(jar, place)),
    stop
  )
  const endpoint = `http://${place.host ?? loopback}:${place.port}`
  const look = Effect.suspend(() =>
    server.child.exitCode === null && server.child.pid !== undefined
      ? Effect.succeed(answers(server))
      : Effect.fail(new PlaygroundError({ detail: `ElasticMQ ended: ${server.output}` }))
  )
  yield* seen("an answer of ElasticMQ", look, () => server.output)
  return endpoint
})
