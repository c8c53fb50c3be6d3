/**
 * Another operator that dials with the stolen key of a member, from another place. It answers no request: the lanes
 * that it gets end nowhere.
 */

import { Effect } from "effect"
import { tunnelProtocol, writeLine } from "../../../src/domain/outbound/control-message.ts"
import type { TunnelDialler, TunnelIdentity } from "../../../src/ports/tunnel.ts"

/** Pause after a tunnel has ended, and between two beats, ms. */
const pause = 10_000

export interface Stolen {
  readonly identity: TunnelIdentity
  /** The authorities that its member has, as a hello says it. */
  readonly holds: { readonly epoch: string; readonly number: number; readonly hash: string }
}

/** Dials for ever. */
export const dialAsMember = (dialler: TunnelDialler["Service"], { holds, identity }: Stolen): Effect.Effect<never> => {
  const follow = Effect.gen(function* () {
    const tunnel = yield* dialler.dial({ address: "primary:8443", identity, serve: () => {} })
    tunnel.listen(() => {})
    const greeting = { protocol: tunnelProtocol, version: "stolen", capabilities: [], clock: 0 }
    tunnel.send(writeLine({ _tag: "Hello", ...greeting, holds, binding: tunnel.binding }))
    let number = 0
    const beat = Effect.sync(() => tunnel.send(writeLine({ _tag: "Beat", number: ++number })))
    yield* Effect.raceFirst(tunnel.ended, Effect.forever(Effect.andThen(Effect.sleep(pause), beat)))
  })
  return Effect.forever(Effect.andThen(Effect.ignore(Effect.scoped(follow)), Effect.sleep(pause)))
}
