import { expect, it } from "vitest"
import { Chart } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { at } from "./json.ts"

const a = { server: "https://a", authType: "bearerToken" }
const b = { server: "https://b", authType: "bearerToken" }

describeHelm("changed values of the multi-cluster configuration", (helm) => {
  const chart = new Chart(helm)

  /** The mark that makes new pods when it changes. */
  const mark = async (multiCluster: object): Promise<unknown> => {
    const values = { operator: { multiCluster: { enabled: true, clusterName: "primary", ...multiCluster } } }
    const deployment = (await chart.render({ values })).get("Deployment", "mirrord-operator")
    return at(deployment, "spec", "template", "metadata", "annotations", "checksum/config")
  }

  it("make new pods where the operator reads them at its start: another cluster is marked as default", async () => {
    const before = await mark({ clusters: { a: { ...a, isDefault: true }, b } })
    expect(before).toBeTypeOf("string")
    expect(await mark({ clusters: { a, b: { ...b, isDefault: true } } })).not.toBe(before)
    expect(await mark({ clusters: { a: { ...a, isDefault: true }, b }, sessionTtlSecs: 61 })).not.toBe(before)
  })

  it("leave the pods where the operator takes them up: another list of clusters", async () => {
    const before = await mark({ defaultCluster: "a", clusters: { a } })
    expect(await mark({ defaultCluster: "a", clusters: { a: { ...a, server: "https://elsewhere" }, b } })).toBe(before)
    const marked = { a: { ...a, isDefault: true } }
    expect(await mark({ clusters: { ...marked, b } })).toBe(await mark({ clusters: marked }))
  })
})
