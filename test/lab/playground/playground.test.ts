/** The whole playground as a user starts it: every step succeeds, and nothing is left behind. */

import { describe, expect, it } from "vitest"
import { subnetOf } from "../../address-plan.ts"
import { folders, operatorsIn, play, story } from "./play.ts"

/** A landing tells the other stories on real control planes (kubernetes/playground). */
const topologies = [
  [
    "primary-default",
    subnetOf("playground, primary-default"),
    story.filter((step) => !["member-left", "member-joined"].includes(step))
  ],
  ["outbound", subnetOf("playground, outbound"), story],
  ["management", subnetOf("playground, management"), story]
] as const

describe("npm start -- --once --json", () => {
  it.each(process.env["BRAID_TEST_LONG"] === "true" ? topologies : topologies.slice(0, 1))(
    "tells the whole story of topology %s, every step true, and leaves nothing behind",
    async (topology, subnet, steps) => {
      const before = new Set(folders())
      const { code, lines } = await play(["--once", "--topology", topology, "--subnet", String(subnet)])
      expect(lines.filter(({ ok }) => !ok)).toEqual([])
      expect(lines.map(({ step }) => step)).toEqual(steps)
      expect(code).toBe(0)
      const ready = lines.at(-1)
      expect(ready).toMatchObject({ target: "deployment/myapp", namespace: "default" })
      expect(Object.keys(ready?.["kubeconfig"] as object)).toEqual(["primary", "cluster-a", "cluster-b"])
      expect(Object.keys(ready?.["entry"] as object)).toEqual(["cluster-a", "cluster-b"])
      expect(lines.find(({ step }) => step === "ping")?.["pongs"]).toBeGreaterThanOrEqual(3)
      const mine = Object.values(ready?.["kubeconfig"] as Readonly<Record<string, string>>).map(
        (path) => path.split("/").at(-2) ?? ""
      )
      expect(folders().filter((folder) => !before.has(folder) && mine.includes(folder))).toEqual([])
      expect(operatorsIn(mine)).toEqual([])
    }
  )
})
