import { expect, it } from "vitest"
import type { StoredObject } from "../../../src/domain/resources/kept-fields.ts"
import { followedPods, isUsedOtherwise } from "../../../src/domain/targets/followed-pod.ts"

const pod = (change: { readonly metadata?: object; readonly status?: object } = {}): StoredObject => ({
  metadata: { name: "shop-1", namespace: "default", uid: "u", resourceVersion: "1", ...change.metadata },
  spec: { containers: [{ name: "app", env: [{ name: "PASSWORD", value: "secret" }] }] },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "app", ready: true, containerID: "containerd://1" }],
    ...change.status
  }
})
const kept = (object: StoredObject): StoredObject => followedPods.keeps(object) ?? object

it("keeps nothing of a pod but its name and whether it can be used, however often", () => {
  expect(JSON.stringify(kept(pod()))).not.toContain("secret")
  expect(kept(kept(pod()))).toEqual(kept(pod()))
})

it.each<[string, boolean, StoredObject]>([
  ["an agent beside it", false, pod({ status: { ephemeralContainerStatuses: [{ name: "agent" }] } })],
  ["a label", false, pod({ metadata: { resourceVersion: "2", labels: { a: "b" } } })],
  ["its deletion", true, pod({ metadata: { deletionTimestamp: "2026-11-27T00:00:00Z" } })],
  ["its end", true, pod({ status: { phase: "Failed" } })],
  ["a container that is not ready", true, pod({ status: { containerStatuses: [{ name: "app", ready: false }] } })],
  [
    "a restarted container",
    true,
    pod({ status: { containerStatuses: [{ name: "app", ready: true, containerID: "containerd://2" }] } })
  ],
  ["statuses that are none", true, pod({ status: { containerStatuses: "?" } })]
])("sees by %s that a pod is used otherwise: %s", (_, expected, after) => {
  expect(isUsedOtherwise(kept(pod()), kept(after))).toBe(expected)
  expect(isUsedOtherwise(undefined, kept(after))).toBe(true)
})
