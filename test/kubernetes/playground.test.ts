import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { expect, it } from "vitest"
import { subnetOf } from "../address-plan.ts"
import { apartStory, operatorsIn, play, story } from "../lab/playground/play.ts"
import { find } from "../support/outside-programs.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

/** The pids of programs whose arguments name this folder. */
const programsOf = (folder: string): ReadonlyArray<string> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(folder)
      } catch {
        // The process has ended meanwhile.
        return false
      }
    })

const isApart = find("network namespaces")._tag === "Found"

describeKubernetes("npm start -- --kubernetes --once --json", () => {
  it.each([
    ["management", subnetOf("playground, kubernetes"), story],
    ["outbound", subnetOf("playground, kubernetes, outbound"), isApart ? apartStory : story]
  ])(
    "tells the whole story of topology %s on three real control planes, and leaves nothing",
    async (topology, subnet, steps) => {
      const { code, lines } = await play(["--kubernetes", "--once", "--topology", topology, "--subnet", String(subnet)])
      expect(lines.filter(({ ok }) => !ok)).toEqual([])
      expect(lines.map(({ step }) => step)).toEqual(steps)
      expect(code).toBe(0)
      const ready = lines.at(-1)
      expect(Object.keys(ready?.["kubeconfig"] as object)).toEqual(["primary", "cluster-a", "cluster-b"])
      expect(Object.keys(ready?.["entry"] as object)).toEqual(["cluster-a", "cluster-b"])
      const planes = Object.values(ready?.["kubeconfig"] as Readonly<Record<string, string>>).map(dirname)
      expect(planes.filter((folder) => existsSync(folder))).toEqual([])
      expect(planes.flatMap(programsOf)).toEqual([])
      expect(operatorsIn(planes)).toEqual([])
    }
  )
})
