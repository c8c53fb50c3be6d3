import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  clusterCells,
  clusterHeader,
  clusterRows,
  type KnownCluster
} from "../../../src/domain/overview/cluster-row.ts"
import type { MirrordOperator, MirrordOperatorStatus } from "../../../src/domain/resources/mirrord-operator.ts"

const lastCheck = "2026-01-01T00:00:00Z"
const now = Date.parse(lastCheck)
const operator = (status: Partial<MirrordOperatorStatus> = {}): MirrordOperator => ({
  metadata: { name: "operator" },
  spec: {
    operator_version: "1",
    default_namespace: "default",
    supported_features: ["MultiClusterPrimary"],
    license: { name: "", organization: "", expire_at: "2999-01-01" }
  },
  status: { sessions: [], ...status }
})
const known = (name: string, more: Partial<KnownCluster> = {}): KnownCluster => ({
  name,
  role: "member",
  auth: "bearerToken",
  expiresAt: undefined,
  problem: undefined,
  ...more
})
const connected = (name: string) => ({ name, lastCheck, connected: { operatorVersion: "2" } })
const lost = (name: string, message: string) => ({ name, lastCheck, error: { message } })
const session = (id: string, clusters: ReadonlyArray<string>) => ({
  id,
  durationSecs: 1,
  user: "ann",
  target: "deployment.web",
  namespace: "default",
  clusters,
  phase: "Ready"
})

describe("the clusters of a primary", () => {
  it("are those of its object, with all that its configuration says of them", () => {
    const status = {
      connected_clusters: [lost("b", "no route"), connected("a")],
      multi_cluster_sessions: [session("1", ["a", "b"]), session("2", ["a"])]
    }
    const facts = [
      known("a", { role: "default", expiresAt: now + 3_600_000 }),
      known("b", { auth: "mtls", expiresAt: now - 1 }),
      known("c", { problem: "its Secret does not exist" }),
      known("primary", { role: "primary", auth: undefined })
    ]
    expect(clusterRows(operator(status), facts).map((row) => clusterCells(row, now))).toEqual([
      ["a", "True", "default", "bearerToken", "in 1h", "2", "2", ""],
      ["b", "False", "member", "mtls", "ended", "", "1", "no route"],
      ["c", "False", "member", "bearerToken", "", "", "0", "its Secret does not exist"],
      ["primary", "True", "primary", "", "", "1", "0", ""]
    ])
  })

  it("are shown without the configuration, as far as the object goes", () => {
    const rows = clusterRows(operator({ connected_clusters: [connected("a")] }), [])
    expect(rows.map((row) => clusterCells(row, now))).toEqual([["a", "True", "", "", "", "2", "0", ""]])
  })

  it("each have one row, a reason exactly while they are not ready, and a cell for each column", () => {
    const name = fc.constantFrom("a", "b", "c")
    const names = fc.uniqueArray(name)
    fc.assert(
      fc.property(names, names, names, (well, away, configured) => {
        const clusters = [
          ...well.map(connected),
          ...away.filter((one) => !well.some((other) => other === one)).map((one) => lost(one, "away"))
        ]
        const facts = configured.map((one) => known(one))
        const rows = clusterRows(operator({ connected_clusters: clusters }), facts)
        expect(rows.map((row) => row.name)).toEqual([...new Set([...well, ...away, ...configured])].toSorted())
        for (const row of rows) {
          expect(row.ready).toBe(well.some((other) => other === row.name))
          expect(row.reason === undefined).toBe(row.ready)
          expect(clusterCells(row, now)).toHaveLength(clusterHeader.length)
        }
      })
    )
  })
})
