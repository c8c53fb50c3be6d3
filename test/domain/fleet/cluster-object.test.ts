import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import {
  clusterColumns,
  clusterObject,
  credentialsLastCondition,
  type KnownCluster
} from "../../../src/domain/fleet/cluster-object.ts"
import { mirrordClusters } from "../../../src/domain/resources/mirrord-cluster.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

const now = Date.UTC(2026, 10, 21, 12)
const hour = 3_600_000
const known: KnownCluster = {
  name: clusterName("b"),
  roles: ["Default"],
  authType: "bearerToken",
  readiness: { _tag: "Connected" },
  since: now - 2 * hour,
  operatorVersion: "3.250.0",
  checkedAt: now - 3_000,
  expiresAt: now + 5 * hour,
  ending: undefined,
  sessions: 3
}
const cells = (more: Partial<KnownCluster>) =>
  Object.fromEntries(
    clusterColumns(now).map(({ cell, name }) => [name, cell(clusterObject({ ...known, ...more }, now))])
  )

describe("the object of a cluster", () => {
  it("has all that the primary knows, and is a MirrordCluster", () => {
    const object = clusterObject(known, now)
    expect(object).toEqual({
      apiVersion: "operator.metalbear.co/v1",
      kind: "MirrordCluster",
      metadata: { name: "b" },
      spec: { roles: ["Default"], authType: "bearerToken" },
      status: {
        operatorVersion: "3.250.0",
        lastCheck: "2026-11-21T11:59:57.000Z",
        credentialsExpireAt: "2026-11-21T17:00:00.000Z",
        sessions: 3,
        conditions: [
          {
            type: "Ready",
            status: "True",
            reason: "Connected",
            message: "Its operator answers, and its sessions are known.",
            lastTransitionTime: "2026-11-21T10:00:00.000Z"
          }
        ]
      }
    })
    expect(readResource(mirrordClusters, object)).toMatchObject({ _tag: "Success" })
  })

  it("is readable with nothing known of it", () => {
    const nothing = { operatorVersion: undefined, checkedAt: undefined, expiresAt: undefined, authType: undefined }
    const object = clusterObject({ ...known, ...nothing, roles: [], sessions: 0 }, now)
    expect(readResource(mirrordClusters, object)).toMatchObject({ _tag: "Success" })
  })

  it.each(["Connecting", "Lost", "NotUsable", "SessionsUnreadable"] as const)("says why it is %s", (_tag) => {
    const [ready] = clusterObject({ ...known, readiness: { _tag, message: "of the\u202E moon" } }, now).status
      .conditions
    expect(ready).toMatchObject({ status: _tag === "Connecting" ? "Unknown" : "False", reason: _tag })
    // The words of a member are shown without what would turn the text around.
    expect(ready?.message).toMatch(/^of the.+ moon$/u)
    expect(ready?.message).not.toContain("\u202E")
  })

  it("has the condition CredentialsLast while credentials end soon that nobody renews", () => {
    const ending = (until: number) => ({ what: "its certificate", validity: { from: 0, until }, cure: "make another" })
    const types = (until: number) =>
      clusterObject({ ...known, ending: ending(until) }, now).status.conditions.map(({ type }) => type)
    expect(types(now + 24 * 31 * hour)).toEqual(["Ready"])
    expect(types(now + 24 * 29 * hour)).toEqual(["Ready", "CredentialsLast"])
  })
})

describe("the row of a cluster", () => {
  it("has what kubectl prints", () => {
    expect(cells({})).toEqual({
      Name: "b",
      Ready: "True",
      Role: "Default",
      Auth: "bearerToken",
      Expires: "5h",
      Version: "3.250.0",
      Sessions: "3",
      Since: "2h",
      Replica: "-",
      Reason: "Its operator answers, and its sessions are known."
    })
  })

  it("has dashes for what is not there, and says that credentials have ended", () => {
    const none = { roles: [], authType: undefined, operatorVersion: undefined, expiresAt: undefined }
    expect(cells(none)).toMatchObject({ Role: "-", Auth: "-", Expires: "-", Version: "-" })
    expect(cells({ expiresAt: now })).toMatchObject({ Expires: "ended" })
    const readiness = { _tag: "CredentialsRefused", message: "it refuses the credentials" } as const
    expect(cells({ readiness, expiresAt: now + 5 * 3_600_000 })).toMatchObject({ Ready: "False", Expires: "refused" })
    expect(cells({ replica: "mirrord-operator-1" })).toMatchObject({ Replica: "mirrord-operator-1" })
  })
})

describe("the warning of credentials of several clusters", () => {
  it("is as old as the first of them", () => {
    const ending = (days: number) => ({
      ending: { what: "it", validity: { from: 0, until: now + days * 24 * hour }, cure: "make another" },
      sentence: (clause: string) => `${clause}.`
    })
    const [condition] = credentialsLastCondition([ending(20), ending(2)], now)
    expect(condition?.lastTransitionTime).toBe("2026-10-24T12:00:00.000Z")
  })
})
