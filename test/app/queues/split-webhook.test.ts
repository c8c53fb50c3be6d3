import { Effect } from "effect"
import { describe, expect } from "vitest"
import { putWebhook, removeWebhook, webhookClient, webhookState } from "../../../src/app/queues/split-webhook.ts"
import { podWebhook } from "../../../src/domain/queues/pod-webhook.ts"
import { apiServices, clusterRoles, mutatingWebhookConfigurations } from "../../../src/domain/resources/core-kinds.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const apiService = "v1.operator.metalbear.co"
const service = { name: "mirrord-operator", namespace: "mirrord" }

/** A cluster whose API server knows the operator this way. */
const cluster = (spec: object): MemoryKubeApi => {
  const api = new MemoryKubeApi("c")
  api.write(apiServices, apiService, { spec: { service, ...spec } })
  api.write(clusterRoles, "mirrord-operator", {})
  return api
}

const webhook = (split: string, client = { service: { ...service, port: 443 }, caBundle: "Q0E=", owner: undefined }) =>
  podWebhook({ name: "w", split, namespace: "shop", selector: { matchLabels: { app: "orders" } }, client })
const state = (api: MemoryKubeApi, split = "uid-1") => webhookState(api, "w", webhook(split))
const stored = (api: MemoryKubeApi) => api.peek(mutatingWebhookConfigurations, "w")

describe("the webhook's way to the operator", () => {
  it.effect.each([
    [{ caBundle: "Q0E=", service: { ...service, port: 8443 } }, 8443, "Q0E="],
    [{ insecureSkipTLSVerify: true }, 443, btoa("PEM")],
    [{ caBundle: "", insecureSkipTLSVerify: true }, 443, btoa("PEM")]
  ] as const)("is that of its API, with the certificate that it serves where that says none: %#", function* (one) {
    const [spec, port, ca] = one
    const api = cluster(spec)
    const owner = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "mirrord-operator" }
    expect(yield* webhookClient(api, () => "PEM")).toEqual({
      service: { ...service, port },
      caBundle: ca,
      owner: { ...owner, uid: api.peek(clusterRoles, "mirrord-operator")?.metadata.uid }
    })
  })

  it.effect.each(["NotFound", "Forbidden"] as const)("needs no owner: %s", function* (reason) {
    const api = cluster({ caBundle: "Q0E=" })
    api.before = ({ plural }) =>
      plural === "clusterroles" ? Effect.fail(api.objects.error("get", reason, "no")) : Effect.void
    expect((yield* webhookClient(api, () => undefined)).owner).toBeUndefined()
  })

  it.effect("is refused with what to do where API servers could not know the operator", function* () {
    const error = yield* Effect.flip(webhookClient(cluster({ insecureSkipTLSVerify: true }), () => undefined))
    expect(error).toMatchObject({ reason: "Invalid", message: expect.stringContaining("set the chart's value") })
    const unreadable = yield* Effect.flip(webhookClient(cluster({ service: { name: 7 } }), () => "PEM"))
    expect(unreadable.message).toContain("spec.service")
  })
})

describe("the webhook of a split", () => {
  it.effect("is put and removed, each twice as well as once, and is told from another's", function* () {
    const api = cluster({})
    expect(yield* state(api)).toBe("Absent")
    for (let i = 0; i < 2; i++) yield* putWebhook(api, webhook("uid-1"))
    expect(yield* state(api)).toBe("Current")
    expect(stored(api)).toMatchObject({ ...webhook("uid-1"), metadata: webhook("uid-1").metadata })
    expect(yield* state(api, "uid-2")).toBe("Other")
    expect(yield* webhookState(api, "w", undefined)).toBe("Other")
    api.write(mutatingWebhookConfigurations, "w", { webhooks: [...webhook("uid-1").webhooks, { name: "more" }] })
    yield* putWebhook(api, webhook("uid-2"))
    expect(stored(api)?.["webhooks"]).toEqual(webhook("uid-2").webhooks)
    for (let i = 0; i < 2; i++) yield* removeWebhook(api, "w")
    expect(yield* state(api)).toBe("Absent")
  })

  it.effect.each([1, 2])("is written in spite of one conflict, not of more: %d", function* (conflicts) {
    const api = cluster({})
    let left = conflicts
    api.before = ({ verb }) =>
      verb !== "get" && left-- > 0 ? Effect.fail(api.objects.error(verb, "Conflict", "changed", 409)) : Effect.void
    const made = yield* Effect.result(putWebhook(api, webhook("uid-1")))
    expect(made._tag).toBe(conflicts === 1 ? "Success" : "Failure")
    left = 0
    yield* putWebhook(api, webhook("uid-1"))
    left = conflicts
    expect((yield* Effect.result(removeWebhook(api, "w")))._tag).toBe(made._tag)
  })

  it.effect("takes over one that another process creates in between", function* () {
    const api = cluster({})
    api.before = ({ verb }) =>
      Effect.sync(() => void (verb === "create" && api.write(mutatingWebhookConfigurations, "w", webhook("old"))))
    yield* putWebhook(api, webhook("uid-1"))
    expect(yield* state(api)).toBe("Current")
  })
})
