import { describe, expect, it } from "vitest"
import type { Role } from "../../../src/domain/fleet/roles.ts"
import { connectRoute, sessionName } from "../../../src/domain/sessions/connect-route.ts"
import { sessionId } from "../../../src/domain/sessions/session-id.ts"

const single: Role = { _tag: "Single" }
const primary: Role = { _tag: "Primary", managementOnly: false, isDefault: true }

describe("what a user's connect is about", () => {
  it.each<[string, Role, string, boolean | undefined, string]>([
    ["of an operator without a fleet", single, "deployment.a", undefined, "SingleCluster"],
    ["that asks a single operator for many clusters", single, "deployment.a", true, "SingleCluster"],
    ["of a primary", primary, "deployment.a", undefined, "MultiCluster"],
    ["that asks a primary for many clusters", primary, "deployment.a", true, "MultiCluster"],
    ["that asks a primary for this cluster", primary, "deployment.a", false, "SingleCluster"],
    ["by labels", primary, "label", undefined, "SingleCluster"],
    ["by labels of a container", primary, "label.container.a", undefined, "SingleCluster"],
    ["of a workload whose kind only begins like that", primary, "labels.a", undefined, "MultiCluster"]
  ])("%s", (_what, role, target, multiCluster, route) => {
    const values = multiCluster === undefined ? {} : { multi_cluster: multiCluster }
    expect(connectRoute(role, target, { entries: [], values })).toBe(route)
  })
})

it("gives the two sorts of session with one id different names", () => {
  expect(sessionName("MultiCluster", sessionId(255n))).toBe("mc-00000000000000ff")
  expect(sessionName("SingleCluster", sessionId(255n))).toBe("00000000000000ff")
})
