import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { stringify } from "yaml"
import { encodeBase64Text } from "../../../../src/domain/fleet/credentials/base64.ts"
import { listenLocally } from "../../../support/listen-locally.ts"
import { runBraid } from "../../../support/run-braid.ts"

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
    [
      "a kubeconfig that does not exist",
      () => ["--kubeconfig", "/nonexistent/kubeconfig"],
      "No kubeconfig can be used: ENOENT"
    ],
    [
      "no kubeconfig at all",
      () => [],
      "No kubeconfig can be used: neither --kubeconfig nor KUBECONFIG is given, and ~/.kube/config does not exist"
    ],
    [
      "a context that does not exist",
      () => [
        "--context",
        "staging",
        "--kubeconfig",
        write("contexts", {
          contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
          clusters: [],
          users: []
        })
      ],
      'The kubeconfig has no context "staging"; it has test.'
    ]
  ] as const)(
    "ends with code 2: %s",
    async (_, args, sentence) => {
      const { code, output } = await runBraid(["doctor", ...args()])
      expect(output).toContain(`FAIL  configuration   ${sentence}`)
      expect(code).toBe(2)
    },
    patience
  )

  it(
    "does not quote a kubeconfig that is no YAML",
    async () => {
      const { code, output, errors } = await runBraid([
        "doctor",
        "--kubeconfig",
        write("broken", "users:\n- user: {token: very-secret\n  name: [")
      ])
      expect(output).toContain("FAIL  configuration   No kubeconfig can be used: ")
      expect(output + errors).not.toContain("very-secret")
      expect(code).toBe(2)
    },
    patience
  )

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

  it(
    "tells every mistake of a configuration that the operator refuses",
    async () => {
      const { code, output } = await runBraid(
        ["doctor"],
        asOperator([
          { name: "a", server: "https://a", authType: "token" },
          { name: "b", authType: "mtls" }
        ])
      )
      expect(output).toContain(
        "FAIL  configuration   clusters-config.yaml, clusters[0].authType: this authType does not exist"
      )
      expect(output).toContain("FAIL  configuration   clusters-config.yaml, clusters[1].server")
      expect(code).toBe(2)
    },
    patience
  )

  it.each([
    [
      "credentials of a program that is not installed",
      {
        user: {
          exec: { apiVersion: "client.authentication.k8s.io/v1", command: "no-such-program", interactiveMode: "Never" }
        }
      },
      "Credentials of user u of the kubeconfig cannot be had: spawn no-such-program ENOENT."
    ],
    [
      "a client certificate that is not there",
      { user: { "client-certificate": "/nonexistent/u.crt", "client-key": "/nonexistent/u.key" } },
      "Credentials of user u of the kubeconfig cannot be had: ENOENT"
    ],
    [
      "a key that is none",
      { user: { "client-certificate-data": encodeBase64Text("no"), "client-key-data": encodeBase64Text("no") } },
      "Credentials of user u of the kubeconfig cannot be had: error:"
    ]
  ] as const)(
    "does not blame the API server for %s",
    async (_, user, sentence) => {
      const server = createServer().on("error", () => {})
      const port = await listenLocally(server)
      const kubeconfig = write("credentials", {
        clusters: [{ name: "c", cluster: { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } }],
        users: [{ name: "u", ...user }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        "current-context": "c"
      })
      try {
        const { code, output } = await runBraid(["doctor", "--kubeconfig", kubeconfig])
        expect(output).toContain(`FAIL  credentials     ${sentence}`)
        expect(output).toContain("fix:  Correct that user of the kubeconfig")
        expect(output).toContain("1 failure in 1 cluster.")
        expect(code).toBe(1)
      } finally {
        server.close()
      }
    },
    patience
  )

  it(
    "does not blame the network for a CA file that is not there",
    async () => {
      const kubeconfig = write("ca", {
        clusters: [
          { name: "c", cluster: { server: "https://127.0.0.1:1", "certificate-authority": "/nonexistent/ca.crt" } }
        ],
        users: [{ name: "u", user: { token: "t" } }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        "current-context": "c"
      })
      const { code, output } = await runBraid(["doctor", "--kubeconfig", kubeconfig])
      expect(output).toContain("FAIL  certificate     The CA of the API server cannot be read: ENOENT")
      expect(output).toContain("1 failure in 1 cluster.")
      expect(code).toBe(1)
    },
    patience
  )

  it.each(["0", "-1"])(
    "asks for a time in which something can be answered: %s",
    async (seconds) => {
      const { code, errors } = await runBraid(["doctor", "--kubeconfig", unreachable(), `--timeout-secs=${seconds}`])
      expect(errors).toContain("--timeout-secs")
      expect(errors).toContain("at least 1")
      expect(code).not.toBe(0)
    },
    patience
  )

  it.each(["0", "241", "1.5", "long"])(
    "does not watch tunnels for a time that is none: %s",
    async (seconds) => {
      const { code, errors } = await runBraid(["doctor", "--kubeconfig", unreachable(), `--tunnels-for=${seconds}`])
      expect(errors).toContain("--tunnels-for")
      expect(code).not.toBe(0)
    },
    patience
  )

  it(
    "does not know a cluster that is not configured",
    async () => {
      const { code, output } = await runBraid(
        ["doctor", "--cluster", "staging", "-o", "json"],
        asOperator([{ name: "a", server: "https://a.invalid", authType: "mtls", isDefault: true }])
      )
      expect(JSON.parse(output)).toMatchObject({
        verdict: "failed",
        seenFrom: "operator",
        clusters: [],
        findings: [
          { check: "configuration", message: 'There is no cluster "staging".', fix: "Name one of primary, a." }
        ]
      })
      expect(code).toBe(2)
    },
    patience
  )

  it(
    "looks at all that it can where the own cluster does not answer",
    async () => {
      const { code, output } = await runBraid(
        ["doctor", "-o", "json"],
        asOperator([{ name: "a", server: "https://127.0.0.1:1", authType: "mtls", isDefault: true }])
      )
      expect(JSON.parse(output)).toMatchObject({
        clusters: [
          { name: "primary", findings: [{ check: "reach", status: "failed" }, {}, {}, {}, {}, {}, {}, {}] },
          {
            name: "a",
            findings: [
              { check: "reach", status: "failed" },
              {},
              { check: "credentials", status: "failed", message: expect.stringContaining("cannot be read") },
              {},
              {},
              {},
              {},
              {}
            ]
          }
        ]
      })
      expect(code).toBe(1)
    },
    patience
  )
})
