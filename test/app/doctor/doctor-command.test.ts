import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { runBraid } from "../../support/run-braid.ts"

const patience = 300_000

describe("braid doctor, where no cluster can be looked at", () => {
  let directory: string
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "braid-doctor-command-"))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  const write = (name: string, value: unknown): string => {
    const path = join(directory, name)
    writeFileSync(path, typeof value === "string" ? value : stringify(value))
    return path
  }

  it.each([
    ["a kubeconfig that does not exist", () => ["--kubeconfig", "/nonexistent/kubeconfig"], "No kubeconfig can be used: ENOENT"],
    ["no kubeconfig at all", () => [], "No kubeconfig can be used: neither --kubeconfig nor KUBECONFIG is given, and ~/.kube/config does not exist"],
    [
      "a context that does not exist",
      () => ["--context", "staging", "--kubeconfig", write("contexts", { contexts: [{ name: "test", context: { cluster: "c", user: "u" } }], clusters: [], users: [] })],
      'The kubeconfig has no context "staging"; it has test.'
    ]
  ] as const)("ends with code 2: %s", async (_, args, sentence) => {
    const { code, output } = await runBraid(["doctor", ...args()])
    expect(output).toContain(`FAIL  configuration   ${sentence}`)
    expect(code).toBe(2)
  }, patience)

  it("does not quote a kubeconfig that is no YAML", async () => {
    const { code, output, errors } = await runBraid(["doctor", "--kubeconfig", write("broken", "users:\n- user: {token: very-secret\n  name: [")])
    expect(output).toContain("FAIL  configuration   No kubeconfig can be used: ")
    expect(output + errors).not.toContain("very-secret")
    expect(code).toBe(2)
  }, patience)

  const unreachable = () =>
    write("unreachable", {
      clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      "current-context": "c"
    })
  const asOperator = (clusters: unknown) => ({
    MIRRORD_OPERATOR_NAMESPACE: "mirrord",
    KUBECONFIG: unreachable(),
    MIRRORD_MULTICLUSTER_CONFIG: write("multicluster-config.yaml", { clusterName: "primary" }),
    MIRRORD_CLUSTERS_CONFIG: write("clusters-config.yaml", { clusters })
  })

  it("tells every mistake of a configuration that the operator refuses", async () => {
    const { code, output } = await runBraid(["doctor"], asOperator([{ name: "a", server: "https://a", authType: "token" }, { name: "b", authType: "mtls" }]))
    expect(output).toContain("FAIL  configuration   clusters-config.yaml, clusters[0].authType: this authType does not exist")
    expect(output).toContain("FAIL  configuration   clusters-config.yaml, clusters[1].server")
    expect(code).toBe(2)
  }, patience)

  it("does not know a cluster that is not configured", async () => {
    const { code, output } = await runBraid(["doctor", "--cluster", "staging", "-o", "json"], asOperator([{ name: "a", server: "https://a.invalid", authType: "mtls", isDefault: true }]))
    expect(JSON.parse(output)).toMatchObject({
      verdict: "failed",
      seenFrom: "operator",
      clusters: [],
      findings: [{ check: "configuration", message: 'There is no cluster "staging".', fix: "Name one of primary, a." }]
    })
    expect(code).toBe(2)
  }, patience)

  it("looks at all that it can where the own cluster does not answer", async () => {
    const { code, output } = await runBraid(["doctor", "-o", "json"], asOperator([{ name: "a", server: "https://127.0.0.1:1", authType: "mtls", isDefault: true }]))
    expect(JSON.parse(output)).toMatchObject({
      clusters: [
        { name: "primary", findings: [{ check: "reach", status: "failed" }, {}, {}, {}, {}, {}, {}, {}] },
        { name: "a", findings: [{ check: "reach", status: "failed" }, {}, { check: "credentials", status: "failed", message: expect.stringContaining("cannot be read") }, {}, {}, {}, {}, {}] }
      ]
    })
    expect(code).toBe(1)
  }, patience)
})
