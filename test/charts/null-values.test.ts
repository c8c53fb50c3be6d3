import { expect, it } from "vitest"
import { defaults, leavesOf, manyFeatures, nested, pathOf, type ValuePath } from "./chart-values.ts"
import { Chart, type KubernetesObject } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { at } from "./json.ts"
import { merged } from "./merged.ts"

/** Where null, a key with nothing after it, is not the default, and why it may be something else. */
const notTheDefault: Readonly<Record<string, string>> = {
  "operator.requests.cpu": "so a request is taken off",
  "operator.requests.memory": "the same",
  "operator.limits.cpu": "so a limit is taken off",
  "operator.limits.memory": "the same",
  "operator.multiCluster.managementOnly": "false, as in the published chart (published-chart.md §2.3)",
  "operator.logLevel": "read by nothing yet; empty, as in the published chart",
  "operator.subscribeEventBufferSize": "read by nothing yet; the operator's own default, as in the published chart",
  "operator.sqsSplittingLingerTimeout": "the operator's own default, which is the same",
  "operator.preview.annotations": "read by nothing yet; passed on as it is",
  "operator.preview.labels": "the same",
  "operator.preview.cleanupAfterMins": "the same",
  "operator.preview.idleHoldBufferMessages": "the same",
  "operator.preview.idleHoldBufferBytes": "the same"
}

describeHelm("a value that is null", (helm) => {
  const chart = new Chart(helm)
  const render = async (values: object): Promise<ReadonlyArray<KubernetesObject>> =>
    (await chart.render({ values })).objects
  const nulls = (paths: ReadonlyArray<ValuePath>, base: object = {}): object =>
    paths.reduce((values, path) => merged(values, nested(path, null)), base)

  it.each([
    ["a plain install", {}],
    ["an install with many features", manyFeatures],
    [
      "an install with cert-manager",
      { tls: { certManager: { enabled: true }, apiService: { insecureSkipTLSVerify: false } } }
    ]
  ])("is the default in %s", async (_, base) => {
    const paths = leavesOf(defaults).filter(
      (path) => notTheDefault[path.join(".")] === undefined && at(base, ...path) === undefined
    )
    expect(paths.length).toBeGreaterThan(100)
    expect(await render(nulls(paths, base))).toEqual(await render(base))
  })

  it("is the default of all below it", async () => {
    const maps = Object.keys(defaults).map((name): ValuePath => [name])
    // One that is on the list is null in both.
    const listed = nulls(Object.keys(notTheDefault).map(pathOf))
    expect(await render(nulls(maps))).toEqual(await render(listed))
  })

  it("is on no list without need", async () => {
    const each = Object.keys(notTheDefault).map((path) => ({ values: nulls([pathOf(path)], manyFeatures) }))
    await chart.prepare([{ values: manyFeatures }, ...each])
    const usual = await render(manyFeatures)
    for (const path of Object.keys(notTheDefault))
      expect([path, await render(nulls([pathOf(path)], manyFeatures))]).not.toEqual([path, usual])
  })

  it("does not turn off the check of a certificate that can be checked", async () => {
    const spec = async (values: object): Promise<unknown> =>
      (await chart.render({ values })).get("APIService", "v1.operator.metalbear.co")["spec"]
    expect(await spec({ tls: null })).not.toHaveProperty("insecureSkipTLSVerify")
    const byBundle = await spec({ tls: { apiService: { caBundle: "Y2E=", insecureSkipTLSVerify: null } } })
    expect(byBundle).toHaveProperty("caBundle", "Y2E=")
    expect(byBundle).not.toHaveProperty("insecureSkipTLSVerify")
    expect(await spec({ tls: { certManager: { enabled: true }, apiService: null } })).not.toHaveProperty(
      "insecureSkipTLSVerify"
    )
  })

  it("or empty text, does not let anybody call himself somebody", async () => {
    for (const nothing of [null, ""]) {
      const { env } = await chart.render({ values: { operator: { requireFrontProxyClientCert: nothing } } })
      expect(env["OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT"]).toBe("true")
    }
  })
})
