/** The alerts, by Prometheus' own promtool: its reading of the rules, and when each of them fires. */

import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { parse } from "yaml"
import { describeWith } from "../support/describe-with.ts"
import { scrapeAfterSession } from "../support/scrape.ts"
import { chartFolder } from "./chart.ts"
import { asList, asText, at } from "./json.ts"

const rules = join(chartFolder, "files/alerts.yaml")
const tests = fileURLToPath(new URL("alerts.yaml", import.meta.url))

/** Its exit code, and all that it says. */
const promtool = (args: ReadonlyArray<string>, input = "") => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { encoding: "utf8", input })
  return { status, said: `${stdout}${stderr}` }
}

describeWith(["promtool"], "promtool", () => {
  it("reads the rules and sees each alert fire, and stay silent, when it should", () => {
    expect(promtool(["check", "rules", "--lint-fatal", rules])).toMatchObject({ status: 0 })
    expect(promtool(["test", "rules", tests])).toMatchObject({ status: 0 })
  })

  it("finds nothing against the metrics of a scrape", async () => {
    expect(promtool(["check", "metrics"], await Effect.runPromise(scrapeAfterSession))).toEqual({
      status: 0,
      said: ""
    })
  })
})

it("each alert is seen to fire and to stay silent", () => {
  const cases = asList(at(parse(readFileSync(tests, "utf8"), { merge: true }), "tests")).flatMap((test) =>
    asList(at(test, "alert_rule_test"))
  )
  const alerts = asList(at(parse(readFileSync(rules, "utf8")), "groups")).flatMap((group) =>
    asList(at(group, "rules")).map((rule) => asText(at(rule, "alert")))
  )
  for (const alert of alerts) {
    const own = cases.filter((one) => at(one, "alertname") === alert)
    expect(
      own.map((one) => at(one, "exp_alerts") === undefined),
      alert
    ).toEqual(expect.arrayContaining([true, false]))
  }
})
