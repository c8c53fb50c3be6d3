import * as Result from "effect/Result"
import { patchedLabel } from "../../src/domain/queues/pod-patch.ts"
import { queueSplitObject, type ServedQueueSplit, type ShownSplit } from "../../src/domain/queues/queue-split-object.ts"
import type { SplitPlace } from "../../src/domain/queues/split-place.ts"
import {
  newSessionObject,
  splitSessions,
  storedSession,
  type StoredSession
} from "../../src/domain/queues/stored-session.ts"
import { newSplitObject, storedSplit, type StoredSplit } from "../../src/domain/queues/stored-split.ts"
import type { WantedSplit } from "../../src/domain/queues/wanted-split.ts"
import type { MirrordClusterSplitSession } from "../../src/domain/resources/queues/mirrord-cluster-split-session.ts"
import { readResource } from "../../src/domain/resources/resource-descriptor.ts"
import { met } from "../../src/domain/sessions/requirement.ts"

export const place: SplitPlace = { namespace: "shop", kind: "deployment", name: "consumer" }
export const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann@x" }
export const createdAt = "2026-11-28T11:00:00Z"
const filters: WantedSplit["filters"] = new Map([
  ["orders", { attributes: { to: "^ann$" }, program: undefined }],
  ["refunds", { attributes: {}, program: ".a" }]
])

const defined = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error("it cannot be read")
  return value
}

/** The wish of a session that is alone, without modes. */
export const wantedSplit = (at: SplitPlace, filters: WantedSplit["filters"]): WantedSplit => ({
  workload: { ...at, container: "app" },
  filters,
  modes: new Map(),
  isAutomatic: false,
  sessionKey: undefined,
  startedAt: undefined,
  isShared: false,
  given: undefined
})

/** A session's part as a cluster has it. */
export const partOf = (status?: MirrordClusterSplitSession["status"], at: SplitPlace = place): StoredSession => {
  const object = newSessionObject({
    name: `00000000000000ff.${at.name}.${at.kind}`,
    place: at,
    container: "app",
    wanted: wantedSplit(at, filters),
    owner,
    session: { apiVersion: "v1", kind: "MirrordClusterSession", metadata: { name: "00000000000000ff" } },
    startedAt: Date.parse(createdAt)
  })
  const { metadata, spec } = object
  const meta = { ...metadata, uid: "part", creationTimestamp: createdAt }
  const stored = { metadata: meta, spec, status: status ?? null }
  return defined(storedSession(Result.getOrThrow(readResource(splitSessions, { ...object, ...stored }))))
}

const queueNamed = (name: string, reference: string, ids: ReadonlyArray<string>) => ({
  identity: name,
  reference,
  name,
  url: `https://sqs/1/${name}`,
  ids
})

const record = newSplitObject("consumer", place, {
  container: "app",
  digest: "d",
  sources: [
    queueNamed("orders", "https://sqs/1/orders", ["orders"]),
    queueNamed("refunds", "refunds", ["refunds", "r2"])
  ],
  times: {
    restartMillis: 1,
    strategy: "standard",
    waitForPods: 1,
    ttlMillis: 0,
    drainMillis: undefined,
    nameTemplate: undefined
  },
  phase: "Live",
  since: 0,
  restart: undefined
})

/** The object of the workload's split. */
export const splitRecord = { ...record, metadata: { ...record.metadata, uid: "split", creationTimestamp: createdAt } }

export const split: StoredSplit = defined(storedSplit(splitRecord))

export const pod = (
  name: string,
  patchedBy: string,
  isReady: boolean,
  isTerminating = false
): ShownSplit["pods"][number] => ({
  metadata: {
    name,
    labels: { [patchedLabel]: patchedBy },
    ...(isTerminating && { deletionTimestamp: createdAt })
  },
  status: { conditions: isReady ? [{ type: "Ready", status: "True" }] : [] }
})

/** A QueueSplit as the operator serves it. */
export const servedSplit = (change: Partial<ShownSplit> = {}): ServedQueueSplit =>
  queueSplitObject({ session: partOf(), split, pods: [], requirement: met, ...change })
