import { Effect } from "effect"
import { describe, expect } from "vitest"
import { createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { readCertificate } from "../../../src/adapters/x509/read-certificate.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { it } from "../../support/effect-it.ts"
import { giveCredentials, operatorNamespace } from "../../support/fleet.ts"
import { day0, pass } from "../sessions/session-fleet.ts"
import { name, startInCloud } from "./cloud-fleet.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

/** A client certificate that ends so many ms after the beginning of the test. */
const pairFor = (left: number) =>
  Effect.promise(async () => {
    const issue = async (begun: number) => (await createAuthority("ca", () => begun)).issue({ commonName: "primary" })
    const trial = await issue(0)
    const life = readCertificate(trial.certPem)?.validity.until ?? 0
    return issue(day0 + left - life)
  })

/** A primary that reaches its only cluster by a client certificate, and has none yet. */
const startInMtls = Effect.gen(function* () {
  const started = yield* startInCloud({ _tag: "Mtls" })
  const give = (pair: KeyPair) =>
    started.primary.write(
      secrets,
      credentialsSecretName(name, sha256Hex),
      {
        metadata: { labels: { [credentialsLabel]: "true" } },
        data: { "tls.crt": encodeBase64Text(pair.certPem), "tls.key": encodeBase64Text(pair.keyPem) }
      },
      operatorNamespace
    )
  return { ...started, give }
})

/** The same with a certificate. */
const start = Effect.fnUntraced(function* (left: number) {
  const started = yield* startInMtls
  started.give(yield* pairFor(left))
  yield* pass(1)
  return started
})

describe("a client certificate", () => {
  it.effect.each([
    [30, 0],
    [7, 1],
    [1, 1]
  ] as const)(
    "is told %j days before its end, once, and again by the operator after this one",
    function* ([days, before]) {
      const { endings } = yield* start(days * day + hour / 2)
      expect(endings).toHaveLength(before)
      yield* pass(hour / 1000)
      expect(endings.slice(before)).toEqual([
        expect.stringMatching(
          new RegExp(
            `^Cluster cluster-a: the client certificate in Secret mirrord-cluster-cluster-a ends in ${days}d, `,
            "u"
          )
        )
      ])
      const next = yield* start(days * day - hour)
      yield* pass(hour / 1000)
      expect(next.endings).toHaveLength(1)
    }
  )

  it.effect("is used to its end and after it, as clocks differ, and says that it has ended", function* () {
    const { endings, engaged, fleet, give, reach, used } = yield* start(hour / 2)
    yield* pass(hour / 1000)
    expect(endings).toEqual([
      expect.stringMatching(/ends in 30m, /u),
      expect.stringMatching(/ ended at .*tls\.key\.$/u)
    ])
    expect([engaged.length, used, reach()?.reachable]).toEqual([1, [], true])
    give(yield* pairFor(365 * day))
    yield* pass(1)
    expect([engaged.length, used]).toEqual([1, ["ClientCertificate"]])
    expect(fleet.clusters.get(name)?.ending()?.validity.until).toBe(day0 + 365 * day)
    yield* pass(hour / 1000)
    expect(endings).toHaveLength(2)
  })
})

describe("a pair that TLS cannot use", () => {
  const glued = (pair: KeyPair): KeyPair => ({ ...pair, certPem: `${pair.certPem.trim()}${pair.certPem}` })

  it.effect("engages no cluster, and is the reason for that", function* () {
    const { engaged, give, reach } = yield* startInMtls
    give(glued(yield* pairFor(day)))
    yield* pass(1)
    expect([engaged, reach()?.error]).toEqual([
      [],
      "its Secret mirrord-cluster-cluster-a is unusable: TLS cannot use tls.crt (OpenSSL: bad end line); write " +
        "plain PEM, with each BEGIN and each END on a line of its own"
    ])
  })

  it.effect("replaces no good one, which is used on; that is told once", function* () {
    const { engaged, fleet, give, problems, reach, used } = yield* start(60 * day)
    const spoilt = glued(yield* pairFor(365 * day))
    give(spoilt)
    yield* pass(1)
    give(spoilt)
    yield* pass(1)
    expect([engaged.length, used, reach()?.reachable]).toEqual([1, [], true])
    expect(problems).toEqual([
      expect.stringMatching(/^Cluster cluster-a gets no new credentials: its Secret .* TLS cannot use tls\.crt /u)
    ])
    expect(fleet.clusters.get(name)?.ending()?.validity.until).toBe(day0 + 60 * day)
    give(yield* pairFor(365 * day))
    yield* pass(1)
    expect(used).toEqual(["ClientCertificate"])
    give(spoilt)
    yield* pass(1)
    expect(problems).toHaveLength(2)
  })

  it.effect("is not meant where a key is missing: the access is taken away", function* () {
    const { give, reach } = yield* start(60 * day)
    give({ ...(yield* pairFor(60 * day)), keyPem: "" })
    yield* pass(1)
    expect(reach()).toMatchObject({ reachable: false, error: expect.stringMatching(/key tls\.key of its Secret/u) })
  })
})

describe("a cluster that does not know the bearer of a client certificate", () => {
  const at = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d UTC`
  it.effect.each([
    [
      "has ended",
      -hour,
      new RegExp(`the client certificate in Secret mirrord-cluster-cluster-a ended at ${at}; put `, "u")
    ],
    ["is not valid yet", 3652 * day, new RegExp(`is valid from ${at} only; wait until then, or put another one`, "u")]
  ] as const)("says that it %s, and what to do", function* ([_what, left, sentence]) {
    const { reach, refuseAll } = yield* start(left)
    refuseAll()
    yield* pass(minute / 1000)
    expect(reach()?.error).toMatch(sentence)
  })

  it.effect("says no more if the certificate is valid", function* () {
    const { reach, refuseAll } = yield* start(day)
    refuseAll()
    yield* pass(minute / 1000)
    expect(reach()?.error).toBe(
      "it refuses the primary's credentials (401); braid doctor --cluster cluster-a says more"
    )
  })
})

describe("a token that is not renewed", () => {
  it.effect("tells its end as a certificate does, and why it is not renewed", function* () {
    const { endings, primary } = yield* startInCloud({ _tag: "BearerToken" })
    const claims = { sub: "ann", iat: day0 / 1000 - 86_400, exp: (day0 + day + hour / 2) / 1000 }
    giveCredentials(primary, "cluster-a", `h.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.s`)
    yield* pass(1)
    expect(endings).toEqual([])
    yield* pass((16 * hour) / 1000)
    expect(endings).toEqual([
      expect.stringMatching(/the token in Secret .* not renewed because it is no service account's, ends in 9h4\dm, /u)
    ])
  })
})
