/**
 * Another operator that has what a member keeps, in another place. It shows the token that the member has used, and
 * dials with the member's key. It answers no request: the lanes that it gets end nowhere.
 */

import { Effect } from "effect"
import { type BootstrapSettings, redeemToken } from "../../../src/app/outbound/outpost-identity.ts"
import { CurrentTunnelCertificates, type TunnelCertificates } from "../../../src/app/outbound/tunnel-certificates.ts"
import { tunnelProtocol, writeLine } from "../../../src/domain/outbound/control-message.ts"
import { TunnelDialler, type TunnelIdentity } from "../../../src/ports/tunnel.ts"

/** Pause after a tunnel has ended, and between two beats, ms. */
const pause = 10_000

export interface Stolen {
  readonly identity: TunnelIdentity
  /** With the token that the member got its certificate for; `undefined` if it has a later token too. */
  readonly used: BootstrapSettings | undefined
  /** The authorities that its member has, as a hello says it. */
  readonly holds: { readonly epoch: string; readonly number: number; readonly hash: string }
}

/** Shows the token once, and dials for ever. */
export const actAsMember = (
  dialler: TunnelDialler["Service"],
  certificates: TunnelCertificates,
  { holds, identity, used }: Stolen
): Effect.Effect<never> => {
  const redeem = (settings: BootstrapSettings): Effect.Effect<void> =>
    redeemToken(settings).pipe(
      Effect.provideService(TunnelDialler, dialler),
      Effect.provideService(CurrentTunnelCertificates, certificates),
      Effect.ignore
    )
  const follow = Effect.gen(function* () {
    const tunnel = yield* dialler.dial({ address: "primary:8443", identity, serve: () => {} })
    tunnel.listen(() => {})
    const greeting = { protocol: tunnelProtocol, version: "stolen", capabilities: [], clock: 0 }
    tunnel.send(writeLine({ _tag: "Hello", ...greeting, holds, binding: tunnel.binding }))
    let number = 0
    const beat = Effect.sync(() => tunnel.send(writeLine({ _tag: "Beat", number: ++number })))
    yield* Effect.raceFirst(tunnel.ended, Effect.forever(Effect.andThen(Effect.sleep(pause), beat)))
  })
  const dialling = Effect.forever(Effect.andThen(Effect.ignore(Effect.scoped(follow)), Effect.sleep(pause)))
  return used === undefined ? dialling : Effect.andThen(redeem(used), dialling)
}
