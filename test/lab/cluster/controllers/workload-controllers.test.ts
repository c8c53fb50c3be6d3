import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ContainerProgram } from "../../../../lab/cluster/node/container-program.ts"
import type { KubeObject, ResourceRef } from "../../../../lab/cluster/schema/kube-object.ts"
import type { ObjectStore } from "../../../../lab/cluster/store/object-store.ts"
import { deployments, jobs, pods, replicaSets, statefulSets } from "../../../../lab/cluster/store/resource-refs.ts"
import { controllerOf, isPodReady, nameOf } from "../../../../lab/cluster/store/store-access.ts"
import { asObject, asObjects, at } from "../../../../src/domain/json.ts"
import { it } from "../../../support/effect-it.ts"
import { turns } from "../../../support/turns.ts"
import { testCluster, until } from "../node/test-cluster.ts"

const forever: ContainerProgram = () => Effect.never
const all = [pods, deployments, replicaSets, statefulSets, jobs]
const podsOf = (store: ObjectStore) => store.list(pods, { namespace: "default" }).items

const workload = (
  apiVersion: string,
  kind: string,
  name: string,
  spec: Record<string, unknown>,
  image = "app"
): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: "default" },
  spec: {
    ...(kind === "Job" ? {} : { selector: { matchLabels: { app: name } } }),
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "c", image }], restartPolicy: kind === "Job" ? "Never" : "Always" }
    },
    ...spec
  }
})

const where = (store: ObjectStore, ref: ResourceRef, name: string, holds: (object: KubeObject) => boolean) =>
  until(store, all, () => {
    const object = store.get(ref, "default", name)
    return object !== undefined && holds(object) ? object : undefined
  })

const readyReplicas =
  (count: number) =>
  (object: KubeObject): boolean =>
    at(object, "status", "readyReplicas") === count &&
    at(object, "status", "replicas") === count &&
    at(object, "status", "observedGeneration") === object.metadata.generation

const hasCondition =
  (type: string, reason?: string) =>
  (object: KubeObject): boolean =>
    asObjects(at(object, "status", "conditions")).some(
      (c) => c["type"] === type && c["status"] === "True" && (reason === undefined || c["reason"] === reason)
    )

const setEnv = (store: ObjectStore, ref: ResourceRef, name: string, value: string) =>
  store.modify(ref, "default", name, (draft) => {
    const container = asObjects(at(draft, "spec", "template", "spec", "containers"))[0]
    if (container !== undefined) container["env"] = [{ name: "V", value }]
  })

describe("Deployment", () => {
  it.live("makes owned, labelled pods through a ReplicaSet, scales, and counts them", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(220, { app: forever })
        store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas: 3 }))
        const ready = yield* where(store, deployments, "web", readyReplicas(3))
        assert.isTrue(hasCondition("Available")(ready))
        const set = store.list(replicaSets, { namespace: "default" }).items[0]
        assert.strictEqual(set === undefined ? undefined : controllerOf(set)?.name, "web")
        for (const pod of podsOf(store)) {
          assert.strictEqual(controllerOf(pod)?.uid, set?.metadata.uid)
          assert.strictEqual(pod.metadata.labels?.["app"], "web")
          assert.isString(pod.metadata.labels?.["pod-template-hash"])
        }
        store.modify(deployments, "default", "web", (draft) => {
          draft["spec"] = { ...(draft["spec"] as object), replicas: 1 }
        })
        yield* where(store, deployments, "web", readyReplicas(1))
        yield* until(store, all, () => (podsOf(store).length === 1 ? true : undefined))
      })
    )
  )

  it.live("a lost pod is replaced, and a changed template replaces all, never with fewer ready than wanted", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(221, { app: forever })
        store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas: 2 }))
        yield* where(store, deployments, "web", readyReplicas(2))
        const victim = podsOf(store)[0]
        store.delete(pods, "default", victim === undefined ? "" : nameOf(victim))
        yield* until(store, all, () =>
          podsOf(store).length === 2 &&
          podsOf(store).every((p) => isPodReady(p) && p.metadata.uid !== victim?.metadata.uid)
            ? true
            : undefined
        )

        let fewest = 2
        store.watch(pods, {}, () => {
          fewest = Math.min(
            fewest,
            podsOf(store).filter((p) => isPodReady(p) && p.metadata.deletionTimestamp === undefined).length
          )
        })
        const before = new Set(podsOf(store).map((p) => p.metadata.uid))
        setEnv(store, deployments, "web", "2")
        const done = yield* where(
          store,
          deployments,
          "web",
          (d) =>
            readyReplicas(2)(d) &&
            at(d, "status", "updatedReplicas") === 2 &&
            hasCondition("Progressing", "NewReplicaSetAvailable")(d)
        )
        yield* until(store, all, () => (podsOf(store).length === 2 ? true : undefined))
        assert.isTrue(podsOf(store).every((p) => !before.has(p.metadata.uid)))
        assert.strictEqual(fewest, 2)
        assert.strictEqual(done.metadata.annotations?.["deployment.kubernetes.io/revision"], "2")
        const sizes = store.list(replicaSets, { namespace: "default" }).items.map((set) => at(set, "spec", "replicas"))
        assert.deepStrictEqual(sizes.toSorted(), [0, 2])
      })
    )
  )

  it.live.each([
    [4, 1, 0, 5, 4],
    [4, 0, 1, 4, 3],
    [2, "0%", "10%", 2, 1]
  ] as const)(
    "of %s pods rolls out with maxSurge %s and maxUnavailable %s: at most %s, at least %s ready",
    function* ([replicas, maxSurge, maxUnavailable, most, fewest]) {
      const { store } = yield* testCluster(228, { app: forever })
      const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } }
      store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas, strategy }))
      yield* where(store, deployments, "web", readyReplicas(replicas))
      const seen = { most: 0, fewest: replicas as number }
      store.watch(pods, {}, () => {
        const active = podsOf(store).filter((p) => p.metadata.deletionTimestamp === undefined)
        seen.most = Math.max(seen.most, active.length)
        seen.fewest = Math.min(seen.fewest, active.filter(isPodReady).length)
      })
      store.modify(deployments, "default", "web", (draft) => {
        const template = asObject(at(draft, "spec", "template"))
        template["metadata"] = {
          ...asObject(template["metadata"]),
          annotations: { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" }
        }
      })
      const updated = (d: KubeObject) => at(d, "status", "updatedReplicas") === replicas
      yield* where(store, deployments, "web", (d) => updated(d) && readyReplicas(replicas)(d))
      yield* until(store, all, () => (podsOf(store).length === replicas ? true : undefined))
      assert.deepStrictEqual(seen, { most, fewest })
      assert.isTrue(
        podsOf(store).every((p) => p.metadata.annotations?.["kubectl.kubernetes.io/restartedAt"] !== undefined)
      )
    }
  )

  it.live("a roll-out that never becomes ready gives way to the next one, not the pods that are ready", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(229, { app: forever })
        store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas: 2 }))
        yield* where(store, deployments, "web", readyReplicas(2))
        let fewest = 2
        store.watch(pods, {}, () => {
          const active = podsOf(store).filter((p) => p.metadata.deletionTimestamp === undefined)
          fewest = Math.min(fewest, active.filter(isPodReady).length)
        })
        const use = (image: string, revision: string) =>
          store.modify(deployments, "default", "web", (draft) => {
            const container = asObjects(at(draft, "spec", "template", "spec", "containers"))[0]
            if (container !== undefined) Object.assign(container, { image, env: [{ name: "V", value: revision }] })
          })
        use("missing", "2")
        yield* until(store, all, () => (podsOf(store).length === 3 ? true : undefined))
        use("app", "3")
        yield* where(store, deployments, "web", (d) => readyReplicas(2)(d) && at(d, "status", "updatedReplicas") === 2)
        assert.strictEqual(fewest, 2)
      })
    )
  )

  it.live("lets a pod go that loses its label, replaces it, and takes it back", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(230, { app: forever })
        store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas: 1 }))
        yield* where(store, deployments, "web", readyReplicas(1))
        const name = nameOf(podsOf(store)[0] ?? workload("", "", "", {}))
        const hash = "pod-template-hash"
        const value = podsOf(store)[0]?.metadata.labels?.[hash] ?? ""
        const label = (change: Record<string, string>) =>
          store.modify(pods, "default", name, (draft) => {
            draft.metadata.labels = { app: "web", ...change }
          })
        label({})
        yield* until(store, all, () => (podsOf(store).filter(isPodReady).length === 2 ? true : undefined))
        assert.notProperty(store.get(pods, "default", name)?.metadata, "ownerReferences")
        const owners = podsOf(store).map((pod) => controllerOf(pod)?.kind)
        assert.sameMembers(owners, [undefined, "ReplicaSet"])
        yield* Effect.promise(() => turns())
        let isTakenBack = false
        store.watch(pods, {}, ({ object }) => {
          isTakenBack ||= nameOf(object) === name && controllerOf(object)?.kind === "ReplicaSet"
        })
        label({ [hash]: value })
        yield* until(store, all, () => (podsOf(store).length === 1 ? true : undefined))
        assert.isTrue(isTakenBack)
      })
    )
  )

  it.live("Recreate has no old pod left when the first new one is made", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(222, { app: forever })
        store.create(
          deployments,
          workload("apps/v1", "Deployment", "web", { replicas: 2, strategy: { type: "Recreate" } })
        )
        yield* where(store, deployments, "web", readyReplicas(2))
        let most = 0
        store.watch(pods, {}, () => {
          most = Math.max(most, new Set(podsOf(store).map((p) => p.metadata.labels?.["pod-template-hash"])).size)
        })
        const hash = podsOf(store)[0]?.metadata.labels?.["pod-template-hash"]
        setEnv(store, deployments, "web", "2")
        yield* until(store, all, () =>
          podsOf(store).length === 2 &&
          podsOf(store).every((p) => isPodReady(p) && p.metadata.labels?.["pod-template-hash"] !== hash)
            ? true
            : undefined
        )
        assert.strictEqual(most, 1)
      })
    )
  )

  it.live("deleted, it takes its ReplicaSets and pods along", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { kubelet, store } = yield* testCluster(223, { app: forever })
        store.create(deployments, workload("apps/v1", "Deployment", "web", { replicas: 2 }))
        yield* where(store, deployments, "web", readyReplicas(2))
        store.delete(deployments, "default", "web")
        yield* until(store, all, () => (podsOf(store).length === 0 ? true : undefined))
        assert.strictEqual(store.list(replicaSets, { namespace: "default" }).items.length, 0)
        assert.strictEqual(kubelet.containers().length, 0)
      })
    )
  )
})

describe("StatefulSet", () => {
  it.live("with claims has a volume of its own in each pod, which its containers mount", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(225, { app: forever })
        const mounted = workload("apps/v1", "StatefulSet", "db", {
          replicas: 1,
          serviceName: "db",
          volumeClaimTemplates: [
            {
              metadata: { name: "data" },
              spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } }
            }
          ]
        })
        const [container] = asObjects(at(mounted, "spec", "template", "spec", "containers"))
        if (container !== undefined) container["volumeMounts"] = [{ name: "data", mountPath: "/data" }]
        store.create(statefulSets, mounted)
        yield* where(store, statefulSets, "db", readyReplicas(1))
        const claim = { name: "data", persistentVolumeClaim: { claimName: "data-db-0" } }
        assert.deepInclude(asObjects(at(store.get(pods, "default", "db-0"), "spec", "volumes")), claim)
      })
    )
  )

  it.live("has ordered, stable names, is updated from the last, and scales down from the last", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(224, { app: forever })
        const created: Array<string> = []
        const deleted: Array<string> = []
        store.watch(pods, {}, (event) => {
          if (event.type === "ADDED") created.push(nameOf(event.object))
          if (event.type === "DELETED") deleted.push(nameOf(event.object))
        })
        store.create(statefulSets, workload("apps/v1", "StatefulSet", "db", { replicas: 3, serviceName: "db" }))
        yield* where(store, statefulSets, "db", readyReplicas(3))
        assert.deepStrictEqual(created, ["db-0", "db-1", "db-2"])
        assert.strictEqual(at(store.get(pods, "default", "db-1"), "spec", "hostname"), "db-1")
        setEnv(store, statefulSets, "db", "2")
        yield* where(store, statefulSets, "db", (s) => readyReplicas(3)(s) && at(s, "status", "updatedReplicas") === 3)
        assert.deepStrictEqual(deleted, ["db-2", "db-1", "db-0"])
        store.modify(statefulSets, "default", "db", (draft) => {
          draft["spec"] = { ...(draft["spec"] as object), replicas: 1 }
        })
        yield* until(store, all, () => (podsOf(store).length === 1 ? true : undefined))
        assert.deepStrictEqual(podsOf(store).map(nameOf), ["db-0"])
      })
    )
  )
})

describe("Job", () => {
  it.live("is Complete when its pod exits with 0, and its pod carries the labels clients select by", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(225, { app: () => Effect.succeed(0) })
        store.create(jobs, workload("batch/v1", "Job", "once", {}))
        const done = yield* where(store, jobs, "once", hasCondition("Complete"))
        assert.strictEqual(at(done, "status", "succeeded"), 1)
        const pod = store.list(pods, { namespace: "default", labelSelector: "job-name=once" }).items[0]
        assert.strictEqual(pod?.metadata.labels?.["batch.kubernetes.io/controller-uid"], done.metadata.uid)
        assert.deepStrictEqual(at(done, "spec", "selector", "matchLabels"), {
          "batch.kubernetes.io/controller-uid": done.metadata.uid
        })
        assert.strictEqual(podsOf(store).length, 1)
      })
    )
  )

  it.live("is Failed after backoffLimit + 1 failures, and goes after its ttl", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let runs = 0
        const { store } = yield* testCluster(226, { app: () => Effect.sync(() => (runs++, 2)) })
        store.create(jobs, workload("batch/v1", "Job", "bad", { backoffLimit: 1, ttlSecondsAfterFinished: 0 }))
        yield* where(store, jobs, "bad", hasCondition("Failed", "BackoffLimitExceeded"))
        assert.strictEqual(runs, 2)
        yield* until(store, all, () =>
          store.get(jobs, "default", "bad") === undefined && podsOf(store).length === 0 ? true : undefined
        )
      })
    )
  )

  it.live("deleted, it takes its running pod along", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { store } = yield* testCluster(227, { app: forever })
        store.create(jobs, workload("batch/v1", "Job", "agent", { backoffLimit: 0 }))
        yield* where(store, jobs, "agent", (job) => at(job, "status", "ready") === 1)
        store.delete(jobs, "default", "agent")
        yield* until(store, all, () => (podsOf(store).length === 0 ? true : undefined))
      })
    )
  )
})
