/** A cell that cannot start, and does so later. */

import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeTunnelAuthority } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { tunnelAuthoritySecret } from "../../../src/app/outbound/authority.ts"
import { serveOutboundMembers } from "../../../src/app/outbound/outbound-members.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { TunnelListener } from "../../../src/ports/tunnel.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, operatorNamespace as namespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { MemoryTunnels } from "../../support/memory-tunnels.ts"
import { tunnelLife } from "../../support/tunnels.ts"
import { turns } from "../../support/turns.ts"

/** Serves members, and gives the words for a request to one of them. */
const serve = Effect.fnUntraced(function* (api: MemoryKubeApi, { listen }: TunnelListener["Service"]) {
  const settings = { hosts: ["127.0.0.1"], port: 8443, bootstrapPort: 8444, bootstrapRanges: [], certificateHours: 24 }
  const fleet = { isConfigured: () => true, configured: () => [], listen: () => () => {} }
  let ask = (): unknown => undefined
  const { connect } = yield* serveOutboundMembers({ api, namespace, settings, ...fleet }, (_name, openLane) => {
    ask = openLane
    return Effect.succeed({ api, link: () => Effect.die("none") })
  }).pipe(Effect.provideService(TunnelListener, { listen }))
  for (const member of configurationOf(["cluster-b"]).members) yield* connect(member)
  /** Asks until these words come; a key may take its time. */
  return Effect.fnUntraced(function* (words: string) {
    let said = ""
    for (let seconds = 0; seconds < 600 && !said.includes(words); seconds++) {
      yield* Effect.promise(() => turns(100))
      yield* TestClock.adjust(1_000)
      said = yield* Effect.flip(Effect.try({ try: () => ask(), catch: String }))
    }
    expect(said).toContain(words)
  })
})

describe("a cell", () => {
  it.effect("says that its authority's key is another one's, and starts without it", function* () {
    const api = new MemoryKubeApi("primary")
    const make = Effect.promise(() => makeTunnelAuthority(tunnelLife))
    const [{ certificatePem }, { keyPem }] = [yield* make, yield* make]
    const texts = { "tls.crt": certificatePem, "tls.key": Redacted.value(keyPem) }
    const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64Text(text)]))
    api.write(secrets, tunnelAuthoritySecret, { data }, namespace)
    const asked = yield* serve(api, new MemoryTunnels().listener)
    yield* asked("it holds no certificate with its key; delete it")
    api.erase(secrets, tunnelAuthoritySecret, namespace)
    yield* asked("has not dialled since")
  })

  it.effect("is started again after a failure that nobody has foreseen", function* () {
    const { listen } = new MemoryTunnels().listener
    let starts = 0
    const asked = yield* serve(new MemoryKubeApi("primary"), {
      listen: (options) => (++starts === 1 ? Effect.die("out of order") : listen(options))
    })
    yield* asked("has not dialled since")
  })
})
