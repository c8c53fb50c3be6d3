/**
 * Keeps the identity of each member in a ConfigMap beside the operator, so that it outlives processes and terms of
 * leaders. Nobody but people forgets a pin: a cluster that is refused is looked up there anew each time.
 *
 * Not here: the decision (domain/fleet/cluster-identity.ts), and when a member is asked (cluster-connection.ts).
 */

import { Effect, Semaphore } from "effect"
import { type IdentityVerdict, judgeIdentity, pinsName } from "../../domain/fleet/cluster-identity.ts"
import { type ClusterName, clusterSlug, type Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { asObject } from "../../domain/json.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { clusterUid } from "../kernel/cluster-uid.ts"
import { type LedgerPlace, orIf, writeLedger } from "../kernel/ledger.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"

/** Judges who answers under a member's name, and pins what is new. `uid`: as the member tells it. */
export type JudgeIdentity = (name: ClusterName, uid: string | undefined) => Effect.Effect<IdentityVerdict, KubeError>

export interface PinsOptions {
  /** The operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  readonly sha256Hex: Sha256Hex
}

const readPins = ({ api, namespace }: PinsOptions): Effect.Effect<Map<string, string>, KubeError> =>
  api.get(configMaps, pinsName, namespace).pipe(
    Effect.map(
      (found) => new Map(Object.entries(asObject(found["data"])).map(([slug, uid]) => [slug, String(uid)] as const))
    ),
    Effect.catch((error) =>
      error.reason === "NotFound" || error.reason === "Forbidden" ? Effect.succeed(new Map()) : Effect.fail(error)
    )
  )

/** One judgement comes after the other, as two names may not get one identity. */
export const makeIdentityPins = (options: PinsOptions): JudgeIdentity => {
  const { api, namespace, sha256Hex } = options
  const turn = Semaphore.makeUnsafe(1)
  const place: LedgerPlace = { api, namespace, name: pinsName, kind: "cluster-identities" }
  const log = new LogOnce()
  /** Without the right to keep pins, as with the role of an older chart, they last as long as the process. */
  const keep = (slug: string, uid: string): Effect.Effect<void, KubeError> =>
    writeLedger(place, { [slug]: uid }).pipe(
      orIf(
        "Forbidden",
        log.tell("", logWarning("identities of clusters are not kept: the right is missing", { configMap: pinsName }))
      )
    )
  let pins: Map<string, string> | undefined
  let own: string | undefined
  return (name, found) =>
    Effect.gen(function* () {
      if (found === undefined) return { _tag: "Untold" } as const
      own ??= yield* clusterUid(api)
      pins ??= yield* readPins(options)
      const slug = clusterSlug(name, sha256Hex)
      const verdict = judgeIdentity({ name, slug, found, own, pins, namespace })
      if (verdict._tag === "ToPin") {
        yield* keep(slug, verdict.uid)
        pins.set(slug, verdict.uid)
      }
      if (verdict._tag === "Refused") pins = undefined
      return verdict
    }).pipe(turn.withPermits(1))
}
