import { expect, it } from "vitest"
import { Chart } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asText, at } from "./json.ts"

describeHelm("hooks of the chart", (helm) => {
  const chart = new Chart(helm)

  it("make what a Job runs with before the Job: helm goes by weight, then by name, and waits for each", async () => {
    const { objects } = await chart.render({})
    const annotation = (object: unknown, name: string): string =>
      asText(at(object, "metadata", "annotations", `helm.sh/${name}`) ?? "")
    const hooks = objects.filter((object) => annotation(object, "hook") === "pre-delete")
    const weight = (object: unknown): number => Number(annotation(object, "hook-weight") || "0")
    const name = (object: unknown): string => asText(at(object, "metadata", "name"))
    const inOrder = hooks.toSorted((a, b) => weight(a) - weight(b) || (name(a) < name(b) ? -1 : 1))
    expect(inOrder.map(({ kind }) => kind).at(-1)).toBe("Job")
    expect(
      inOrder
        .map(({ kind }) => kind)
        .slice(0, -1)
        .toSorted()
    ).toEqual(["ClusterRole", "ClusterRoleBinding", "ServiceAccount"])
  })

  it("end copies of targets everywhere: a primary that only manages sessions may still find older ones", async () => {
    for (const operator of [{}, { multiCluster: { enabled: true } }, { copyTarget: { enabled: false } }]) {
      const rendered = await chart.render({ values: { operator } })
      expect(JSON.stringify(rendered.get("Job", "mirrord-cleanup"))).toContain('"cleanup","--apply"')
      expect(JSON.stringify(rendered.get("Job", "mirrord-cleanup"))).toContain('"--copies"')
      expect(JSON.stringify(rendered.get("ClusterRole", "mirrord-hooks")["rules"])).toContain('"statefulsets"')
    }
  })

  it.each([
    ["no engine is on", {}, false],
    ["the operator makes branches", { pgBranching: true }, true],
    [
      "a default elsewhere makes them",
      { pgBranching: true, multiCluster: { enabled: true, managementOnly: true } },
      true
    ]
  ])("delete branches of databases: %s", async (_, operator, wanted) => {
    const rendered = await chart.render({ values: { operator } })
    const rules = JSON.stringify(rendered.get("ClusterRole", "mirrord-hooks")["rules"])
    const job = JSON.stringify(rendered.get("Job", "mirrord-cleanup"))
    expect([rules.includes("branchdatabases"), job.includes("--branches")]).toEqual([wanted, wanted])
  })

  it.each([
    ["no queue is split", {}, false],
    ["queues are split", { sqsSplitting: true }, true],
    ["a primary has no workloads", { sqsSplitting: true, multiCluster: { enabled: true, managementOnly: true } }, false]
  ])("end splits of queues: %s", async (_, operator, wanted) => {
    const rendered = await chart.render({ values: { operator } })
    const rules = JSON.stringify(rendered.get("ClusterRole", "mirrord-hooks")["rules"])
    const job = JSON.stringify(rendered.get("Job", "mirrord-cleanup"))
    expect([rules.includes("mirrordclusterworkloadpatches"), job.includes("--splits")]).toEqual([wanted, wanted])
  })
})
