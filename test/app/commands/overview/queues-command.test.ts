import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { findQueues } from "../../../../src/app/commands/overview/queues-command.ts"
import type { Told } from "../../../../src/app/commands/overview/tell.ts"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { splitRecord } from "../../../support/queue-split.ts"
import { runBraid } from "../../../support/run-braid.ts"

describe("braid queues", () => {
  let running: RunningCluster
  const found = (namespace?: string): Promise<Told> =>
    Effect.runPromise(findQueues({ kubeconfig: running.cluster.kubeconfigPath, context: undefined, namespace }))
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  it("says so when there are none, and lists those of a namespace or of all", async () => {
    expect(await found()).toEqual({ lines: ["No queues are split."], notes: [], value: [] })
    const plural = "mirrordclusterworkloadpatches"
    running.cluster.apply(await readFile(new URL(`../../../../crds/${plural}.yaml`, import.meta.url), "utf8"))
    running.cluster.apply(stringify(splitRecord))
    expect((await found("other")).value).toEqual([])
    expect((await found("shop")).value).toMatchObject([{ queue: "https://sqs/1/orders" }, { queue: "refunds" }])
    const { code, errors, output } = await runBraid(["queues", "--kubeconfig", running.cluster.kubeconfigPath])
    expect([code, errors]).toEqual([0, ""])
    expect(output).toMatch(
      /^NAMESPACE.*AGE\nshop +deployment\/consumer +https:\/\/sqs\/1\/orders +Live +0 +- +- +[\dms]+\n/u
    )
  })

  it("says which right is missing", async () => {
    const path = join(running.directory, "dev.kubeconfig")
    await Effect.runPromise(running.cluster.userKubeconfig({ user: "dev", path }))
    const find = () =>
      Effect.runPromise(Effect.result(findQueues({ kubeconfig: path, context: undefined, namespace: undefined })))
    expect(await find()).toMatchObject({
      failure: {
        message: expect.stringContaining("You may not read splits of queues (queuesplits."),
        fix: expect.stringMatching(/^Name a namespace with -n\. Ask/u)
      }
    })
    const rbac = "rbac.authorization.k8s.io"
    const [apiVersion, metadata] = [`${rbac}/v1`, { name: "dev" }]
    const rules = [{ apiGroups: ["operator.metalbear.co"], resources: ["queuesplits"], verbs: ["list"] }]
    const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "dev" }
    const subjects = [{ kind: "User", name: "dev" }]
    running.cluster.apply(stringify({ apiVersion, kind: "ClusterRole", metadata, rules }))
    running.cluster.apply(stringify({ apiVersion, kind: "ClusterRoleBinding", metadata, roleRef, subjects }))
    expect(await find()).toMatchObject({
      success: {
        value: [],
        notes: [
          expect.stringMatching(/^you may not list mirrordclusterworkloadpatches\..*: phases of splits/u),
          expect.stringMatching(/^you may not list mirrordclusterexternalresources\..*: names of main queues/u)
        ]
      }
    })
  })
})
