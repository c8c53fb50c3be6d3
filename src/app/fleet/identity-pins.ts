/**
 * Keeps the identity of each member in a ConfigMap beside the operator, so that it outlives processes and terms of
 * leaders. Only an administrator removes a pin, so a cluster that is refused is looked up there again each time.
 *
 * Not here: the decision (domain/fleet/cluster-identity.ts), and when a member is asked (cluster-connection.ts).
 */

import { Effect, Semaphore } from "effect"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import {
  type IdentifiedCluster,
  type IdentityVerdict,
  judgeIdentity,
  pinsName,
  type ToldIdentity
} from "../../domain/fleet/cluster-identity.ts"
import { type ClusterName, clusterSlug, type Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { asObject } from "../../domain/json.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { clusterUid } from "../kernel/cluster-uid.ts"
import { createLedger, type LedgerPlace, patchLedger } from "../kernel/ledger.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"

/** Judges who answers under a member's name, and pins what is new. `found`: as the member reports it. */
export type JudgeIdentity = (name: ClusterName, found: ToldIdentity) => Effect.Effect<IdentityVerdict, KubeError>

export interface PinsOptions {
  /** The operator's own cluster. */
  readonly api: KubeApi
  readonly namespace: string
  readonly sha256Hex: Sha256Hex
}

/** The pins as they were read or written last. */
interface KnownPins {
  readonly pins: ReadonlyMap<string, string>
  /** `undefined` while there is no ConfigMap. */
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

/** Whether another writer has made, changed or deleted the ConfigMap since it was read. */
const isStale = ({ reason }: KubeError): boolean =>
  reason === "AlreadyExists" || reason === "Conflict" || reason === "NotFound"

/** A member that waits for its verdict. */
interface Asked {
  readonly cluster: Omit<IdentifiedCluster, "own" | "pins">
  verdict: IdentityVerdict | undefined
}

interface Judged {
  readonly verdicts: ReadonlyArray<IdentityVerdict>
  /** UIDs to pin, by slug. */
  readonly news: Readonly<Record<string, string>>
}

/** Each member is judged by the pins of those before it as well, as two names may not get one identity. */
const judgeAll = (asked: ReadonlyArray<Asked>, own: string | undefined, known: ReadonlyMap<string, string>): Judged => {
  const pins = new Map(known)
  const news: Record<string, string> = {}
  const verdicts = asked.map(({ cluster }) => {
    const verdict = judgeIdentity({ ...cluster, own, pins })
    if (verdict._tag === "ToPin") {
      pins.set(cluster.slug, verdict.uid)
      news[cluster.slug] = verdict.uid
    }
    return verdict
  })
  return { verdicts, news }
}

/** Writes pins. Another replica may have pinned a name meanwhile, so each write is of the version that was read. */
const makeKeeper = ({ api, namespace }: PinsOptions) => {
  const place: LedgerPlace = { api, namespace, name: pinsName, kind: "cluster-identities" }
  const log = new LogOnce()
  return (known: KnownPins, news: Judged["news"]): Effect.Effect<KnownPins, KubeError> => {
    const unkept = Effect.as(
      log.tell("", logWarning("identities of clusters are not kept: the right is missing", { configMap: pinsName })),
      { ...known, pins: new Map([...known.pins, ...Object.entries(news)]), isKept: false }
    )
    if (!known.isKept) return unkept
    const { resourceVersion } = known
    return (
      resourceVersion === undefined ? createLedger(place, news) : patchLedger(place, news, { resourceVersion })
    ).pipe(
      Effect.map(knownPins),
      Effect.catch((error) => (error.reason === "Forbidden" ? unkept : Effect.fail(error)))
    )
  }
}

/**
 * All members that ask while a judgement is under way are judged together by the next one, so that a thousand new
 * members cost a few writes. Those of a judgement that fails or is interrupted wait for the next.
 */
export const makeIdentityPins = (options: PinsOptions): JudgeIdentity => {
  const { api, namespace, sha256Hex } = options
  const turn = Semaphore.makeUnsafe(1)
  const keep = makeKeeper(options)
  const waiting = new Set<Asked>()
  let known: KnownPins | undefined
  let own: string | undefined
  const judge = (asked: ReadonlyArray<Asked>): Effect.Effect<void, KubeError> =>
    Effect.gen(function* () {
      const isFresh = known === undefined
      known ??= yield* readPins(options)
      const { news, verdicts } = judgeAll(asked, own, known.pins)
      const isRefused = known.isKept && verdicts.some(({ _tag }) => _tag === "Refused")
      // No member is refused because of outdated pins: they are read again first.
      if (isRefused && !isFresh) {
        known = undefined
        return yield* judge(asked)
      }
      if (Object.keys(news).length > 0) known = yield* keep(known, news)
      if (isRefused) known = undefined
      for (const [index, one] of asked.entries()) one.verdict = verdicts[index]
    }).pipe(
      Effect.catch((error) => {
        if (!isStale(error)) return Effect.fail(error)
        known = undefined
        return judge(asked)
      })
    )
  const verdictOf = Effect.fnUntraced(function* (one: Asked): Effect.fn.Return<IdentityVerdict, KubeError> {
    if (one.verdict !== undefined) return one.verdict
    own ??= yield* clusterUid(api)
    yield* judge([...waiting].filter(({ verdict }) => verdict === undefined))
    return yield* verdictOf(one)
  })
  return (name, found) =>
    Effect.suspend(() => {
      if (found._tag === "Untold") return Effect.succeed(found)
      const one: Asked = { cluster: { name, slug: clusterSlug(name, sha256Hex), found, namespace }, verdict: undefined }
      waiting.add(one)
      return turn
        .withPermits(1)(verdictOf(one))
        .pipe(Effect.ensuring(Effect.sync(() => waiting.delete(one))))
    })
}
