/** Stealing and mirroring by mirrord's own agent from the pods of a {@link PodWorld}, with mirrord's own client. */

import { execFile } from "node:child_process"
import * as http2 from "node:http2"
import * as https from "node:https"
import { promisify } from "node:util"
import { afterEach, describe, expect, it } from "vitest"
import { selfSigned } from "../../lab/cluster/node/self-signed.ts"
import { eventually } from "../../support/eventually.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { type RunningCommand } from "../harness.ts"
import { httpFilters } from "./http-filters.ts"
import { overHttp2 } from "./over-http2.ts"
import { agentRules } from "./pod-rules.ts"
import { allGivenBack, answerOf, answers, attempts, beginSession, visit, visitOverHttp2 } from "./pod-sessions.ts"
import { type PodWorld, startLocalServer } from "./pod-world.ts"
import { overTls, stealsHttps } from "./steals-https.ts"
import { tools } from "./tools.ts"

const run = promisify(execFile)

/** Defines the cases in the calling `describe`. `mirrord` and `layerApp`: the programs. */
export const stealCases = (
  world: PodWorld,
  { layerApp, mirrord }: { readonly layerApp: string; readonly mirrord: string }
): void => {
  const { pods, real, served } = world
  const cleanUp: Array<() => void> = []
  afterEach(() => {
    for (const clean of cleanUp.splice(0)) clean()
  })

  /** A command of the client, once its session is ready in all clusters; it ends with the test at the latest. */
  const session = async (
    args: ReadonlyArray<string>,
    incoming?: Readonly<Record<string, unknown>>
  ): Promise<RunningCommand> => {
    const command = await beginSession(real, mirrord, args, incoming)
    cleanUp.push(() => command.stop())
    return command
  }
  const local = async (protocol?: "HTTP/1.1" | "HTTP/2") => {
    const server = await startLocalServer(protocol)
    cleanUp.push(server.close)
    return server
  }
  const givenBack = (): Promise<void> => allGivenBack(pods())
  const requestsTo = (app: RunningCommand): ReadonlyArray<string> =>
    app
      .events()
      .filter(({ event }) => event === "request")
      .map(({ method, path }) => `${String(method)} ${String(path)}`)

  it("port-forward -R steals a port: the local process answers requests to any pod of any cluster", async () => {
    const server = await local()
    const forward = await session(["port-forward", "-R", `80:${server.port}`], { mode: "steal" })
    for (const pod of pods()) {
      const path = `/to-${pod.name}`
      await answers(pod, `local ${path} `, (signal) => visit(pod, path, {}, signal))
      expect(server.received).toContain(`GET ${path}`)
      expect(await agentRules(pod.pid)).not.toEqual([])
    }
    forward.stop()
    await givenBack()
  })

  it("exec steals a port; environment and outgoing connections are those of a pod of the default", async () => {
    const actions = ["--env", "CLUSTER", "--env", "POD", "--connect", "127.0.0.1:80", "--steal", "80"]
    const app = await session(["exec", "--", layerApp, ...actions, "--respond", "from the laptop"])
    const [first] = pods()
    expect(await app.waitForEvent("env", ({ name }) => name === "CLUSTER")).toMatchObject({ value: "cluster-a" })
    const { value } = await app.waitForEvent("env", ({ name }) => name === "POD")
    expect(pods().map(({ name }) => name)).toContain(value)
    const reply = expect.stringMatching(/^HTTP\/1\.1 400/)
    expect(await app.waitForEvent("connect")).toMatchObject({ port: 80, reply })
    expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
    for (const pod of pods()) {
      const path = `/at-${pod.name}`
      await answers(pod, `from the laptop ${path}\n`, (signal) => visit(pod, path, {}, signal))
    }
    // A process of the pod itself, such as a sidecar, is redirected on another way than traffic from outside.
    const inside = "fetch('http://127.0.0.1/inside').then((answer) => answer.text()).then(console.log)"
    const enter = ["--target", String(first?.pid), "--net", process.execPath, "-e", inside]
    expect((await run(tools.nsenter, enter)).stdout).toBe("from the laptop /inside\n\n")
    await app.waitForEvent("request", ({ path }) => path === "/inside")
    // An attempt that was given up may have come all the same.
    expect(new Set(requestsTo(app))).toEqual(new Set([...pods().map(({ name }) => `GET /at-${name}`), "GET /inside"]))
    app.stop("SIGTERM")
    await givenBack()
  })

  it("a mirrored request is seen by the local process and answered by the pod", async () => {
    const app = await session(["exec", "--", layerApp, "--mirror", "80"])
    const dump = await session(["dump", "-p", "80"])
    expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "mirror", port: 80, ok: true })
    for (const pod of pods()) {
      const path = `/mirrored-${pod.name}`
      const next = attempts()
      await eventually(`the dump of a request to ${pod.name}`, async () => {
        expect(await visit(pod, path, {}, next())).toBe(answerOf(pod, path))
        expect(dump.stdout()).toContain(path)
      })
      await app.waitForEvent("request", (event) => event["path"] === path)
      expect(await served(pod)).toContain(`GET ${path}`)
    }
    app.stop()
    dump.stop()
    await givenBack()
  })

  it("a filter by header steals the requests that match; the others reach their pod undisturbed", async () => {
    const app = await session(["exec", "--", layerApp, "--steal", "80:^x-user: ann$", "--respond", "for ann"])
    expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
    for (const pod of pods()) {
      const match = `/match-${pod.name}`
      const other = `/other-${pod.name}`
      const none = `/none-${pod.name}`
      await answers(pod, `for ann ${match}\n`, (signal) => visit(pod, match, { "x-user": "ann" }, signal))
      await app.waitForEvent("request", ({ path }) => path === match)
      expect(await visit(pod, other, { "x-user": "bob" })).toBe(answerOf(pod, other))
      expect(await visit(pod, none)).toBe(answerOf(pod, none))
      const seen = await served(pod)
      expect(seen).toEqual(expect.arrayContaining([`GET ${other}`, `GET ${none}`]))
      expect(seen).not.toContain(`GET ${match}`)
    }
    expect(new Set(requestsTo(app))).toEqual(new Set(pods().map(({ name }) => `GET /match-${name}`)))
    app.stop()
    await givenBack()
  })

  describe.each([
    ["HTTP/1.1", 80, visit],
    ["HTTP/2", 8080, visitOverHttp2]
  ] as const)("over %s", (protocol, targetPort, ask) => {
    it.each(httpFilters)("a filter $what steals what matches in every cluster, and nothing else", async (given) => {
      const server = await local(protocol)
      const incoming = { mode: "steal", http_filter: given.http_filter }
      const forward = await session(["port-forward", "-R", `${targetPort}:${server.port}`], incoming)
      for (const pod of pods()) {
        for (const [path, headers] of given.stolen) {
          await answers(pod, `local ${path} `, (signal) => ask(pod, path, headers, signal))
          expect(server.received).toContain(`GET ${path}`)
        }
        for (const [path, headers] of given.left) expect(await ask(pod, path, headers)).toBe(answerOf(pod, path))
      }
      forward.stop()
      await givenBack()
    })
  })

  it("a request over HTTP/2 is stolen like any other", async () => {
    const app = await session(["exec", "--", layerApp, "--steal", "8080:^x-user: ann$", "--respond", "for ann"])
    expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 8080, ok: true })
    for (const pod of pods()) {
      await answers(pod, "for ann /2\n", (signal) => visitOverHttp2(pod, "/2", { "x-user": "ann" }, signal))
      const connection = http2.connect(`http://${pod.ip}:8080`)
      cleanUp.push(() => connection.destroy())
      expect(await overHttp2(connection, { ":path": "/2", "x-user": "ann" })).toBe("for ann /2\n")
      expect(await overHttp2(connection, { ":path": "/2", "x-user": "bob" })).toBe(answerOf(pod, "/2"))
      connection.close()
    }
    app.stop()
    await givenBack()
  })

  it("a connection over TLS is stolen whole: the local process shows its own certificate", async () => {
    const tls = await selfSigned()
    const server = https.createServer(tls, (_request, response) => response.end("local, over TLS"))
    cleanUp.push(() => server.close())
    const port = await listenLocally(server)
    const forward = await session(["port-forward", "-R", `443:${port}`], { mode: "steal" })
    for (const pod of pods()) {
      await answers(pod, "local, over TLS", (signal) => overTls(pod, { ca: tls.cert }, signal))
    }
    forward.stop()
    await givenBack()
  })

  it("filters over TLS steal what matches, with the certificate of the cluster's configuration", () =>
    stealsHttps(world, mirrord))
}
