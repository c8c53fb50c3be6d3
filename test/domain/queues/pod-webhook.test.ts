import { createHash } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isCurrentWebhook, podWebhook, podWebhookName } from "../../../src/domain/queues/pod-webhook.ts"

const sha256Hex = (text: string) => createHash("sha256").update(text).digest("hex")
const owner = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "mirrord-operator", uid: "r" }
const options = {
  name: "mirrord-queues-x",
  split: "uid-1",
  namespace: "shop",
  selector: { matchLabels: { app: "orders" } },
  client: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, caBundle: "Q0E=", owner }
}
const wanted = podWebhook(options)
const [webhook] = wanted.webhooks

/** The object as an API server has it, with what it adds. */
const stored = (change: object = {}, metadata: object = {}) => ({
  ...wanted,
  metadata: { ...wanted.metadata, uid: "u", resourceVersion: "1", generation: 1, ...metadata },
  webhooks: [{ ...webhook, fieldOfLaterVersions: 1, ...change }]
})
const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.]{0,250}[a-z0-9])?$/u)

describe("the name of a webhook", () => {
  it("is a name of Kubernetes, whatever the workload's is, and another for each workload", () => {
    const longest = fc.oneof(
      name,
      name.map((one) => one.padEnd(253, ".a"))
    )
    fc.assert(
      fc.property(longest, longest, (a, b) => {
        const [one, other] = [a, b].map((each) =>
          podWebhookName({ namespace: "shop", kind: "deployment", name: each }, sha256Hex)
        )
        expect(one).toMatch(/^(?=.{1,253}$)mirrord-queues-[-a-z0-9.]*[a-z0-9]$/u)
        expect(one === other).toBe(a === b)
      })
    )
    const [deployment, rollout] = (["deployment", "rollout"] as const).map((kind) =>
      podWebhookName({ namespace: "shop", kind, name: "orders" }, sha256Hex)
    )
    expect(deployment).toMatch(/^mirrord-queues-[0-9a-f]{10}-shop-orders$/u)
    expect(rollout).not.toBe(deployment)
  })
})

describe("a webhook", () => {
  it("asks for new pods with the workload's labels in its namespace, and keeps none of them from starting", () => {
    expect(wanted).toMatchObject({ metadata: { name: "mirrord-queues-x", ownerReferences: [owner] } })
    expect(webhook).toMatchObject({
      name: expect.stringMatching(/^[-a-z]+(?:\.[-a-z]+){2,}$/u),
      clientConfig: { service: { ...options.client.service, path: "/split-pods/uid-1" }, caBundle: "Q0E=" },
      rules: [{ operations: ["CREATE"], resources: ["pods"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "shop" } },
      objectSelector: { matchLabels: { app: "orders" } },
      failurePolicy: "Ignore",
      timeoutSeconds: 5
    })
  })

  it.each([
    [{ matchLabels: null, matchExpressions: [] }, {}],
    [
      {
        matchLabels: {},
        matchExpressions: [
          { key: "tier", operator: "In" as const, values: ["a"] },
          { key: "canary", operator: "DoesNotExist" as const, values: null }
        ]
      },
      {
        matchExpressions: [
          { key: "tier", operator: "In", values: ["a"] },
          { key: "canary", operator: "DoesNotExist" }
        ]
      }
    ]
  ])("has the workload's selector as API servers keep it: %#", (selector, kept) => {
    expect(podWebhook({ ...options, selector }).webhooks[0]["objectSelector"]).toEqual(kept)
  })

  it("is current with what API servers add, whoever owns it if its owner is not known", () => {
    expect(isCurrentWebhook(stored(), wanted)).toBe(true)
    const free = podWebhook({ ...options, client: { ...options.client, owner: undefined } })
    expect(free.metadata).not.toHaveProperty("ownerReferences")
    expect(isCurrentWebhook(stored(), free)).toBe(true)
  })

  it.each([
    [
      "of another split",
      stored({ clientConfig: podWebhook({ ...options, split: "old" }).webhooks[0]["clientConfig"] })
    ],
    ["that selects fewer pods", stored({ objectSelector: { matchLabels: { app: "orders", tier: "a" } } })],
    ["that has conditions", stored({ matchConditions: [{ name: "none", expression: "false" }] })],
    ["that may refuse pods", stored({ failurePolicy: "Fail" })],
    ["with another beside it", { ...stored(), webhooks: [webhook, webhook] }],
    ["without any", { ...stored(), webhooks: undefined }],
    ["of an owner that is gone", stored({}, { ownerReferences: [{ ...owner, uid: "old" }] })]
  ])("is not current: one %s", (_, found) => {
    expect(isCurrentWebhook(found, wanted)).toBe(false)
  })
})
