/** Searches all that an operator leaves when it dies for the credentials that it held. */

import { type ChildProcess, spawn } from "node:child_process"
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TLSSocket } from "node:tls"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { freePort } from "../../../lab/playground/free-ports.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { clusterProfiles } from "../../../src/domain/fleet/cluster-profile.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { kubeconfigKey, kubeconfigLabel } from "../../../src/domain/fleet/provided-clusters.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { clustersNamespace } from "../../support/cluster-api.ts"
import { profileManifests, profileStatus } from "../../support/cluster-profile.ts"
import { operatorNamespace } from "../../support/fleet.ts"
import { linklessConnector } from "../../support/linkless-connector.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { untilTrue } from "../../support/until-true.ts"

const program = fileURLToPath(new URL("../../support/dying-operator.ts", import.meta.url))
const crds = new URL("../../../crds/", import.meta.url)

const tokens = { bearer: "canary-of-a-secret", found: "canary-of-a-kubeconfig", profile: "canary-of-a-plugin" }

/** The texts by which a secret could be known: itself, and base64 of it wherever it stands in a text. */
const shapesOf = (secret: string): ReadonlyArray<string> => [
  secret,
  ...[0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + secret).toString("base64")
    // The characters at both ends depend on what stands beside it.
    return text.slice(shift === 0 ? 0 : shift + 1, -4)
  })
]

/** The lines of a private key. */
const linesOf = ({ keyPem }: KeyPair): ReadonlyArray<string> =>
  keyPem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"))

const found = (text: string, secrets: ReadonlyArray<string>): ReadonlyArray<string> =>
  secrets.filter((secret) => shapesOf(secret).some((shape) => text.includes(shape)))

describe("an operator that dies", () => {
  let own: RunningCluster
  let members: https.Server
  let folder = ""
  let server = ""
  let caPem = ""
  let pair: KeyPair
  let running: ChildProcess | undefined
  /** The tokens and the names of certificates with which members were asked. */
  const shown = new Set<string>()

  const write = async (name: string, value: unknown): Promise<string> => {
    const path = join(folder, name)
    await writeFile(path, typeof value === "string" ? value : JSON.stringify(value))
    return path
  }

  /** An API server that refuses everybody. */
  const startMembers = async (): Promise<void> => {
    const authority = await createAuthority("members", Date.now)
    caPem = authority.caPem
    pair = await authority.issue({ commonName: "mtls" })
    const sans = [{ type: "ip", value: "127.0.0.1" }] as const
    const { certPem: cert, keyPem: key } = await authority.issue({ commonName: "members", sans })
    members = https.createServer({ cert, key, ca: caPem, requestCert: true, rejectUnauthorized: false })
    members.on("request", ({ headers, socket }, answer) => {
      shown.add((headers.authorization ?? "").replace("Bearer ", ""))
      if (socket instanceof TLSSocket) shown.add(String(socket.getPeerCertificate().subject?.CN))
      answer.writeHead(401, { "content-type": "application/json" })
      answer.end(JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", reason: "Unauthorized" }))
    })
    server = `https://127.0.0.1:${await listenLocally(members)}`
  }

  /** The objects by which the primary finds and reaches its members. */
  const objects = (): ReadonlyArray<object> => {
    const secretOf = (name: string, label: string, data: Readonly<Record<string, string>>) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: operatorNamespace, labels: { [label]: "true" } },
      data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, encodeBase64Text(text)]))
    })
    const credentialsOf = (name: string, data: Readonly<Record<string, string>>) =>
      secretOf(credentialsSecretName(clusterName(name), sha256Hex), credentialsLabel, data)
    const kubeconfig = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server, "certificate-authority-data": encodeBase64Text(caPem) } }],
      users: [{ name: "u", user: { token: tokens.found } }]
    }
    return [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: operatorNamespace } },
      credentialsOf("bearer", { bearerToken: tokens.bearer }),
      credentialsOf("mtls", { "tls.crt": pair.certPem, "tls.key": pair.keyPem }),
      secretOf("found", kubeconfigLabel, { [kubeconfigKey]: JSON.stringify(kubeconfig) }),
      {
        apiVersion: "multicluster.x-k8s.io/v1alpha1",
        kind: "ClusterProfile",
        metadata: { name: "profile", namespace: clustersNamespace },
        spec: { clusterManager: { name: "test" } }
      }
    ]
  }

  /** The configuration of the primary, as variables. */
  const variables = async (): Promise<Readonly<Record<string, string>>> => {
    const caData = encodeBase64Text(caPem)
    const credential = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      status: { token: tokens.profile }
    }
    const command = await write("plugin", `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`)
    await chmod(command, 0o755)
    const execConfig = {
      apiVersion: credential.apiVersion,
      command,
      interactiveMode: "Never",
      provideClusterInfo: true
    }
    return {
      KUBECONFIG: own.cluster.kubeconfigPath,
      MIRRORD_OPERATOR_NAMESPACE: operatorNamespace,
      MIRRORD_MULTICLUSTER_CONFIG: await write("primary.yaml", { defaultCluster: "bearer" }),
      MIRRORD_CLUSTERS_CONFIG: await write("clusters.yaml", {
        clusters: [
          { name: "bearer", server, caData, authType: "bearerToken" },
          { name: "mtls", server, caData, authType: "mtls" }
        ]
      }),
      OPERATOR_MULTI_CLUSTER_PROVIDERS: "kubeconfigSecrets,clusterProfile",
      OPERATOR_CLUSTER_PROFILE_NAMESPACE: clustersNamespace,
      OPERATOR_ACCESS_PROVIDERS: await write("access-providers.yaml", { providers: [{ name: "plugin", execConfig }] })
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "braid-crash-"))
    own = await runCluster()
    await startMembers()
    for (const file of await readdir(crds)) own.cluster.apply(await readFile(new URL(file, crds), "utf8"))
    own.cluster.apply(profileManifests)
    for (const object of objects()) own.cluster.apply(JSON.stringify(object))
    const offered = Effect.flatMap(linklessConnector(own.cluster.kubeconfigPath), ({ own: { api } }) => {
      const at = { namespace: clustersNamespace, subresource: "status" } as const
      return api.mergePatch(clusterProfiles, "profile", { status: profileStatus(server, caPem) }, at)
    })
    await Effect.runPromise(Effect.scoped(offered))
  })
  afterAll(async () => {
    running?.kill("SIGKILL")
    members.closeAllConnections()
    members.close()
    await own.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** Lets an operator that holds all credentials die. Gives all that it leaves. */
  const dying = async (way: string) => {
    shown.clear()
    const port = await freePort()
    const reports = await mkdtemp(join(folder, "reports-"))
    const flags = ["--report-uncaught-exception", "--report-on-fatalerror", `--report-directory=${reports}`]
    const child = spawn(process.execPath, [...flags, program], {
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: "/nonexistent",
        OPERATOR_ADDR: `127.0.0.1:${port}`,
        ...(await variables())
      },
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    running = child
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => void (output += chunk.toString("utf8")))
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve))
    const isHeld = () => child.exitCode !== null || ["mtls", ...Object.values(tokens)].every((one) => shown.has(one))
    await untilTrue("all members were asked", isHeld)
    if (child.exitCode !== null) throw new Error(`it has ended before: ${output}`)
    child.send(way)
    const code = await closed
    const names = await readdir(reports)
    return { code, output, reports: await Promise.all(names.map((name) => readFile(join(reports, name), "utf8"))) }
  }
  const secrets = (): ReadonlyArray<string> => [...Object.values(tokens), ...linesOf(pair), ...ownKey()]
  const ownKey = (): ReadonlyArray<string> =>
    linesOf({ certPem: "", keyPem: own.adminCredentials.key ?? "" }).filter((line) => line.length > 40)

  it.each(["defect", "exception", "rejection"])("leaves no credential in its last words, by a %s", async (way) => {
    const { code, output, reports } = await dying(way)
    expect(output).toContain(`planted ${way}`)
    expect(code).not.toBe(0)
    expect(found(output, secrets())).toEqual([])
    // A defect is told by the program itself, and Node knows of no uncaught exception.
    expect(reports).toHaveLength(way === "defect" ? 0 : 1)
    for (const report of reports) {
      expect(report).toContain(`planted ${way}`)
      expect(found(report, secrets())).toEqual([])
    }
  })

  it("would be found by what it tells: a secret is known as it is, and in a text in base64", () => {
    const hidden = secrets().flatMap((secret) => ["", "a", "ab"].map((before) => btoa(`${before}${secret} and so on`)))
    for (const text of [...secrets(), ...hidden]) expect(found(text, secrets())).not.toEqual([])
  })
})
