/**
 * The command `braid ui`: serves a live page of a fleet and its sessions on this machine, until Ctrl-C.
 *
 * Not here: the server (serve-ui.ts), and what the page says (domain/commands/ui).
 */

import { mkdirSync } from "node:fs"
import { Effect, Redacted, type Scope } from "effect"
import { CurrentSecretBytes } from "../../kernel/secret-bytes.ts"
import { chosenCluster, type Unanswered } from "../overview/ask-cluster.ts"
import { stopSession } from "../overview/stop-sessions-command.ts"
import { tellUnanswered } from "../overview/tell.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { ownFlags, tellStarter } from "./background-ui.ts"
import { followLocalSessions, type LocalSessions, sessionsFolder } from "./local-sessions.ts"
import { openBrowser } from "./open-browser.ts"
import { makeOperatorReader } from "./operator-reader.ts"
import { connectFleet } from "./read-fleet.ts"
import { serveUi, type StopAnswer, type UiServerOptions } from "./serve-ui.ts"
import type { SessionApi } from "./session-api.ts"
import { type Claim, claim, mirrordFolder } from "./single-instance.ts"
import { watchFleet } from "./watch-fleet.ts"

export interface UiChoice extends KubeConfigChoice {
  /** 0 for any free port; `undefined` for the API's usual one, if it is free. */
  readonly port: number | undefined
  /** Whether no browser is opened. */
  readonly noBrowser: boolean
  /** Whether mirrord's browser extension and other programs get the API, if no other process has it. */
  readonly withApi: boolean
}

/** The port at which mirrord's browser extension looks for the API. */
const defaultPort = 59_281

const notServed = ({ code, message }: NodeJS.ErrnoException, port: number): Unanswered => ({
  message:
    code === "EADDRINUSE"
      ? `Port ${port} of 127.0.0.1 is taken.`
      : `The page cannot be served at port ${port} of 127.0.0.1: ${message}.`,
  fix: "Give another port with --port, or leave it out for any free one."
})

/** 256 random bits as hex. */
const newToken = Effect.map(CurrentSecretBytes, (secretBytes) =>
  Redacted.make(Buffer.from(secretBytes(32)).toString("hex"))
)

/** As `braid sessions stop` does it. */
const stop = (choice: KubeConfigChoice, session: string): Effect.Effect<StopAnswer> =>
  chosenCluster(choice).pipe(
    Effect.flatMap((api) => stopSession(api, session)),
    Effect.map(({ stopped }) => ({
      stopped,
      message: stopped ? `Session ${session} is being stopped.` : `There is no session ${session}.`
    })),
    Effect.catch(({ fix, message }) => Effect.succeed({ stopped: false, message: `${message} ${fix}` })),
    Effect.scoped
  )

/** Why the page goes without the API, in sentences. */
const withoutApi = (claimed: Exclude<Claim, { readonly _tag: "Claimed" }>): string => {
  if (claimed._tag === "Impossible")
    return (
      "There is no API for mirrord's browser extension: ~/.mirrord/ui.lock cannot be locked, which takes a home " +
      "directory that can be written, and macOS, or Linux with the program flock."
    )
  const { by } = claimed
  const pid = by === undefined ? "" : ` (process ${by.pid})`
  return by?.link === undefined
    ? `mirrord ui${pid} serves mirrord's browser extension, so this page goes without that API.`
    : `Another braid ui${pid} serves mirrord's browser extension, so this page goes without that API.`
}

/** Takes the API, if that is wished and no other process has it. */
const takeApi = Effect.fnUntraced(function* ({ withApi, ...choice }: UiChoice, local: LocalSessions) {
  if (!withApi) return { notes: [] }
  const token = yield* newToken
  const claimed = yield* claim(mirrordFolder(), token)
  if (claimed._tag !== "Claimed") return { notes: [withoutApi(claimed)] }
  mkdirSync(sessionsFolder(), { recursive: true, mode: 0o700 })
  const api: SessionApi = { token, local, operator: yield* makeOperatorReader(choice) }
  return { notes: [], api, publish: claimed.publish }
})

/** Serves at the wanted port; without a wish at the usual one of the API, or any free one. */
const serveAt = (options: Omit<UiServerOptions, "port">, port: number | undefined) => {
  const at = (one: number) => serveUi({ ...options, port: one })
  if (port !== undefined || options.api === undefined) return at(port ?? 0)
  return at(defaultPort).pipe(Effect.catch((error) => (error.code === "EADDRINUSE" ? at(0) : Effect.fail(error))))
}

/** Watches and serves until the scope ends. */
export const startUi = Effect.fnUntraced(function* (
  choice: UiChoice
): Effect.fn.Return<{ readonly link: string; readonly notes: ReadonlyArray<string> }, Unanswered, Scope.Scope> {
  const { noBrowser, port } = choice
  const local = yield* followLocalSessions(sessionsFolder())
  const fleet = yield* watchFleet(connectFleet(choice, local))
  const { api, notes, publish } = yield* takeApi(choice, local)
  const tokens = { link: yield* newToken, once: yield* newToken, cookie: yield* newToken }
  const folder = `/${Redacted.value(yield* newToken)}` as const
  const server = yield* Effect.mapError(
    serveAt({ fleet, stop: (session) => stop(choice, session), tokens, folder, api }, port),
    (error) => notServed(error, port ?? defaultPort)
  )
  const link = server.link(tokens.link)
  publish?.(link, ownFlags())
  if (!noBrowser) yield* openBrowser(server.link(tokens.once))
  const at = new URL(link).port
  if (api === undefined || port !== undefined || at === `${defaultPort}`) return { link, notes }
  return { link, notes: [...notes, `The API is at port ${at}; programs that look at ${defaultPort} do not find it.`] }
})

/** Exit code 1 if the fleet cannot be read at first, or the port is taken; Ctrl-C is its usual end. */
export const runUi = (choice: UiChoice): Effect.Effect<number> =>
  Effect.gen(function* () {
    const { link, notes } = yield* startUi(choice)
    process.exitCode = 0
    if (tellStarter({ link, notes })) return yield* Effect.never
    console.log(link)
    for (const note of notes) console.log(note)
    console.log("The page acts with your rights: keep the link to yourself. Ctrl-C ends it.")
    return yield* Effect.never
  }).pipe(
    Effect.scoped,
    Effect.catch((problem) =>
      Effect.sync(() => {
        tellUnanswered(problem)
        return 1
      })
    )
  )
