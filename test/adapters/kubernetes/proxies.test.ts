/** API servers that are reached through a proxy alone: their name is known to nobody else. */

import http from "node:http"
import https from "node:https"
import { connect, type Server, type Socket } from "node:net"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { memberConfig } from "../../../src/adapters/kubernetes/cluster-connector.ts"
import { makeClusterProbe } from "../../../src/adapters/kubernetes/cluster-probe.ts"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { withProxies } from "../../../src/adapters/kubernetes/proxies.ts"
import { openMemberLink } from "../../../src/adapters/websocket/member-link.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { socksProxy } from "../../support/socks-proxy.ts"

const address = "https://api.prod.invalid:6443"

describe("an API server behind a proxy", () => {
  const sockets = new Set<Socket>()
  const targets: Array<string> = []
  let server: https.Server
  let proxy: http.Server
  let caPem: string
  let proxyUrl: string
  let socks: Server
  let socksUrl: string

  const configured = (proxyOfCluster?: string): KubeConfig => {
    const config = new KubeConfig()
    config.loadFromOptions({
      clusters: [
        {
          name: "b",
          server: address,
          caData: Buffer.from(caPem).toString("base64"),
          ...(proxyOfCluster === undefined ? {} : { proxyUrl: proxyOfCluster })
        }
      ],
      users: [{ name: "u", token: "person" }],
      contexts: [{ name: "b", cluster: "b", user: "u" }],
      currentContext: "b"
    })
    return withProxies(config)
  }

  beforeAll(async () => {
    const authority = await createAuthority("ca", Date.now)
    const { certPem, keyPem } = await authority.issue({
      commonName: "api",
      sans: [{ type: "dns", value: "api.prod.invalid" }]
    })
    caPem = authority.caPem
    server = https.createServer({ cert: certPem, key: keyPem }, (request, answer) => {
      answer.setHeader("content-type", "application/json")
      request.resume().once("end", () => {
        const metadata = { resourceVersion: "7", name: `${request.method} ${request.headers.authorization ?? ""}` }
        answer.end(JSON.stringify({ kind: "PodList", metadata, items: [] }))
      })
    })
    server.on("upgrade", (_, socket) => socket.end("HTTP/1.1 410 Gone\r\ncontent-length: 4\r\n\r\ngone"))
    const port = await listenLocally(server)
    proxy = http.createServer().on("connect", (request, socket: Socket) => {
      targets.push(request.url ?? "")
      const onwards = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n")
        onwards.pipe(socket).pipe(onwards)
      })
      for (const one of [socket, onwards]) sockets.add(one.on("error", () => undefined))
    })
    proxyUrl = `http://127.0.0.1:${await listenLocally(proxy)}`
    socks = socksProxy(port, (target) => void targets.push(target ?? "an address"))
    socksUrl = `socks5://127.0.0.1:${await listenLocally(socks)}`
  })
  afterEach(() => vi.unstubAllEnvs())
  afterAll(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    proxy.close()
    socks.close()
  })

  it.each([
    ["the kubeconfig", () => proxyUrl],
    ["the environment", () => proxyUrl],
    ["the kubeconfig, by SOCKS", () => socksUrl],
    ["the environment, by SOCKS", () => socksUrl]
  ])("is reached by requests, probes and links as %s says", async (by, url) => {
    const warnings: Array<string> = []
    const warned = ({ message }: Error): void => void warnings.push(message)
    process.on("warning", warned)
    if (by.startsWith("the environment")) vi.stubEnv("HTTPS_PROXY", url())
    const config = configured(by.startsWith("the environment") ? undefined : url())
    const found = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const api = yield* makeKubeApi(config, "b")
          const probe = yield* makeClusterProbe(config, 60_000)
          return {
            list: (yield* api.list(pods)).resourceVersion,
            created: (yield* api.create(pods, {}, "default")).metadata.name,
            handshake: yield* probe.handshake ?? Effect.undefined,
            asked: (yield* probe.request("GET", "/version")).answer._tag
          }
        })
      )
    )
    expect(found).toMatchObject({
      list: "7",
      created: "POST Bearer person",
      handshake: { _tag: "Connected", distrust: undefined },
      asked: "Answered"
    })
    const link = openMemberLink(config, {
      cluster: "b",
      sessionId: 1n,
      namespace: "default",
      target: "pod.a",
      query: "connect=true",
      parametersInHeader: false
    })
    expect(await Effect.runPromise(Effect.flip(link))).toMatchObject({ code: 410, detail: "gone" })
    expect(new Set(targets.splice(0))).toEqual(new Set(["api.prod.invalid:6443"]))
    process.off("warning", warned)
    expect(warnings).toEqual([])
  })

  it("is a member whose operator has the proxy in its environment", () => {
    vi.stubEnv("HTTPS_PROXY", proxyUrl)
    const member: MemberConfiguration = {
      name: clusterName("b"),
      server: address,
      certificateAuthority: caPem,
      namespace: undefined,
      auth: { _tag: "BearerToken" },
      problems: []
    }
    const config = memberConfig(member, { _tag: "BearerToken", token: Redacted.make("token") })
    expect(config.getCurrentCluster()?.proxyUrl).toBe(proxyUrl)
  })

  it("fails with the proxy's answer where the proxy refuses", async () => {
    const closed = http.createServer().on("connect", (_, socket) => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n"))
    const address = `127.0.0.1:${await listenLocally(closed)}`
    const config = configured(`http://ann:password@${address}`)
    const [error, handshake] = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const api = yield* makeKubeApi(config, "b")
          const probe = yield* makeClusterProbe(config, 60_000)
          return [yield* Effect.flip(api.list(pods)), yield* probe.handshake ?? Effect.undefined] as const
        })
      )
    )
    closed.close()
    expect([error.reason, error.detail]).toEqual(["Unreachable", expect.stringContaining("403")])
    expect(error.detail).toMatch(new RegExp(`\\(through the proxy ${address}\\)$`, "u"))
    expect(handshake).toMatchObject({ _tag: "Failed" })
  })
})
