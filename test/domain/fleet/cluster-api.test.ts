import { describe, expect, it } from "vitest"
import { isProvisioned } from "../../../src/domain/fleet/cluster-api.ts"

const deleted = { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } }
const condition = (status: string) => ({ conditions: [{ type: "ControlPlaneInitialized", status }] })

describe("a Cluster of Cluster API", () => {
  it.each([
    ["v1beta2, its control plane is up", { status: { initialization: { controlPlaneInitialized: true } } }, true],
    ["v1beta2, it is not", { status: { initialization: { controlPlaneInitialized: false } } }, false],
    ["v1beta1, its control plane is up", { status: condition("True") }, true],
    ["v1beta1, it is not", { status: condition("False") }, false],
    ["v1beta1, of a provider that sets no condition", { status: { controlPlaneReady: true } }, true],
    ["new, without a status", {}, false],
    ["deleted, its control plane is up", { ...deleted, status: { controlPlaneReady: true } }, false],
    ["with a status that is none", { status: { conditions: "True", initialization: "yes" } }, false]
  ])("%s: joins is %s", (_what, cluster, joins) => expect(isProvisioned({ metadata: {}, ...cluster })).toBe(joins))
})
