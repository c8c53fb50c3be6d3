import { Effect } from "effect"
import { describe, expect } from "vitest"
import { ensureUserAuthority, userAuthoritySecret } from "../../../src/app/certificates/user-authority.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const namespace = "mirrord"

describe("the authority for users' certificates", () => {
  it.effect("is made once: a restarted operator has the same one under the same fingerprint", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* ensureUserAuthority(api, namespace)
    const again = yield* ensureUserAuthority(api, namespace)
    expect([again.certificatePem, again.fingerprint]).toEqual([first.certificatePem, first.fingerprint])
    expect(api.peekAll(secrets)).toHaveLength(1)
  })

  it.effect("is another one, under another fingerprint, when its Secret is gone", function* () {
    const api = new MemoryKubeApi("c")
    const first = yield* ensureUserAuthority(api, namespace)
    api.erase(secrets, userAuthoritySecret, namespace)
    const next = yield* ensureUserAuthority(api, namespace)
    expect(next.certificatePem).not.toBe(first.certificatePem)
    expect(next.fingerprint).not.toBe(first.fingerprint)
  })

  it.effect("is one for replicas that start together: the first create wins", function* () {
    const api = new MemoryKubeApi("c")
    api.before = ({ verb }) => (verb === "create" ? Effect.yieldNow : Effect.void)
    const ensured = yield* Effect.all([ensureUserAuthority(api, namespace), ensureUserAuthority(api, namespace)], {
      concurrency: "unbounded"
    })
    expect(new Set(ensured.map(({ fingerprint }) => fingerprint)).size).toBe(1)
    expect(api.peekAll(secrets)).toHaveLength(1)
  })

  it.effect("that cannot be read is not replaced: users would lose their certificates without a word", function* () {
    const api = new MemoryKubeApi("c")
    api.write(secrets, userAuthoritySecret, { data: { "tls.crt": "eA==", "tls.key": "eA==" } }, namespace)
    const failure = yield* Effect.flip(ensureUserAuthority(api, namespace))
    expect(failure.detail).toContain("delete it, and the operator makes a new one")
  })
})
