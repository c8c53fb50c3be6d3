import { expect, it } from "vitest"
import { allChanged } from "./chart-values.ts"
import { Chart, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"

/** The operator's variables as text, in their order. */
const environment = (rendered: Rendered): string =>
  Object.entries(rendered.env)
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}\n`)
    .join("")

describeHelm("variables of the operator", (helm) => {
  const chart = new Chart(helm)

  it.each([
    ["usual", {}],
    ["all-changed", allChanged]
  ])("by values: %s", async (name, values) => {
    await expect(environment(await chart.render({ values }))).toMatchFileSnapshot(`environment/${name}.txt`)
  })
})
