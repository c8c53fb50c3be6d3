/**
 * Keeps the identity of each member in a ConfigMap beside the operator, so that it outlives processes and terms of
 * leaders. Nobody but people forgets a pin: a cluster that is refused is looked up there anew each time.
 *
 * Not here: the decision (domain/fleet/cluster-identity.ts), and when a member is asked (cluster-connection.ts).
 */

import { Effect, Semaphore } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import {
  type IdentifiedCluster,
  type IdentityVerdict,
  judgeIdentity,
  pinsName
} from "../../domain/fleet/cluster-identity.ts"
import { type ClusterName, clusterSlug, type Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { asObject } from "../../domain/json.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { clusterUid } from "../kernel/cluster-uid.ts"
import { createLedger, type LedgerPlace, patchLedger } from "../kernel/ledger.ts"
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

/** The pins as they were read or written last. */
interface KnownPins {
  readonly pins: ReadonlyMap<string, string>
  /** Nothing while there is no ConfigMap. */
  readonly resourceVersion: string | undefined
  /** Without the right to keep pins, as with the role of an older chart, they last as long as the process. */
  readonly isKept: boolean
}

/** A value that people have emptied is no pin. */
const knownPins = ({ data, metadata }: KubeObject): KnownPins => ({
  pins: new Map(
    Object.entries(asObject(data))
      .map(([slug, uid]) => [slug, cleanText(String(uid).trim(), textLimits.name)] as const)
      .filter(([, uid]) => uid !== "")
  ),
  resourceVersion: metadata.resourceVersion,
  isKept: true
})

/** Reads the pins of a primary. */
export const readPins = ({
  api,
  namespace
}: Pick<PinsOptions, "api" | "namespace">): Effect.Effect<KnownPins, KubeError> =>
  api.get(configMaps, pinsName, namespace).pipe(
    Effect.map(knownPins),
    Effect.catch((error) =>
      error.reason === "NotFound" || error.reason === "Forbidden"
        ? Effect.succeed({ pins: new Map(), resourceVersion: undefined, isKept: error.reason === "NotFound" })
        : Effect.fail(error)
    )
  )

/** Whether somebody else has made, changed or deleted the ConfigMap since it was read. */
const isStale = ({ reason }: KubeError): boolean =>
  reason === "AlreadyExists" || reason === "Conflict" || reason === "NotFound"

/** One judgement comes after the other, as two names may not get one identity. */
export const makeIdentityPins = (options: PinsOptions): JudgeIdentity => {
  const { api, namespace, sha256Hex } = options
  const turn = Semaphore.makeUnsafe(1)
  const place: LedgerPlace = { api, namespace, name: pinsName, kind: "cluster-identities" }
  const log = new LogOnce()
  /** Another replica may have pinned the name meanwhile, so each write is of the version that was judged from. */
  const keep = (known: KnownPins, slug: string, uid: string): Effect.Effect<KnownPins, KubeError> => {
    const unkept = Effect.as(
      log.tell("", logWarning("identities of clusters are not kept: the right is missing", { configMap: pinsName })),
      { ...known, pins: new Map([...known.pins, [slug, uid]]), isKept: false }
    )
    if (!known.isKept) return unkept
    const { resourceVersion } = known
    const entries = { [slug]: uid }
    return (
      resourceVersion === undefined ? createLedger(place, entries) : patchLedger(place, entries, { resourceVersion })
    ).pipe(
      Effect.map(knownPins),
      Effect.catch((error) => (error.reason === "Forbidden" ? unkept : Effect.fail(error)))
    )
  }
  let known: KnownPins | undefined
  let own: string | undefined
  const judge = (cluster: Omit<IdentifiedCluster, "pins">): Effect.Effect<IdentityVerdict, KubeError> =>
    Effect.gen(function* () {
      const isFresh = known === undefined
      known ??= yield* readPins(options)
      const verdict = judgeIdentity({ ...cluster, pins: known.pins })
      if (verdict._tag === "ToPin") known = yield* keep(known, cluster.slug, verdict.uid)
      if (verdict._tag !== "Refused" || !known.isKept) return verdict
      // Nobody is refused because of pins that are not the newest.
      known = undefined
      return isFresh ? verdict : yield* judge(cluster)
    }).pipe(
      Effect.catch((error) => {
        if (!isStale(error)) return Effect.fail(error)
        known = undefined
        return judge(cluster)
      })
    )
  return (name, found) =>
    Effect.gen(function* () {
      if (found === undefined) return { _tag: "Untold" } as const
      own ??= yield* clusterUid(api)
      return yield* judge({ name, slug: clusterSlug(name, sha256Hex), found, own, namespace })
    }).pipe(turn.withPermits(1))
}
