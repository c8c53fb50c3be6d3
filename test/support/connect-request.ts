import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { ConnectRequest } from "../../src/app/api/operator-facade.ts"
import { turns } from "./turns.ts"

/** A request of the real client, as the API server lets it pass. */
export const request = (certificate: string | undefined, change: Partial<ConnectRequest> = {}): ConnectRequest => ({
  caller: { user: "ann", groups: ["developers"], extra: {} },
  checked: "proxy",
  namespace: "default",
  target: "deployment.myapp",
  sessionId: "255",
  certificate,
  clientVersion: "3.250.0",
  clientName: "Ann",
  clientHostname: "laptop",
  query: "connect=true&on_concurrent_steal=abort&key=abc12",
  ...change
})

/**
 * Lets everything that needs no time happen, and then some time pass. Counted in turns of the event loop, of which a
 * slow machine makes as many.
 */
export const pass = (duration: string) =>
  Effect.andThen(
    Effect.promise(() => turns()),
    () => TestClock.adjust(duration as "1 second")
  )
