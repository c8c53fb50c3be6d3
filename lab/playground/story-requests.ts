/** Requests of the playground's story from outside, and whether the local process of its session answers them. */

import { Effect } from "effect"
import type { ClientFailed } from "../client/client-failed.ts"
import { awaited, type Hangs, seen } from "./awaited.ts"
import type { AnyRunningCluster } from "./local-cluster.ts"
import { localMark } from "./story-client.ts"
import { failed } from "./story-steps.ts"

export const request = (
  url: string,
  headers: Readonly<Record<string, string>> = {}
): Effect.Effect<string, ClientFailed | Hangs> =>
  awaited(
    `the answer to a request to ${url}`,
    Effect.tryPromise({
      try: async (signal) => (await fetch(url, { signal, headers: { ...headers, connection: "close" } })).text(),
      catch: (cause) => failed(`the request to ${url} failed: ${String(cause)}`)
    })
  )

export const isLocal = (answer: string): boolean => answer.startsWith(localMark)

/**
 * Waits until the local process answers a request that enters at the member. An attempt ends after 5 s, and after twice
 * as long as the one before: mirrord's own agent cuts a connection that comes while it makes its rules, and neither end
 * hears of it.
 */
export const takesPart = ({ description, entry = "" }: AnyRunningCluster) =>
  Effect.suspend(() => {
    let patience = 2_500
    return seen(
      `the return of ${description.name}`,
      Effect.suspend(() => {
        patience *= 2
        return request(`${entry}/back`).pipe(
          Effect.timeout(patience),
          Effect.tap(() => Effect.sync(() => (patience = 2_500))),
          Effect.map((said) => (isLocal(said) ? said : undefined)),
          Effect.catch(() => Effect.succeed(undefined))
        )
      })
    )
  }).pipe(Effect.map((answer) => ({ answer: answer.trim() })))
