import { Effect, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"
import { readBundle } from "../../../src/adapters/x509/certificate-bundle.ts"
import { servingCertificate } from "../../../src/app/certificates/certificate-watch.ts"
import { ownCertificateSecret, ownServingCertificate } from "../../../src/app/certificates/own-certificate.ts"
import { apiServices, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { operatorApiService } from "../../../src/domain/resources/operator-api.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { untilTrue } from "../../support/until-true.ts"

const register = (api: MemoryKubeApi, spec: object = {}): void =>
  void api.write(apiServices, operatorApiService, {
    spec: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, ...spec }
  })

const cluster = (spec: object = {}): MemoryKubeApi => {
  const api = new MemoryKubeApi("c")
  register(api, spec)
  return api
}

const own = (api: MemoryKubeApi) => ownServingCertificate(api, "mirrord")
const specOf = (api: MemoryKubeApi) =>
  api.peek(apiServices, operatorApiService)?.["spec"] as {
    readonly caBundle?: string
    readonly insecureSkipTLSVerify?: boolean
  }
/** The authorities that the API server trusts, by their subjects. */
const trusted = (api: MemoryKubeApi): ReadonlyArray<string> =>
  readBundle(Buffer.from(specOf(api).caBundle ?? "", "base64").toString("utf8")).map(({ subject }) => subject)
const keysIn = (api: MemoryKubeApi): ReadonlyArray<string> =>
  Object.keys((api.peek(secrets, ownCertificateSecret, "mirrord")?.["data"] ?? {}) as object).toSorted()
const writes = (api: MemoryKubeApi): ReadonlyArray<string> =>
  api.calls.flatMap(({ plural, verb }) => (verb === "get" ? [] : [`${verb} ${plural}`]))

describe("the operator's own serving certificate", () => {
  it.effect("is made once, and the API server is told whom to trust instead of trusting anybody", function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 1))
    const api = cluster({ insecureSkipTLSVerify: true })
    const first = yield* own(api)
    assert.deepStrictEqual(writes(api), ["create secrets", "patch apiservices"])
    assert.notProperty(specOf(api), "insecureSkipTLSVerify")
    assert.strictEqual(Buffer.from(specOf(api).caBundle ?? "", "base64").toString("utf8"), first.authorityPem)
    assert.strictEqual((yield* own(api)).certificatePem, first.certificatePem)
    assert.lengthOf(writes(api), 2)
  })

  it.effect("is the same for replicas that start at once", function* () {
    const api = cluster()
    const replicas = yield* Effect.all([own(api), own(api), own(api)], { concurrency: "unbounded" })
    assert.strictEqual(new Set(replicas.map(({ certificatePem }) => certificatePem)).size, 1)
    assert.lengthOf(trusted(api), 1)
  })

  it.effect("gets a successor, which is served when the API servers had an hour to learn of it", function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 1))
    const api = cluster()
    const first = yield* own(api)
    yield* TestClock.adjust("59 days")
    assert.strictEqual((yield* own(api)).certificatePem, first.certificatePem)
    assert.lengthOf(trusted(api), 1)

    yield* TestClock.adjust("1 day")
    assert.strictEqual((yield* own(api)).certificatePem, first.certificatePem)
    const both = trusted(api)
    assert.lengthOf(both, 2)
    yield* TestClock.adjust("59 minutes")
    assert.strictEqual((yield* own(api)).certificatePem, first.certificatePem)

    yield* TestClock.adjust("1 minute")
    const second = yield* own(api)
    assert.notStrictEqual(second.certificatePem, first.certificatePem)
    // Other replicas may still serve the first.
    assert.sameMembers([...trusted(api)], [...both])
    assert.deepStrictEqual(keysIn(api), ["ca.crt", "former-ca.crt", "tls.crt", "tls.key"])

    yield* TestClock.adjust("60 days")
    yield* own(api)
    assert.lengthOf(trusted(api), 2)
    assert.notInclude(trusted(api), both[0])
  })

  it.effect("does not serve a successor whose authority could not be published", function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 1))
    const api = cluster()
    const first = yield* own(api)
    yield* TestClock.adjust("61 days")
    api.before = ({ plural, verb }) =>
      verb === "patch" && plural === "apiservices"
        ? Effect.fail(new KubeError({ cluster: "c", operation: "patch", reason: "Forbidden", detail: "no" }))
        : Effect.void
    for (let tries = 0; tries < 3; tries++) {
      assert.strictEqual((yield* Effect.flip(own(api))).reason, "Forbidden")
      yield* TestClock.adjust("2 hours")
    }
    api.before = () => Effect.void
    // Published now, so not served now.
    assert.strictEqual((yield* own(api)).certificatePem, first.certificatePem)
    assert.notStrictEqual((yield* own(api)).certificatePem, first.certificatePem)
  })

  it.effect("is published again when somebody has taken it out of the APIService", function* () {
    const api = cluster()
    yield* own(api)
    const before = trusted(api)
    register(api, { caBundle: null })
    assert.isUndefined(specOf(api).caBundle)
    yield* own(api)
    assert.deepStrictEqual(trusted(api), before)
  })

  it.effect(
    "is made again when the Secret cannot be used, the Service has another name, or all has ended",
    function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      const api = cluster()
      const seen = [(yield* own(api)).certificatePem]
      api.write(secrets, ownCertificateSecret, { data: { "tls.key": "bm8=" } }, "mirrord")
      seen.push((yield* own(api)).certificatePem)
      register(api, { service: { name: "other", namespace: "mirrord", port: 443 } })
      seen.push((yield* own(api)).certificatePem)
      yield* TestClock.adjust("91 days")
      seen.push((yield* own(api)).certificatePem)
      assert.strictEqual(new Set(seen).size, 4)
      assert.lengthOf(trusted(api), 1)
      assert.deepStrictEqual(keysIn(api), ["ca.crt", "tls.crt", "tls.key"])
    }
  )

  it.effect(
    "is awaited behind a temporary one where the APIService comes later; its key is never logged",
    function* () {
      const told: Array<string> = []
      const remember = Effect.provide(Logger.layer([Logger.map(Logger.formatJson, (line) => void told.push(line))]))
      const api = new MemoryKubeApi("c")
      const settings = { certificate: undefined, namespace: "mirrord", ownCertificate: true }
      const source = yield* remember(servingCertificate(settings, api))
      const temporary = source.known()
      let changes = 0
      source.listen(() => void changes++)
      register(api)
      yield* TestClock.adjust("3 seconds")
      // Keys and signatures are made beside Effect's clock.
      yield* Effect.promise(() => untilTrue("the certificate is served", () => changes === 1))
      assert.notStrictEqual(source.known().certificatePem, temporary.certificatePem)
      assert.strictEqual((yield* own(api)).certificatePem, source.known().certificatePem)
      for (const { keyPem } of [temporary, source.known()])
        assert.notInclude(told.join("\n"), Redacted.value(keyPem).slice(40, 72))
    }
  )
})
