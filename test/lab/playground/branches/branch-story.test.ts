/** The story of branches as a user starts it, with mirrord's own client and PostgreSQL of the machine. */

import { expect, it } from "vitest"
import { subnetOf } from "../../../address-plan.ts"
import { describeReal } from "../../../real/harness.ts"
import { describeWith } from "../../../support/describe-with.ts"
import { folders, operatorsIn, play } from "../play.ts"

const steps = [
  "clusters",
  "workload",
  "operators",
  "database",
  "branch",
  "database-unchanged",
  "branch-listed",
  "branch-reused",
  "branch-ended",
  "ready"
]

describeWith(["PostgreSQL"], "npm start -- --branches --once --json", () => {
  describeReal("with the real client", ["mirrord"], () => {
    it.each(["management", "primary-default"])(
      "tells the whole story of topology %s, every step true, and leaves nothing behind",
      async (topology) => {
        const before = new Set(folders())
        const subnet = subnetOf("playground, branches")
        const { code, lines } = await play(["--branches", "--once", "--topology", topology, "--subnet", String(subnet)])
        expect(lines.filter(({ ok }) => !ok)).toEqual([])
        expect(lines.map(({ step }) => step)).toEqual(steps)
        expect(code).toBe(0)
        const told = (name: string) => lines.find(({ step }) => step === name)
        expect(told("branch")).toMatchObject({ users: ["user 1", "user 2", "user 3"], orders: 0, written: "user 4" })
        expect(told("database-unchanged")).toEqual({ ...told("database"), step: "database-unchanged" })
        expect(told("branch-reused")).toMatchObject({ server: told("branch")?.["server"] })
        const namespace = topology === "management" ? "mirrord" : "default"
        expect(told("branch-listed")).toMatchObject({ command: `mirrord db-branches -n ${namespace} status` })
        const paths = Object.values(told("ready")?.["kubeconfig"] as Readonly<Record<string, string>>)
        const mine = paths.map((path) => path.split("/").at(-2) ?? "")
        expect(folders().filter((folder) => !before.has(folder) && mine.includes(folder))).toEqual([])
        expect(operatorsIn(mine)).toEqual([])
      }
    )
  })
})
