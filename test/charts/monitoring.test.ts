import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { readSeries, scrapeAfterSession, type Series } from "../support/scrape.ts"
import { Chart, chartFolder, type Rendered } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { asList, asMap, asText, at } from "./json.ts"
import { settingsOf } from "./operator-settings.ts"
import { readQuery } from "./promql.ts"

const all = {
  operator: { metrics: true },
  monitoring: {
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    prometheusRule: { enabled: true, labels: { release: "prometheus" } },
    grafanaDashboard: { enabled: true, labels: { folder: "mirrord" } }
  },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: { matchLabels: { name: "monitoring" } } }] }
}
/** Labels that Prometheus itself gives to what it scrapes. */
const ofPrometheus = ["namespace", "job", "instance"]
/** Values that the scraped operators do not show, as all credentials of theirs are renewed. */
const elsewhere = ["due"]
const runbooks = readFileSync(new URL("../../docs/operating/runbooks.md", import.meta.url), "utf8")

/** An expression, and the labels that its words for people name. */
interface Used {
  readonly where: string
  readonly expr: string
  readonly labels: ReadonlyArray<string>
}

const named = (text: unknown, pattern: RegExp): ReadonlyArray<string> =>
  [...asText(text).matchAll(pattern)].map(([, label]) => label ?? "")

const rulesOf = (rendered: Rendered) =>
  asList(at(rendered.get("PrometheusRule", "mirrord-operator"), "spec", "groups"))
    .flatMap((group) => asList(at(group, "rules")))
    .map(asMap)

const dashboardOf = (rendered: Rendered): unknown =>
  JSON.parse(asText(at(rendered.get("ConfigMap", "mirrord-operator-dashboard"), "data", "mirrord-operator.json")))

const usedIn = (rendered: Rendered): ReadonlyArray<Used> => [
  ...rulesOf(rendered).map(({ alert, annotations, expr }) => ({
    where: asText(alert),
    expr: asText(expr),
    labels: Object.values(asMap(annotations)).flatMap((text) => named(text, /\$labels\.(\w+)/gu))
  })),
  ...asList(at(dashboardOf(rendered), "panels")).flatMap((panel) =>
    asList(at(panel, "targets") ?? []).map((target) => ({
      where: asText(at(panel, "title")),
      expr: asText(at(target, "expr")),
      labels: named(at(target, "legendFormat"), /\{\{(\w+)\}\}/gu)
    }))
  )
]

/** Whether a value is a variable that the dashboard has. */
const isVariable = (value: string): boolean => ["$namespace", "$cluster"].includes(value)

/** The names in an expression that no series of a scrape has. */
const unknownNames = ({ expr, labels, where }: Used, series: ReadonlyArray<Series>): ReadonlyArray<string> => {
  const { groupings, matchers, metrics } = readQuery(expr)
  const of = (metric: string): ReadonlyArray<Series> => series.filter(({ name }) => name === metric)
  const labelsOf = (metric: string): ReadonlyArray<string> => [
    ...ofPrometheus,
    ...of(metric).flatMap((one) => Object.keys(one.labels))
  ]
  const isMatched = ({ label, metric, operator, value }: (typeof matchers)[number]): boolean =>
    elsewhere.includes(value) ||
    isVariable(value) ||
    value.split("|").every((word) => {
      const pattern = new RegExp(`^(?:${operator.endsWith("~") ? word : RegExp.escape(word)})$`, "u")
      return of(metric).some((one) => pattern.test(one.labels[label] ?? ""))
    })
  const shown = groupings.length === 0 ? metrics.flatMap(labelsOf) : groupings.flatMap((group) => group.labels)
  return [
    ...metrics.filter((metric) => of(metric).length === 0),
    ...matchers.filter((matcher) => !isMatched(matcher)).map(({ label, value }) => `${label} ${value}`),
    ...groupings.flatMap((group) =>
      group.labels.filter((label) => !group.metrics.every((metric) => labelsOf(metric).includes(label)))
    ),
    ...labels.filter((label) => !shown.includes(label))
  ].map((name) => `${where}: ${name}`)
}

describe("the reading of PromQL", () => {
  const series: ReadonlyArray<Series> = [{ name: "a_total", labels: { code: "500" }, value: 1 }]
  const problems = (expr: string, labels: ReadonlyArray<string> = []) =>
    unknownNames({ where: "x", expr, labels }, series)

  it("finds names that no scrape shows: of a metric, a label, a value, and in words for people", () => {
    expect(problems('sum by (code) (rate(a_total{code=~"5.."}[$__rate_interval])) > 5', ["code"])).toEqual([])
    expect(problems("b_total")).toEqual(["x: b_total"])
    expect(problems('a_total{reason="x"} or a_total{code="404"}')).toEqual(["x: reason x", "x: code 404"])
    expect(problems('a_total{code=~"500|503"}')).toEqual(["x: code 500|503"])
    expect(problems("sum by (reason) (a_total)", ["code"])).toEqual(["x: reason", "x: code"])
    expect(() => problems("sum by (code")).toThrow("no PromQL")
  })
})

describeHelm("monitoring", (helm) => {
  const chart = new Chart(helm)
  let rendered: Rendered
  let series: ReadonlyArray<Series>

  beforeAll(async () => {
    rendered = await chart.render({ values: all })
    series = readSeries(await Effect.runPromise(scrapeAfterSession))
  })

  it("uses only metrics, labels and values that a scrape of operators shows", () => {
    const used = usedIn(rendered)
    expect(used.length).toBeGreaterThan(25)
    expect(used.flatMap((one) => unknownNames(one, series))).toEqual([])
  })

  it("shows metrics that every program has only of the operator", () => {
    const shared = usedIn(rendered).filter(({ expr }) => /\b(?:process|nodejs)_/u.test(expr))
    expect(shared.length).toBeGreaterThan(3)
    for (const { expr } of shared)
      expect(expr).toMatch(/ and on \(job, instance\) braid_build_info\{namespace=~"\$namespace"\}$/u)
  })

  it("has a row for each subject, a table of the clusters, and no variable that it does not define", () => {
    const dashboard = dashboardOf(rendered)
    const panels = asList(at(dashboard, "panels"))
    expect(new Set(panels.map((panel) => at(panel, "type")))).toEqual(new Set(["row", "stat", "table", "timeseries"]))
    expect(new Set(panels.map((panel) => at(panel, "id"))).size).toBe(panels.length)
    const variables = asList(at(dashboard, "templating", "list")).map((variable) => `$${asText(at(variable, "name"))}`)
    expect(variables).toEqual(["$datasource", "$namespace", "$cluster"])
    for (const { expr, where } of usedIn(rendered).filter(({ expr }) => expr.includes("$")))
      for (const [name] of expr.matchAll(/\$\w+/gu))
        expect([where, [...variables, "$__rate_interval", "$labels", "$value"].includes(name)]).toEqual([where, true])
  })

  it("asks for an expression in each alert, and links its section of the runbook", () => {
    for (const { alert, annotations } of rulesOf(rendered)) {
      const anchor = asText(alert).toLowerCase()
      expect(at(annotations, "runbook_url")).toMatch(new RegExp(`/docs/operating/runbooks\\.md#${anchor}$`, "u"))
      expect([alert, runbooks.includes(`\n### ${asText(alert)}\n`)]).toEqual([alert, true])
    }
  })

  it("has the alerts of the file that promtool can read, with their own fields", () => {
    const file = readFileSync(join(chartFolder, "files/alerts.yaml"), "utf8")
    for (const rule of rulesOf(rendered)) {
      expect(Object.keys(rule).toSorted()).toEqual(["alert", "annotations", "expr", "for", "labels"])
      expect(file).toContain(`- alert: ${asText(rule["alert"])}\n`)
    }
  })

  it("leads a ServiceMonitor over a Service to the port of the pods, past the NetworkPolicy", () => {
    const service = rendered.get("Service", "mirrord-operator-metrics")
    const monitor = rendered.get("ServiceMonitor", "mirrord-operator")
    expect(at(service, "metadata", "labels")).toMatchObject(asMap(at(monitor, "spec", "selector", "matchLabels")))
    expect(at(monitor, "metadata", "labels", "release")).toBe("prometheus")
    expect(at(monitor, "spec", "endpoints")).toEqual([{ port: "metrics", path: "/metrics", interval: "30s" }])
    expect(at(service, "spec")).toEqual({
      clusterIP: "None",
      selector: { app: "mirrord-operator" },
      ports: [{ name: "metrics", port: 9000, targetPort: "metrics" }]
    })
    expect(asList(rendered.container["ports"])).toContainEqual({ name: "metrics", containerPort: 9000 })
    expect(at(rendered.get("NetworkPolicy", "mirrord-operator"), "spec", "ingress")).toContainEqual({
      ports: [{ port: "metrics", protocol: "TCP" }],
      from: all.networkPolicy.metricsFrom
    })
    expect(at(rendered.get("ConfigMap", "mirrord-operator-dashboard"), "metadata", "labels")).toMatchObject({
      grafana_dashboard: "1",
      folder: "mirrord"
    })
  })

  it("follows the address that a user gives", async () => {
    const operator = { metrics: true, extraEnv: { OPERATOR_METRICS_ADDR: "[::]:9100" } }
    const moved = await chart.render({ values: { ...all, operator } })
    expect(at(asList(at(moved.get("Service", "mirrord-operator-metrics"), "spec", "ports"))[0], "port")).toBe(9100)
    expect(Result.getOrThrow(await settingsOf(moved)).metrics).toEqual({
      host: "::",
      port: 9100,
      fallback: { host: "0.0.0.0", port: 9100 }
    })
  })

  it("is there, or not, by the variable that a user gives", async () => {
    const extraEnv = (value: string) => ({ OPERATOR_METRICS_ENABLED: value })
    const on = await chart.render({ values: { ...all, operator: { extraEnv: extraEnv("true") } } })
    expect(on.names.toSorted()).toEqual(rendered.names.toSorted())
    expect(asList(on.container["ports"])).toContainEqual({ name: "metrics", containerPort: 9000 })
    const off = await chart.render({ values: { ...all, operator: { metrics: true, extraEnv: extraEnv("false") } } })
    expect(off.names.filter((name) => /ServiceMonitor|PrometheusRule|metrics|dashboard/u.test(name))).toEqual([])
  })

  it("is not there while metrics are off, and NOTES say so", async () => {
    const values = { ...all, operator: { metrics: false } }
    const off = await chart.render({ values })
    expect(off.names.filter((name) => /ServiceMonitor|PrometheusRule|metrics|dashboard/u.test(name))).toEqual([])
    expect(asList(off.container["ports"])).toHaveLength(1)
    expect(Result.getOrThrow(await settingsOf(off)).metrics).toBeUndefined()
    expect(await chart.notes({ values })).toContain("monitoring.serviceMonitor is on, but operator.metrics is off")
  })

  it("serves metrics at the published addresses", async () => {
    expect(Result.getOrThrow(await settingsOf(rendered)).metrics).toEqual({
      host: "::",
      port: 9000,
      fallback: { host: "0.0.0.0", port: 9000 }
    })
  })
})
