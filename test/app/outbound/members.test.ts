/** The keys of members in their Secrets, where changes meet. */

import { Effect, Redacted, Result } from "effect"
import { describe, expect } from "vitest"
import { makeOutpostRequest, makeTunnelAuthority } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { makeInTurn } from "../../../src/app/kernel/keyed-mutex.ts"
import { makeReflector } from "../../../src/app/kernel/reflector.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { redeemToken, renewCertificate } from "../../../src/app/outbound/members.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { admittedKeysData, readAdmittedKeys } from "../../../src/domain/outbound/admitted-keys.ts"
import { storedTokenData, tokenText } from "../../../src/domain/outbound/bootstrap-token.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { tunnelLife } from "../../support/tunnels.ts"
import { turns } from "../../support/turns.ts"

const name = clusterName("cluster-b")
const secretName = credentialsSecretName(name, sha256Hex)
const token = { name, id: "a".repeat(10), secret: "a".repeat(43) }

const present = "1".repeat(64)
const stored = storedTokenData({ ...token, hash: sha256Hex(token.secret), until: 1e12, by: "root" })

/** A primary whose member has a key and a token, and a request of the member. */
const start = Effect.gen(function* () {
  const api = new MemoryKubeApi("primary")
  api.write(secrets, secretName, { data: { ...admittedKeysData([present]), ...stored } }, namespace)
  const cache = yield* makeReflector(api, secrets, () => {}, { namespace })
  yield* cache.awaitSynced
  const authority = yield* Effect.promise(() => makeTunnelAuthority(tunnelLife))
  const inTurn = makeInTurn()
  const signing = { ...authority, bundlePem: authority.certificatePem, sequence: { epoch: "one", number: 1 } }
  const members = {
    api,
    namespace,
    authority: () => signing,
    certificateHours: 24,
    isConfigured: () => true,
    cache,
    inTurn
  }
  const { requestPem } = yield* Effect.promise(() => makeOutpostRequest())
  return { api, members, requestPem }
})

describe("the token of a member", () => {
  it.effect.each(["get", "patch"])("is good in a while if its Secret cannot be had now for %s", function* (verb) {
    const { api, members, requestPem } = yield* start
    const redeem = redeemToken(members, { requestPem, token: Redacted.make(tokenText(token)), from: "10.0.0.1" })
    const away = new KubeError({ cluster: "primary", operation: verb, reason: "Unreachable", detail: "no route" })
    api.before = (call) => (call.verb === verb ? Effect.fail(away) : Effect.void)
    expect(yield* Effect.flip(redeem)).toMatchObject({
      mayPass: true,
      message: expect.stringContaining("is tried again by itself")
    })
    api.before = () => Effect.void
    expect(yield* redeem).toMatchObject({ sequence: { number: 1 } })
    expect(yield* Effect.flip(redeem)).toMatchObject({ mayPass: false })
  })
})

describe("the keys of a member", () => {
  it.effect("are not joined by one for a key that a token has shut out meanwhile", function* () {
    const { api, members, requestPem } = yield* start
    const renew = Effect.result(renewCertificate(members, { name, keyId: present }, requestPem))
    const keys = () =>
      readAdmittedKeys(Result.getOrThrow(readResource(secrets, api.peek(secrets, secretName, namespace))).data)
    expect((yield* renew)._tag).toBe("Success")
    expect(keys()).toEqual([expect.any(String), present])
    yield* redeemToken(members, { requestPem, token: Redacted.make(tokenText(token)), from: "10.0.0.1" })
    const since = keys()
    expect(since).toHaveLength(1)
    expect(Result.getOrThrow(Result.flip(yield* renew))).toContain("admits the key of this tunnel no more")
    expect(keys()).toEqual(since)
    // The same while the key is being written, before the cache has seen it.
    const other = "2".repeat(64)
    api.write(secrets, secretName, { data: admittedKeysData([present]) }, namespace)
    yield* Effect.promise(() => turns(20))
    api.before = ({ verb }) =>
      Effect.sync(() => {
        if (verb === "patch") api.write(secrets, secretName, { data: admittedKeysData([other]) }, namespace)
      })
    expect(Result.getOrThrow(Result.flip(yield* renew))).toContain("admits the key of this tunnel no more")
    expect(keys()).toEqual([other])
  })
})
