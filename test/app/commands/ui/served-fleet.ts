/** A served page of a fleet that a test tells what to be. */

import { Effect, Exit, Redacted, Scope, Stream, SubscriptionRef } from "effect"
import type { UsageWish } from "../../../../src/app/commands/overview/read-usage.ts"
import { serveUi, type UiPageName, type UiTokens } from "../../../../src/app/commands/ui/serve-ui.ts"
import type { SessionApi } from "../../../../src/app/commands/ui/session-api.ts"
import type { FleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import type { UsagePage } from "../../../../src/domain/commands/ui/usage-page.ts"
import { aPage } from "../../../domain/commands/ui/pages.ts"
import { aUsagePage } from "../../../domain/commands/ui/usages.ts"

export interface ServedFleet {
  /** `http://127.0.0.1:PORT`. */
  readonly server: string
  /** The same with the folder of the page, without a `/` at the end. */
  readonly folder: string
  readonly link: (token: keyof UiTokens, page?: UiPageName) => string
  /** Names of the sessions that were to be stopped. */
  readonly stopped: ReadonlyArray<string>
  /** How many pages follow the fleet now. */
  readonly followers: () => number
  /** The wishes of the pages that followed the use, and of files. */
  readonly wishes: ReadonlyArray<UsageWish>
  readonly showUsage: (page: UsagePage) => Promise<void>
  readonly show: (page: FleetPage) => Promise<void>
  /** Ends the server with all its connections. */
  readonly end: () => Promise<void>
}

/**
 * `page`: `undefined` for a person who may not see the fleet. `api`: makes the API beside the page, whose token is
 * `the-token`.
 */
export const serveFleet = async (
  page: FleetPage | undefined,
  api?: (scope: Scope.Scope) => Effect.Effect<Omit<SessionApi, "token">, Error>
): Promise<ServedFleet> => {
  const scope = await Effect.runPromise(Scope.make())
  const pages = await Effect.runPromise(SubscriptionRef.make(page ?? aPage()))
  const usages = await Effect.runPromise(SubscriptionRef.make<UsagePage>(aUsagePage()))
  const stopped: Array<string> = []
  const wishes: Array<UsageWish> = []
  let followers = 0
  const tokens = { link: Redacted.make("the-link"), once: Redacted.make("once"), cookie: Redacted.make("the-cookie") }
  const follow = Effect.acquireRelease(
    Effect.sync(() => void followers++),
    () => Effect.sync(() => void followers--)
  )
  const { link } = await Effect.runPromise(
    serveUi({
      port: 0,
      fleet: page && {
        page: SubscriptionRef.get(pages),
        pages: Stream.unwrap(Effect.as(follow, SubscriptionRef.changes(pages)))
      },
      context: "primary",
      usage: {
        pages: (wish) => {
          wishes.push(wish)
          return SubscriptionRef.changes(usages)
        },
        file: (format, wish) => {
          wishes.push(wish)
          return format === "json" ? Effect.fail({ message: "It is away.", fix: "Wait." }) : Effect.succeed(format)
        }
      },
      stop: (session) =>
        Effect.sync(() => {
          stopped.push(session)
          return { stopped: true, message: `Session ${session} is being stopped.` }
        }),
      tokens,
      folder: "/run",
      api: api && { token: Redacted.make("the-token"), ...(await Effect.runPromise(api(scope))) }
    }).pipe(Effect.provideService(Scope.Scope, scope))
  )
  return {
    server: new URL(link(tokens.link)).origin,
    folder: link(tokens.link).replace(/\/auth.*/u, ""),
    link: (token, page) => link(tokens[token], page),
    stopped,
    followers: () => followers,
    wishes,
    showUsage: (next) => Effect.runPromise(SubscriptionRef.set(usages, next)),
    show: (next) => Effect.runPromise(SubscriptionRef.set(pages, next)),
    end: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
