import { assert } from "@effect/vitest"
import { Effect, Exit, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { expect, it as plainIt } from "vitest"
import { startWorkloadControllers } from "../../../../lab/cluster/controllers/workload-controllers.ts"
import type { KubeObject, ResourceRef } from "../../../../lab/cluster/schema/kube-object.ts"
import { ObjectStore } from "../../../../lab/cluster/store/object-store.ts"
import { jobs, namespaces, pods, replicaSets, statefulSets } from "../../../../lab/cluster/store/resource-refs.ts"
import { asObjects, at } from "../../../../src/domain/json.ts"
import { patched, startAdmissionWebhook } from "../../../support/admission-webhook.ts"
import { it } from "../../../support/effect-it.ts"
import { turns } from "../../../support/turns.ts"
import { eventually } from "../api-client.ts"
import { runCluster } from "../running-cluster.ts"

const workload = (kind: string, spec: Record<string, unknown>): KubeObject => ({
  apiVersion: kind === "Job" ? "batch/v1" : "apps/v1",
  kind,
  metadata: { name: "w", namespace: "default" },
  spec: {
    ...(kind === "Job" ? {} : { selector: { matchLabels: { app: "w" } } }),
    template: {
      metadata: { labels: { app: "w" } },
      spec: { containers: [{ name: "c", image: "x" }], restartPolicy: kind === "Job" ? "Never" : "Always" }
    },
    ...spec
  }
})

const settled = Effect.promise(() => turns(20))

/** Controllers whose pods wait until the test admits or refuses them. */
const controllersOfTest = Effect.gen(function* () {
  const store = new ObjectStore({ now: () => 0, random: () => Math.random() })
  store.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } })
  const asked: Array<{ readonly account: string; readonly pod: KubeObject }> = []
  const answers: Array<PromiseWithResolvers<KubeObject>> = []
  yield* startWorkloadControllers(store, (pod, account) => {
    asked.push({ account, pod })
    const answer = Promise.withResolvers<KubeObject>()
    answers.push(answer)
    return answer.promise
  })
  return { store, asked, answers }
})

const kinds: ReadonlyArray<
  readonly [kind: string, ref: ResourceRef, spec: Record<string, unknown>, atOnce: number, account: string]
> = [
  ["ReplicaSet", replicaSets, { replicas: 3 }, 3, "replicaset-controller"],
  ["Job", jobs, { parallelism: 2, completions: 2 }, 2, "job-controller"],
  ["StatefulSet", statefulSets, { replicas: 2 }, 1, "statefulset-controller"],
  ["StatefulSet", statefulSets, { replicas: 2, podManagementPolicy: "Parallel" }, 2, "statefulset-controller"]
]

it.effect.each(kinds)(
  "a %s waits for its pods' webhooks, without a second pod for one",
  function* ([kind, ref, spec, atOnce, account]) {
    const { answers, asked, store } = yield* controllersOfTest
    store.create(ref, workload(kind, spec))
    yield* settled
    // The controller counts again.
    store.modify(ref, "default", "w", (draft) => {
      draft.metadata.annotations = { again: "1" }
    })
    yield* settled
    assert.deepStrictEqual(
      asked.map((call) => call.account),
      Array.from({ length: atOnce }, () => account)
    )
    assert.isEmpty(store.list(pods).items)
    for (const [index, { pod }] of asked.entries())
      answers[index]?.resolve({ ...pod, metadata: { ...pod.metadata, labels: { ...pod.metadata.labels, seen: "1" } } })
    yield* settled
    assert.lengthOf(store.list(pods, { labelSelector: "seen=1" }).items, atOnce)
    assert.lengthOf(asked, atOnce)
  }
)

it.effect("a pod that a webhook refused is tried again a second later", () =>
  Effect.gen(function* () {
    const { answers, asked, store } = yield* controllersOfTest
    store.create(replicaSets, workload("ReplicaSet", { replicas: 1 }))
    yield* settled
    answers[0]?.reject(new Error("no way"))
    yield* settled
    yield* TestClock.adjust(999)
    yield* settled
    assert.lengthOf(asked, 1)
    yield* TestClock.adjust(1)
    yield* settled
    assert.lengthOf(asked, 2)
  }).pipe(Effect.provide(Logger.layer([])))
)

plainIt("a controller asks a cluster's webhooks as its own account, and the pod is as they leave it", async () => {
  const scope = Scope.makeUnsafe()
  const { admin, close, cluster } = await runCluster()
  const add = patched({ op: "add", path: "/metadata/labels/seen", value: "1" })
  const webhook = await startAdmissionWebhook("hook.default.svc", () => add)
  const { caBundle, port } = webhook
  cluster.apply(
    JSON.stringify({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: "pods" },
      webhooks: [
        {
          name: "pods.example.com",
          clientConfig: { url: `https://127.0.0.1:${port}`, caBundle },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"] }]
        }
      ]
    })
  )
  await Effect.runPromise(startWorkloadControllers(cluster.store, cluster.admitPod).pipe(Scope.provide(scope)))
  const { body } = await admin.post("/apis/apps/v1/namespaces/default/replicasets", workload("ReplicaSet", {}))
  await eventually(
    () => admin.get("/api/v1/namespaces/default/pods?labelSelector=seen%3D1"),
    (list) => asObjects(list.body["items"]).length === 1
  )
  expect(webhook.seen).toMatchObject([
    {
      request: {
        userInfo: {
          username: "system:serviceaccount:kube-system:replicaset-controller",
          groups: ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
        },
        object: {
          metadata: { generateName: "w-", ownerReferences: [{ kind: "ReplicaSet", uid: at(body, "metadata", "uid") }] }
        }
      }
    }
  ])
  webhook.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await close()
})
