/** Members that grant tokens to a primary, as MemoryKubeApi. */

import { Clock, Effect } from "effect"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../../src/ports/kube-api.ts"
import { operatorNamespace } from "../../support/fleet.ts"
import type { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, workloadCluster } from "../sessions/session-fleet.ts"

const url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url")
/** A token of the primary's account. Times are ms since the test began. */
export const jwt = (issuedAt: number, until: number, more: object = {}): string =>
  [
    url({ alg: "none" }),
    url({
      sub: "system:serviceaccount:mirrord:mirrord-operator-envoy",
      iat: (day0 + issuedAt) / 1_000,
      exp: (day0 + until) / 1_000,
      ...more
    }),
    "s"
  ].join(".")

/**
 * Lifetime of the tokens that a member grants, instead of what it is asked for, further claims, and what its clock is
 * ahead; in ms.
 */
export interface Granting {
  readonly skew?: number
  readonly lifetime?: number
  readonly claims?: object
}

/** A member that grants tokens of a lifetime, and knows only tokens that have not ended. */
export const granting = (primary: MemoryKubeApi, name: string, options: Granting = {}) => {
  let unknown: (token: string) => boolean = () => false
  const asked: Array<{ readonly at: number; readonly seconds: unknown }> = []
  let refusal: KubeError["reason"] | "silence" | "no token" | undefined
  const member = workloadCluster(name)
  const ended = (token: string, now: number): boolean =>
    Number((JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp: number }).exp) *
      1_000 <=
    now
  const fail = (reason: KubeError["reason"]) =>
    Effect.fail(new KubeError({ cluster: name, operation: "test", reason, detail: reason }))
  const { claims, lifetime, skew = 0 } = options
  const clock = Effect.map(Clock.currentTimeMillis, (now) => now + skew)
  /** The API with a token that may be changed. */
  const accessOf = (first: string) => {
    let token = first
    const asBearer = <A>(request: Effect.Effect<A, KubeError>): Effect.Effect<A, KubeError> =>
      Effect.flatMap(clock, (now) => (ended(token, now) || unknown(token) ? fail("Unauthorized") : request))
    const api: KubeApi = {
      ...member,
      cluster: member.cluster,
      get: (...args) => asBearer(member.get(...args)),
      create: (ref, object) =>
        asBearer(
          Effect.flatMap(clock, (now) => {
            if (ref.plural !== "serviceaccounts/mirrord-operator-envoy/token") return fail("NotFound")
            const seconds = at(object, "spec", "expirationSeconds")
            asked.push({ at: now - day0, seconds })
            if (refusal === "silence") return Effect.never
            if (refusal === "no token") return Effect.succeed({ ...object, status: {} } as unknown as KubeObject)
            if (refusal !== undefined) return fail(refusal)
            const until = now - day0 + (lifetime ?? Number(seconds) * 1_000)
            const granted = jwt(now - day0, until, claims)
            return Effect.succeed({ ...object, status: { token: granted } } as unknown as KubeObject)
          })
        )
    }
    return { api, become: (next: string) => void (token = next) }
  }
  const kept = (): string | undefined => {
    const secret = primary.peek(
      secrets,
      `${credentialsSecretName(clusterName(name), sha256Hex)}-refreshed`,
      operatorNamespace
    )
    const token = at(secret, "data", "bearerToken")
    return typeof token === "string" ? Buffer.from(token, "base64").toString() : undefined
  }
  return {
    member,
    accessOf,
    asked,
    kept,
    refuse: (reason: typeof refusal) => (refusal = reason),
    refuseTokens: (which: typeof unknown) => (unknown = which)
  }
}
