/**
 * The command `braid ui`: serves a live page of a fleet and its sessions on this machine, until Ctrl-C.
 *
 * Not here: the server (serve-ui.ts), and what the page says (domain/commands/ui).
 */

import { Effect, Redacted, type Scope } from "effect"
import { CurrentSecretBytes } from "../../kernel/secret-bytes.ts"
import { chosenCluster, type Unanswered } from "../overview/ask-cluster.ts"
import { stopSession } from "../overview/stop-sessions-command.ts"
import { tellUnanswered } from "../overview/tell.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { followLocalSessions, sessionsFolder } from "./local-sessions.ts"
import { openBrowser } from "./open-browser.ts"
import { connectFleet } from "./read-fleet.ts"
import { serveUi, type StopAnswer } from "./serve-ui.ts"
import { watchFleet } from "./watch-fleet.ts"

export interface UiChoice extends KubeConfigChoice {
  /** 0 for any free port. */
  readonly port: number
  /** Whether no browser is opened. */
  readonly noBrowser: boolean
}

const notServed = ({ code, message }: NodeJS.ErrnoException, port: number): Unanswered => ({
  message:
    code === "EADDRINUSE"
      ? `Port ${port} of 127.0.0.1 is taken.`
      : `The page cannot be served at port ${port} of 127.0.0.1: ${message}.`,
  fix: "Give another port with --port, or leave it out for any free one."
})

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

/** Watches and serves until the scope ends. */
export const startUi = Effect.fnUntraced(function* ({
  noBrowser,
  port,
  ...choice
}: UiChoice): Effect.fn.Return<{ readonly link: string }, Unanswered, Scope.Scope> {
  const local = yield* followLocalSessions(sessionsFolder())
  const fleet = yield* watchFleet(connectFleet(choice, local))
  const secretBytes = yield* CurrentSecretBytes
  const hex = (): string => Buffer.from(secretBytes(32)).toString("hex")
  const token = (): Redacted.Redacted => Redacted.make(hex())
  const tokens = { link: token(), once: token(), cookie: token() }
  const server = yield* Effect.mapError(
    serveUi({ port, fleet, stop: (session) => stop(choice, session), tokens, folder: `/${hex()}` }),
    (error) => notServed(error, port)
  )
  if (!noBrowser) yield* openBrowser(server.link(tokens.once))
  return { link: server.link(tokens.link) }
})

/** Exit code 1 if the fleet cannot be read at first, or the port is taken; Ctrl-C is its usual end. */
export const runUi = (choice: UiChoice): Effect.Effect<number> =>
  Effect.gen(function* () {
    const { link } = yield* startUi(choice)
    process.exitCode = 0
    console.log(link)
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
