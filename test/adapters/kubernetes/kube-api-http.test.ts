import type http from "node:http"
import https from "node:https"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { makeClusterConnector } from "../../../src/adapters/kubernetes/cluster-connector.ts"
import { makeKubeApi, pathOf } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { reasonOf } from "../../../src/adapters/kubernetes/kube-errors.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { configMaps, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { KubeError } from "../../../src/ports/kube-api.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { ephemeralAgentsSuite } from "../agents/ephemeral-agents-suite.ts"
import { connectKubeApi } from "./kube-api-server.ts"
import { failureOf, type KubeApiServer, kubeApiSuite } from "./kube-api-suite.ts"

describe("KubeApi over HTTP, against the embedded cluster", () => {
  let running: RunningCluster
  let server: KubeApiServer
  let close: () => Promise<void>

  beforeAll(async () => {
    running = await runCluster({ historyLimit: 50, bookmarkIntervalMs: 200 })
    const { cluster } = running
    const connected = await connectKubeApi({
      server: cluster.server,
      caPem: cluster.caPem,
      kubeconfigPath: cluster.kubeconfigPath,
      apply: async (yaml) => cluster.apply(yaml),
      tokenOf: async (namespace, name) => cluster.serviceAccountToken(namespace, name, 600),
      stop: () => Effect.runPromise(cluster.stop()),
      restart: () => Effect.runPromise(cluster.restart()),
      forget: async (admin) => {
        for (let i = 0; i < 60; i++) {
          await Effect.runPromise(
            admin.create(
              configMaps,
              { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `forget-${i}` } },
              "default"
            )
          )
        }
      }
    })
    server = connected.server
    close = connected.close
  })
  afterAll(async () => {
    await close()
    await running.close()
  })

  kubeApiSuite(() => server)
  ephemeralAgentsSuite(() => server.admin)

  it("gets bookmarks while nothing happens", async () => {
    const { resourceVersion } = await Effect.runPromise(server.admin.list(mirrordClusterSessions))
    const first = await Effect.runPromise(Stream.runHead(server.admin.watch(mirrordClusterSessions, resourceVersion)))
    expect(first).toMatchObject({
      _tag: "Some",
      value: { _tag: "Bookmark", resourceVersion: expect.stringMatching(/^\d+$/) }
    })
  })

  it("authenticates a member by client certificate too", async () => {
    const { cert, key } = await running.credentialsFor("primary", ["system:masters"])
    const found = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const config = new KubeConfig()
          config.loadFromFile(running.cluster.kubeconfigPath)
          const connector = yield* makeClusterConnector(config, "local", () => Effect.die("no links here"))
          const { api } = yield* connector.member(
            {
              name: clusterName("m"),
              server: `${running.cluster.server}/`,
              namespace: undefined,
              certificateAuthority: running.cluster.caPem,
              auth: { _tag: "Mtls" },
              problems: []
            },
            { _tag: "ClientCertificate", certificatePem: cert ?? "", keyPem: Redacted.make(key ?? "") }
          )
          return yield* api.list(configMaps, { namespace: "kube-system" })
        })
      )
    )
    expect(found.items.length).toBeGreaterThan(0)
  })
})

describe("answers that are not an API server's", () => {
  const answering = async <A>(
    answer: (res: http.ServerResponse, req: http.IncomingMessage) => void,
    use: (config: KubeConfig) => Promise<A>
  ): Promise<A> => {
    const authority = await createAuthority("ca", Date.now)
    const { certPem, keyPem } = await authority.issue({ commonName: "c", sans: [{ type: "ip", value: "127.0.0.1" }] })
    const server = https.createServer({ cert: certPem, key: keyPem }, (req, res) => answer(res, req))
    const port = await listenLocally(server)
    const config = new KubeConfig()
    config.loadFromOptions({
      clusters: [
        {
          name: "c",
          server: `https://127.0.0.1:${port}/prefix/`,
          caData: Buffer.from(authority.caPem).toString("base64")
        }
      ],
      users: [{ name: "u", token: "very-secret" }],
      contexts: [{ name: "c", cluster: "c", user: "u" }],
      currentContext: "c"
    })
    try {
      return await use(config)
    } finally {
      server.closeAllConnections()
      server.close()
    }
  }
  const failing = (answer: (res: http.ServerResponse) => void, watch = false) =>
    answering(answer, (config) =>
      failureOf(
        Effect.scoped(
          Effect.flatMap(makeKubeApi(config, "c"), (api): Effect.Effect<unknown, KubeError> =>
            watch ? Stream.runDrain(api.watch(configMaps, "1")) : api.get(configMaps, "a", "default")
          )
        )
      )
    )

  it.each([
    [
      "text of a proxy",
      (res: http.ServerResponse) => void res.writeHead(502).end("Bad Gateway"),
      { reason: "Other", code: 502, detail: "Bad Gateway" }
    ],
    [
      "nothing with 429",
      (res: http.ServerResponse) => void res.writeHead(429).end(),
      { reason: "TooManyRequests", code: 429, detail: "HTTP 429" }
    ],
    [
      "429 that says how long to wait",
      (res: http.ServerResponse) => void res.writeHead(429, { "retry-after": "7" }).end(),
      { reason: "TooManyRequests", retryAfterMs: 7_000 }
    ],
    [
      "JSON without Status",
      (res: http.ServerResponse) => void res.writeHead(404).end('{"error":"x"}'),
      { reason: "NotFound", code: 404 }
    ],
    ["a number", (res: http.ServerResponse) => void res.writeHead(200).end("5"), { reason: "Other" }],
    [
      "no metadata",
      (res: http.ServerResponse) => void res.writeHead(200).end('{"kind":"ConfigMap"}'),
      { reason: "Other" }
    ],
    [
      "half an object",
      (res: http.ServerResponse) => void res.writeHead(200).end('{"metadata":'),
      { reason: "Unreachable" }
    ],
    [
      "a redirect",
      (res: http.ServerResponse) => void res.writeHead(302, { location: "https://elsewhere/" }).end(),
      { reason: "Other", code: 302 }
    ],
    ["a connection that breaks off", (res: http.ServerResponse) => void res.destroy(), { reason: "Unreachable" }]
  ])("%s is an error and never a success", async (_what, answer, expected) => {
    const error = await failing(answer)
    expect(error).toMatchObject({ _tag: "KubeError", cluster: "c", ...expected })
    expect(JSON.stringify(error) + error.message).not.toContain("very-secret")
  })

  it("a refusal is told in short and harmless words", async () => {
    const message = "\u001b[2J\u202e\u009b".repeat(5_000)
    const nasty = await failing((res) => void res.writeHead(403).end(JSON.stringify({ kind: "Status", message })))
    expect(nasty.detail).toHaveLength(1_024)
    expect(nasty.message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
  })

  it.each([
    ["braid/1.2.3 (pod a)", "braid/1.2.3 (pod a)"],
    ["braid", undefined]
  ])("every request says that it is from %s", async (expected, userAgent) => {
    const seen: Array<string | undefined> = []
    await answering(
      (res, req) => {
        seen.push(req.headers["user-agent"])
        res.writeHead(200).end('{"metadata":{}}')
      },
      (config) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.flatMap(makeKubeApi(config, "c", undefined, userAgent), (api) =>
              Effect.all([
                api.get(configMaps, "a", "default"),
                api.create(configMaps, { metadata: { name: "a" } }, "default"),
                api.mergePatch(configMaps, "a", {}, { namespace: "default" }),
                api.delete(configMaps, "a", { namespace: "default" }),
                Effect.ignore(api.list(configMaps)),
                Effect.ignore(Stream.runDrain(api.watch(configMaps, "1")))
              ])
            )
          )
        )
    )
    expect(seen).toEqual(Array(6).fill(expected))
  })

  it.each([
    [
      "410 within the stream",
      '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n',
      { reason: "Gone", code: 410 }
    ],
    ["an event without object", '{"type":"ADDED"}\n', { reason: "Other" }],
    ["garbage", "}{\n", { reason: "Unreachable" }]
  ])("a watch that gets %s fails", async (_what, body, expected) => {
    expect(await failing((res) => void res.writeHead(200).end(body), true)).toMatchObject(expected)
  })

  it("a watch tells of all that came before what ends it, in the same piece too", async () => {
    const event = (name: string): string =>
      `{"type":"ADDED","object":{"metadata":{"name":"${name}","managedFields":[{"manager":"m"}]}}}\n`
    const seen: Array<unknown> = []
    const error = await answering(
      (res) =>
        void res
          .writeHead(200)
          .end(`${event("a")}${event("b")}{"type":"ERROR","object":{"code":410,"reason":"Expired"}}\n${event("c")}`),
      (config) =>
        failureOf(
          Effect.scoped(
            Effect.flatMap(makeKubeApi(config, "c"), (api) =>
              Stream.runForEach(api.watch(configMaps, "1"), (event) => Effect.sync(() => void seen.push(event)))
            )
          )
        )
    )
    expect(error.reason).toBe("Gone")
    expect(seen).toEqual(["a", "b"].map((name) => ({ _tag: "Changed", object: { metadata: { name } } })))
  })

  it.each(["<html><body>Sign in</body></html>", "\ufeff\n <!DOCTYPE html>"])(
    "HTML with 200 is told as what it is, and what to do: %j",
    async (page) => {
      const answer = (res: http.ServerResponse) => void res.writeHead(200, { "content-type": "text/html" }).end(page)
      const listing = answering(answer, (config) =>
        failureOf(Effect.scoped(Effect.flatMap(makeKubeApi(config, "c"), (api) => api.list(configMaps))))
      )
      for (const error of [await failing(answer), await listing])
        expect(error).toMatchObject({
          reason: "Unreachable",
          detail: expect.stringMatching(
            /^the answer is a web page .* cluster's address is right, and whether a proxy /u
          )
        })
    }
  )

  it("a list that is none is an error: an empty one would be taken for the truth", async () => {
    for (const body of [
      "{}",
      "[]",
      '{"kind":"Status","status":"Success"}',
      '{"items":5,"metadata":{"resourceVersion":"1"}}'
    ]) {
      const error = await answering(
        (res) => void res.writeHead(200).end(body),
        (config) => failureOf(Effect.scoped(Effect.flatMap(makeKubeApi(config, "c"), (api) => api.list(configMaps))))
      )
      expect(error.reason).toBe("Other")
    }
  })
})

describe("the small print", () => {
  it("paths", () => {
    expect(pathOf(pods, "a b", "x/y")).toBe("/api/v1/namespaces/a%20b/pods/x%2Fy")
    expect(pathOf(mirrordClusterSessions, "ignored", "s", "status")).toBe(
      "/apis/mirrord.metalbear.co/v1alpha/mirrordclustersessions/s/status"
    )
    expect(pathOf(pods, undefined)).toBe("/api/v1/pods")
  })
  it("reasons", () => {
    expect(reasonOf(409, "AlreadyExists")).toBe("AlreadyExists")
    expect(reasonOf(409, undefined)).toBe("Conflict")
    expect(reasonOf(410, "Expired")).toBe("Gone")
    expect(reasonOf(500, "InternalError")).toBe("Other")
    expect(reasonOf(403, "Unreachable")).toBe("Forbidden")
  })
})
