/** The values with which the published chart is tested: each renders, lints and installs with ours as it is. */

import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { ControlPlane } from "../kubernetes/control-plane.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { describeWith } from "../support/describe-with.ts"
import { publishedValues } from "../support/outside-programs.ts"
import { chartFolder } from "./chart.ts"
import { installAndUninstall, startChartPlane } from "./installing.ts"

describeWith(["published values"], "values of the published chart", () => {
  describeKubernetes("on a real control plane", (assets) => {
    const programs = programsIn(assets)
    let plane: ControlPlane
    beforeAll(async () => {
      plane = await startChartPlane(assets)
    })
    afterAll(() => plane.close())

    const files = readdirSync(publishedValues)
    const pathOf = (file: string): string => join(publishedValues, file)
    it("are many", () => expect(files.length).toBeGreaterThan(30))

    it.each(files)("%s lints", async (file) => {
      const { stdout } = await promisify(execFile)(programs.helm, ["lint", chartFolder, "--values", pathOf(file)])
      expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed")
    })

    it.each(files)("%s is installed, and uninstalled", (file) => installAndUninstall(plane, programs, pathOf(file)))
  })
})
