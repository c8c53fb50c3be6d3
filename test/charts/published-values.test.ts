/** The values with which the published chart is tested: each renders and installs with ours as it is. */

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
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { installAndUninstall, judgeAll, startChartPlane } from "./installing.ts"

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
    /** The API server judges what all of them render; `npm run test:long` also installs all. */
    const installedFiles = files.filter((_, index) => process.env["BRAID_TEST_LONG"] === "true" || index % 6 === 0)
    it("are many", () => expect(files.length).toBeGreaterThan(30))

    it.each(installedFiles)("%s lints", async (file) => {
      const { stdout } = await promisify(execFile)(programs.helm, ["lint", chartFolder, "--values", pathOf(file)])
      expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed")
    })

    it.each(installedFiles)("%s is installed, and uninstalled", (file) =>
      installAndUninstall(plane, programs, pathOf(file))
    )

    // After the installs, which make namespaces themselves.
    it("render objects that the API server takes", async () => {
      const chart = new Chart(programs.helm)
      const renders: Array<Rendered> = []
      for (const file of files) renders.push(await chart.render({ args: ["--values", pathOf(file)] }))
      await judgeAll(plane, programs, renders)
    })
  })
})
