import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { readUsage } from "../../../../src/app/commands/overview/usage-command.ts"
import { UsageSums } from "../../../../src/domain/usage/usage-report.ts"
import { record } from "../../../domain/usage/some-records.ts"
import { listenLocally } from "../../../support/listen-locally.ts"
import { runBraid } from "../../../support/run-braid.ts"

const report = () => {
  const sums = new UsageSums({ format: "json", primaryKey: "machine_id", from: undefined, to: undefined }, 60_000)
  sums.add(record({ stoppedAt: 30_000 }))
  return sums.report({ operatorVersion: "1", chartVersion: "1", clusterName: "main", clusters: [] })
}

describe("braid usage", () => {
  const asked: Array<string | undefined> = []
  let answer: { readonly code: number; readonly body: object } = { code: 200, body: report() }
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.writeHead(answer.code, { "content-type": "application/json" }).end(JSON.stringify(answer.body))
  })
  const folder = mkdtempSync(join(tmpdir(), "braid-usage-"))
  const kubeconfig = join(folder, "kubeconfig")
  const run = (...args: ReadonlyArray<string>) => runBraid(["usage", "--kubeconfig", kubeconfig, ...args])

  beforeAll(async () => {
    const port = await listenLocally(server)
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        "current-context": "a",
        contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
        clusters: [{ name: "a", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
        users: [{ name: "a", user: {} }]
      })
    )
  })
  afterAll(() => server.close())

  it("asks for a period and a key, and prints a table", async () => {
    const { code, errors, output } = await run("--from", "2026-11-01", "--by", "username")
    expect([code, errors]).toEqual([0, ""])
    expect(output).toMatch(/^jane@laptop +1970-01-01 +1970-01-01 +1 +30s +30s$/mu)
    expect(asked.at(-1)).toBe(
      "/apis/operator.metalbear.co/v1/mirrordoperators/operator/reports/usage?format=json&primary_key=username" +
        "&from=2026-11-01"
    )
  })

  it("writes files for spreadsheets", async () => {
    const file = join(folder, "usage.xlsx")
    expect(await run("--format", "xlsx", "--output", file)).toMatchObject({ code: 0, errors: "" })
    expect(readFileSync(file).subarray(0, 2).toString()).toBe("PK")
  })

  it("says why there is no report", async () => {
    const choice = { kubeconfig, context: undefined, from: undefined, to: undefined, by: "machine_id" }
    const unanswered = (code: number, body: object) => {
      answer = { code, body }
      return Effect.runPromise(Effect.flip(readUsage({ ...choice, userMinutes: "15", ciMinutes: "15" })))
    }
    const refusal = (code: number, reason: string, message: string) =>
      unanswered(code, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, message })
    expect((await refusal(403, "Forbidden", "jane may not")).fix).toContain("mirrord-operator-usage-reader")
    expect((await refusal(400, "BadRequest", 'from: found "x".')).message).toContain('from: found "x".')
    expect((await refusal(404, "NotFound", "set dashboard.enabled")).message).toContain("set dashboard.enabled")
    expect((await refusal(404, "NotFound", "no such page")).message).toContain("does not serve reports on use")
    expect((await unanswered(200, { kind: "APIVersions" })).message).toContain("another report")
  })
})
