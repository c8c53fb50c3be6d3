/**
 * The common cases of mirrord's own client and its further commands, on real control planes with a primary that is the
 * default. Suites share a playground, because control planes are slow to start.
 */

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { beforeAll, describe, expect, it } from "vitest"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { subnetOf } from "../address-plan.ts"
import { realClientCases } from "../real/client-cases.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { furtherCommands } from "../real/further-commands.ts"
import { describeReal, useKubernetesPlayground } from "../real/harness.ts"
import { singleUser } from "../real/single-user.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("on real control planes", (assets) => {
  describeReal("with a primary that is the default", ["mirrord", "layerApp"], () => {
    const shared = useKubernetesPlayground(assets, {
      topology: "primary-default",
      subnet: subnetOf("real client, kubernetes")
    })

    realClientCases("topology primary-default", () => shared)
    furtherCommands("real control planes", () => shared)

    describe("kubectl", () => {
      let kubeconfig = ""
      beforeAll(async () => {
        await fleetIs(shared.playground())
        kubeconfig = (await singleUser(shared, "cluster-a", "reader")).kubeconfig
      })
      const kubectl = async (line: string): Promise<string> =>
        (await promisify(execFile)(programsIn(assets).kubectl, [`--kubeconfig=${kubeconfig}`, ...line.split(" ")]))
          .stdout

      it("gets the clusters as a table for a developer, whatever the case of the kind", async () => {
        const [header = "", ...rows] = (await kubectl("get mirrordclusters")).trimEnd().split("\n")
        expect(header.split(/ +/)).toEqual(["NAME", "READY", "ROLE", "AUTH", "EXPIRES", "VERSION", "SESSIONS", "SINCE"])
        expect(rows.map((row) => row.split(/ +/).slice(0, 4))).toEqual([
          ["cluster-a", "True", "Primary,Default", "-"],
          ["cluster-b", "True", "-", "mtls"]
        ])
        expect(await kubectl("get MirrordCluster cluster-b -o wide")).toContain("Its operator answers")
      })

      it("describes one, and gets its fields and its name", async () => {
        expect(await kubectl("describe mirrordcluster cluster-b")).toMatch(/Reason: +Connected/)
        expect(await kubectl("get mirrordclusters -o name")).toContain(
          "mirrordcluster.operator.metalbear.co/cluster-b\n"
        )
        const path = "{.status.lastCheck}|{.status.credentialsExpireAt}"
        const [checked = "", ends = ""] = (await kubectl(`get mirrordcluster cluster-b -o jsonpath=${path}`)).split("|")
        expect(Date.parse(ends)).toBeGreaterThan(Date.parse(checked))
      })

      it("is told which clusters there are if there is none of the name", async () => {
        await expect(kubectl("get mirrordcluster none")).rejects.toThrow(
          "There is no cluster none: the fleet has cluster-a, cluster-b."
        )
      })
    })
  })
})
