/**
 * mirrord's own client as the client of the playground's story. The session is that of a `port-forward` that steals,
 * since it needs no layer in a program. Variables, a file and a connection come from commands beside it, with sessions
 * of their own.
 */

import { writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { connect } from "node:net"
import { join } from "node:path"
import { Effect, Fiber, type Scope } from "effect"
import { asObject, asString, at } from "../../src/domain/json.ts"
import { sessionId } from "../../src/domain/sessions/session-id.ts"
import { ClientFailed } from "../client/client-failed.ts"
import { awaited, type Hangs, seen } from "./awaited.ts"
import { makeMirrord } from "./branches/mirrord.ts"
import { freePort } from "./free-ports.ts"
import type { AnyPlayground, AnyRunningCluster } from "./local-cluster.ts"
import { workloadTarget } from "./manifests.ts"
import { demoName, greetingPort, httpPort, localAnswer, type StoryClient } from "./story-client.ts"
import { takesPart } from "./story-requests.ts"
import { failed } from "./story-steps.ts"

/** mirrord's client on this machine. */
export interface MirrordPlace {
  readonly file: string
  /** A program that reads files as one with the layer does; `cat`, with the client's layer, unless given. */
  readonly layerApp: string | undefined
  /** A folder for the homes of clients. */
  readonly directory: string
  readonly kubeconfig: string
}

const parents = { group: "operator.metalbear.co", version: "v1alpha", resource: "mirrordmulticlustersessions" }

/** The local process of the session: an HTTP server of this machine. The result is its port. */
const localProcess: Effect.Effect<number, ClientFailed, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly close: () => void }, ClientFailed>((resume) => {
      const server = createServer(({ method = "", url = "" }, response) => response.end(localAnswer(method, url)))
      server.once("error", ({ message }) => resume(Effect.fail(failed(message))))
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ port, close: () => server.close() }))
      })
    }),
    ({ close }) => Effect.sync(close)
  ),
  ({ port }) => port
)

/** The first words of whoever listens on a port of this machine. */
const firstWords = (port: number): Effect.Effect<string, ClientFailed> =>
  Effect.callback<string, ClientFailed>((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("error", ({ message }) => resume(Effect.fail(failed(message))))
    socket.once("close", () => resume(Effect.fail(failed("the connection was closed without a word"))))
    socket.once("data", (words) => resume(Effect.succeed(words.toString())))
    return Effect.sync(() => socket.destroy())
  })

/** The lines `NAME=VALUE` that `env` prints. */
const variablesOf = (printed: string): ReadonlyMap<string, string> =>
  new Map(
    printed.split("\n").flatMap((line) => {
      const [, name, value] = /^([^=]+)=(.*)$/u.exec(line) ?? []
      return name === undefined || value === undefined ? [] : [[name, value]]
    })
  )

/** The text of a file, of which layer-app prints a line of JSON among others. */
const textRead = (printed: string): string | undefined => {
  const events = printed.split("\n").flatMap((line): ReadonlyArray<unknown> => (line === "" ? [] : [JSON.parse(line)]))
  return asString(
    at(
      events.find((event) => at(event, "event") === "file"),
      "text"
    )
  )
}

/** The object of the session, the only one of its playground, once the session is ready. */
const readySession = ({ primary }: AnyPlayground) =>
  primary.cluster.store.list(parents, {}).items.find((object) => at(object, "status", "phase") === "Ready")

/** The words of the session's object about a cluster that is lost. */
const wordAbout = ({ primary }: AnyPlayground, name: string, cluster: AnyRunningCluster): string | undefined => {
  const status = at(primary.cluster.store.get(parents, undefined, name), "status", "clusterSessions")
  return asString(at(asObject(status), cluster.description.name, "error"))
}

/** Commands of the client with a home of its own, all of which end with the scope. */
const commandsIn = ({ directory, file, kubeconfig }: MirrordPlace, home: string) =>
  makeMirrord({ file, home: join(directory, home), kubeconfig })

/** The first words of the Service, in a session of its own: one `port-forward` leads either out or in. */
const greeted = (place: MirrordPlace, asked: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const mirrord = yield* commandsIn(place, "home-of-outgoing")
    const port = yield* Effect.promise(freePort)
    const forward = ["-L", `${port}:${demoName}:${greetingPort}`]
    const running = mirrord(["port-forward", ...asked, ...forward])
    const greeting = yield* Effect.raceFirst(
      seen(
        "the service's greeting",
        Effect.orElseSucceed(firstWords(port), () => undefined)
      ),
      Effect.andThen(running, Effect.fail(failed("mirrord port-forward has ended")))
    )
    return { peer: `${demoName}:${greetingPort}`, greeting }
  }).pipe(Effect.scoped)

/** Opens a session of mirrord's own client. */
export const openMirrordClient = (
  playground: AnyPlayground,
  place: MirrordPlace
): Effect.Effect<StoryClient, ClientFailed | Hangs, Scope.Scope> =>
  Effect.gen(function* () {
    const { directory, layerApp } = place
    const mirrord = yield* commandsIn(place, "home")
    const title = (yield* mirrord(["--version"])).stdout.trim()
    const configuration = join(directory, "story.json")
    writeFileSync(configuration, JSON.stringify({ feature: { network: { incoming: "steal" } } }))
    const asked = ["--target", workloadTarget, "-f", configuration]
    const forward = ["-R", `${httpPort}:${yield* localProcess}`]
    const running = yield* Effect.forkScoped(mirrord(["port-forward", ...asked, ...forward]), {
      startImmediately: true
    })
    /** Fails with the client's words if it ends meanwhile. */
    const unlessEnded = <A>(waits: Effect.Effect<A, ClientFailed | Hangs>) =>
      Effect.raceFirst(
        waits,
        Effect.andThen(Fiber.join(running), Effect.fail(failed("mirrord port-forward has ended")))
      )
    const session = yield* unlessEnded(
      seen(
        "a session of mirrord's client",
        Effect.sync(() => readySession(playground))
      )
    )
    const name = session.metadata.name ?? ""
    const exec = (...command: ReadonlyArray<string>) => mirrord(["exec", ...asked, "--", ...command])
    return {
      title,
      id: sessionId(BigInt(`0x${name.slice("mc-".length)}`)),
      environment: Effect.map(exec("env"), ({ stdout }) => variablesOf(stdout)),
      file: (path) =>
        layerApp === undefined
          ? Effect.map(exec("cat", path), ({ stdout }) => stdout)
          : Effect.flatMap(exec(layerApp, "--read", path), ({ stdout }) => {
              const read = textRead(stdout)
              return read === undefined ? Effect.fail(failed(`${path} was not read: ${stdout}`)) : Effect.succeed(read)
            }),
      greeting: greeted(place, asked),
      steal: (workloads) => unlessEnded(Effect.forEach(workloads, takesPart, { discard: true })),
      warningAbout: (cluster) =>
        Effect.succeed(
          unlessEnded(
            seen(
              `a word about ${cluster.description.name}`,
              Effect.sync(() => wordAbout(playground, name, cluster))
            )
          )
        ),
      // The sessions of the commands beside it wait for their clients for a minute.
      ended: Effect.andThen(
        mirrord(["operator", "session", "kill-all"]),
        awaited("the end of mirrord's client", Effect.ignore(Fiber.join(running)))
      )
    }
  })
