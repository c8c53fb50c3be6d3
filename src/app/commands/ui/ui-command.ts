/**
 * The commands `braid ui` and `braid dashboard`: serve pages of a fleet, its sessions and their use on this machine,
 * until Ctrl-C. They differ in the page that they open, and in what a person must be allowed to see.
 *
 * Not here: the server (serve-ui.ts), and what the pages say (domain/commands/ui).
 */

import { mkdirSync } from "node:fs"
import { Effect, Redacted, type Scope } from "effect"
import { CurrentSecretBytes } from "../../kernel/secret-bytes.ts"
import { chosenCluster, chosenConfig, type Unanswered } from "../overview/ask-cluster.ts"
import { makeUsageReader } from "../overview/read-usage.ts"
import { stopSession } from "../overview/stop-sessions-command.ts"
import { tellUnanswered } from "../overview/tell.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { ownFlags, tellStarter } from "./background-ui.ts"
import { followLocalSessions, type LocalSessions, sessionsFolder } from "./local-sessions.ts"
import { openBrowser } from "./open-browser.ts"
import { makeOperatorReader } from "./operator-reader.ts"
import { connectFleet } from "./read-fleet.ts"
import { serveUi, type StopAnswer, type UiPageName, type UiServerOptions } from "./serve-ui.ts"
import type { SessionApi } from "./session-api.ts"
import { type Claim, claim, mirrordFolder } from "./single-instance.ts"
import { type WatchedFleet, watchFleet } from "./watch-fleet.ts"
import { connectUsage, watchUsage } from "./watch-usage.ts"

export interface UiChoice extends KubeConfigChoice {
  /** 0 for any free port; `undefined` for the API's usual one, if it is free. */
  readonly port: number | undefined
  /** Whether no browser is opened. */
  readonly noBrowser: boolean
  /** The page that the link opens. */
  readonly opens: UiPageName
  /** Whether mirrord's browser extension and other programs get the API, if no other process has it. */
  readonly withApi: boolean
}

/**
 * The ports by what is opened: the first is the one at which mirrord's browser extension looks for the API. A browser
 * keeps a reader's estimate for one port.
 */
const defaultPorts = { fleet: 59_281, usage: 59_282 } as const

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

/** Serves at the wanted port; without a wish at the usual one, or any free one. */
const serveAt = (options: Omit<UiServerOptions, "port">, { opens, port }: UiChoice) => {
  const at = (one: number) => serveUi({ ...options, port: one })
  if (port !== undefined) return at(port)
  // Only the API needs its port: another page goes where it is not in the way.
  if (opens === "fleet" && options.api === undefined) return at(0)
  return at(defaultPorts[opens]).pipe(
    Effect.catch((error) => (error.code === "EADDRINUSE" ? at(0) : Effect.fail(error)))
  )
}

/** The fleet; `undefined` for a person who opens its use and may not see more. */
const fleetOf = (choice: UiChoice, local: LocalSessions) => {
  const watched: Effect.Effect<WatchedFleet | undefined, Unanswered, Scope.Scope> = watchFleet(
    connectFleet(choice, local)
  )
  return choice.opens === "usage" ? Effect.orElseSucceed(watched, () => undefined) : watched
}

/** Watches and serves until the scope ends. */
export const startUi = Effect.fnUntraced(function* (
  choice: UiChoice
): Effect.fn.Return<{ readonly link: string; readonly notes: ReadonlyArray<string> }, Unanswered, Scope.Scope> {
  const { noBrowser, opens, port } = choice
  const context = (yield* chosenConfig(choice)).getCurrentContext()
  const local = yield* followLocalSessions(sessionsFolder())
  const fleet = yield* fleetOf(choice, local)
  const { api, notes, publish } = yield* takeApi(choice, local)
  const tokens = { link: yield* newToken, once: yield* newToken, cookie: yield* newToken }
  const folder = `/${Redacted.value(yield* newToken)}` as const
  const usage = watchUsage(connectUsage(choice))
  const server = yield* Effect.mapError(
    serveAt({ context, fleet, usage, stop: (session) => stop(choice, session), tokens, folder, api }, choice),
    (error) => notServed(error, port ?? defaultPorts[opens])
  )
  const link = server.link(tokens.link, opens)
  publish?.(link, ownFlags())
  if (!noBrowser) yield* openBrowser(server.link(tokens.once, opens))
  const at = new URL(link).port
  if (api === undefined || port !== undefined || at === `${defaultPorts.fleet}`) return { link, notes }
  return {
    link,
    notes: [...notes, `The API is at port ${at}; programs that look at ${defaultPorts.fleet} do not find it.`]
  }
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

/**
 * As {@link runUi}, with the page of the use. Exit code 1 also without a report: the person may not read it, or the
 * operator records no use.
 */
export const runDashboard = (choice: Omit<UiChoice, "opens" | "withApi">): Effect.Effect<number> =>
  Effect.flatMap(makeUsageReader(choice), ({ trends }) => trends(1)).pipe(
    Effect.scoped,
    Effect.matchEffect({
      onFailure: (problem) =>
        Effect.sync(() => {
          tellUnanswered(problem)
          return 1
        }),
      onSuccess: () => runUi({ ...choice, opens: "usage", withApi: false })
    })
  )
