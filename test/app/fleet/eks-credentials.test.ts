import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { nextEksToken, noEksCredentials } from "../../../src/app/fleet/eks-credentials.ts"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import type { ClusterAuth } from "../../../src/domain/credentials/cluster-auth.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { ClusterConnector, type MemberCredentials } from "../../../src/ports/cluster-connector.ts"
import { type EksCluster, EksTokens } from "../../../src/ports/eks-tokens.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, operators, ownHealth, pass, workloadCluster } from "../sessions/session-fleet.ts"

const minute = 60

describe("a pause between two tries", () => {
  it("is over when this clock was set back behind its beginning", () => {
    const state = { ...noEksCredentials(() => Effect.fail("no identity")), notBefore: day0 + 86_400_000 }
    expect(nextEksToken(state, "eu-north-1", 0, day0)).toBe(day0)
    expect(nextEksToken({ ...state, notBefore: day0 + 5_000 }, "eu-north-1", 0, day0)).toBe(day0 + 5_000)
  })
})

const name = clusterName("cluster-a")

/** A primary whose only cluster is `eks`, and the AWS that gives it tokens. */
const start = (auth: ClusterAuth = { _tag: "Eks", region: "eu-north-1" }) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(day0)
    const [primary, member] = [new MemoryKubeApi("primary"), workloadCluster("cluster-a")]
    const asked: Array<EksCluster> = []
    const aws = { problem: undefined as string | undefined, identityEnds: undefined as number | undefined }
    /** Each use of credentials: that with which the cluster is engaged, and those that follow. */
    const engaged: Array<string> = []
    const used: Array<string> = []
    const problems: Array<string> = []
    const text = (credentials: MemberCredentials): string =>
      credentials._tag === "BearerToken" ? Redacted.value(credentials.token) : credentials._tag
    const base = configurationOf(["cluster-a"])
    const members = base.members.map((one): MemberConfiguration => ({ ...one, auth }))
    const link = () => Effect.fail(new LinkRefused({ cluster: "a", reason: "", detail: "none" }))
    const fleet = yield* makeFleet({
      configuration: { ...base, members },
      namespace: operatorNamespace,
      sha256Hex,
      ownHealth,
      events: {
        joined: () => {},
        left: () => {},
        childChanged: () => {},
        reachChanged: () => {},
        credentialsFailed: (cluster, problem) => void problems.push(`${cluster}: ${problem}`),
        identityRefused: () => {}
      }
    }).pipe(
      Effect.provideService(ClusterConnector, {
        own: { api: primary, link },
        member: (_member, credentials) =>
          Effect.sync(() => {
            engaged.push(text(credentials))
            return { api: member, link, reauthenticate: (next) => void used.push(text(next)) }
          })
      }),
      Effect.provideService(EksTokens, (cluster) =>
        Effect.suspend(() => {
          asked.push(cluster)
          if (aws.problem !== undefined) return Effect.fail(aws.problem)
          const token = Redacted.make(`token ${asked.length} ${cluster.region}`)
          return Effect.succeed({ token, identityEnds: aws.identityEnds })
        })
      )
    )
    /** From now on the member knows nobody. */
    const refuseAll = (): void => {
      member.before = ({ plural }) =>
        plural === operators.plural
          ? Effect.fail(
              new KubeError({ cluster: "a", operation: "get", reason: "Unauthorized", detail: "Unauthorized" })
            )
          : Effect.void
    }
    const reach = () => fleet.clusters.get(name)?.reach()
    return { asked, aws, engaged, fleet, members, primary, problems, reach, refuseAll, used }
  })

describe("an EKS cluster of the fleet", () => {
  it.effect("is engaged with a token that is made for its name and region, without any Secret", () =>
    Effect.gen(function* () {
      const { asked, engaged, reach } = yield* start()
      yield* pass(1)
      expect(asked).toEqual([
        { name, region: "eu-north-1", server: expect.any(String), certificateAuthority: undefined, isRefused: false }
      ])
      expect(engaged).toEqual(["token 1 eu-north-1"])
      expect(reach()).toEqual({ reachable: true, error: undefined })
    })
  )

  it.effect("gets a token every ten minutes, and is never engaged anew", () =>
    Effect.gen(function* () {
      const { asked, engaged, used } = yield* start()
      yield* pass(9 * minute)
      expect(asked).toHaveLength(1)
      yield* pass(61 * minute)
      expect(engaged).toHaveLength(1)
      expect(used).toEqual([2, 3, 4, 5, 6, 7, 8].slice(0, used.length).map((count) => `token ${count} eu-north-1`))
      expect(used.length).toBeGreaterThanOrEqual(6)
    })
  )

  it.effect("keeps its last token while AWS gives none, says so, and recovers by itself", () =>
    Effect.gen(function* () {
      const { asked, aws, engaged, problems, reach, refuseAll, used } = yield* start()
      yield* pass(1)
      aws.problem = "no identity; mend it"
      yield* pass(13 * minute)
      expect([reach()?.reachable, used]).toEqual([true, []])
      expect(new Set(problems)).toEqual(new Set(["cluster-a: no identity; mend it"]))
      // Some tries before the token ends, and no storm of them.
      expect(problems.length).toBeGreaterThanOrEqual(5)
      expect(problems.length).toBeLessThan(20)
      aws.problem = undefined
      yield* pass(2 * minute)
      expect(used).toEqual([`token ${asked.length} eu-north-1`])
      aws.problem = "no identity; mend it"
      refuseAll()
      yield* pass(16 * minute)
      expect(reach()).toMatchObject({
        reachable: false,
        error: expect.stringMatching(/the token of this cluster ended at .* UTC, .* no identity; mend it/u)
      })
      expect(engaged).toHaveLength(1)
    })
  )

  it.effect("is reported while there has been no token, and engaged with the first", () =>
    Effect.gen(function* () {
      const { aws, engaged, reach } = yield* start()
      aws.problem = "no identity; mend it"
      yield* pass(5)
      expect(reach()).toEqual({ reachable: false, error: "no token can be made for it: no identity; mend it" })
      aws.problem = undefined
      yield* pass(10)
      expect([engaged.length, reach()?.reachable]).toEqual([1, true])
    })
  )

  it.effect("that does not know the operator gets other tokens, and the status says what to do", () =>
    Effect.gen(function* () {
      const { asked, reach, refuseAll } = yield* start()
      yield* pass(1)
      refuseAll()
      yield* pass(5 * minute)
      expect(reach()?.error).toMatch(/make an access entry .* "cluster-a", and look whether eu-north-1 is its region$/u)
      expect(asked.length).toBeGreaterThan(2)
      expect(asked.length).toBeLessThan(12)
    })
  )

  it.effect("gets its next token before the identity ends that made the last", () =>
    Effect.gen(function* () {
      const { asked, aws } = yield* start()
      aws.identityEnds = day0 + 8 * minute * 1000
      yield* pass(3 * minute - 1)
      expect(asked).toHaveLength(1)
      aws.identityEnds = undefined
      yield* pass(minute + 2)
      expect(asked).toHaveLength(2)
    })
  )

  it.effect("gets a token at once for another region, and for another way to authenticate, and goes on", () =>
    Effect.gen(function* () {
      const { asked, engaged, fleet, members, primary, used } = yield* start({ _tag: "BearerToken" })
      giveCredentials(primary, "cluster-a")
      yield* pass(1)
      const [member] = members
      if (member === undefined) throw new Error("there is no member")
      const change = (auth: ClusterAuth) => Effect.andThen(fleet.reauthenticate({ ...member, auth }), pass(1))
      yield* change({ _tag: "Eks", region: "eu-north-1" })
      yield* change({ _tag: "Eks", region: "eu-west-1" })
      yield* change({ _tag: "BearerToken" })
      expect(engaged).toHaveLength(1)
      expect(used).toEqual(["token 1 eu-north-1", "token 2 eu-west-1", engaged[0]])
      yield* pass(30 * minute)
      expect(asked).toHaveLength(2)
    })
  )
})
