import * as http from "node:http"
import * as http2 from "node:http2"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { jobs, pods as podsRef } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { image } from "../../scripts/image.mjs"
import { asObjects, at } from "../../src/domain/json.ts"
import { selfSigned } from "../lab/cluster/node/self-signed.ts"
import { beginSession } from "../real/begin-session.ts"
import { describeReal, type RunningCommand } from "../real/harness.ts"
import { nothingLeft } from "../real/sessions.ts"
import { answers } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { overHttp2 } from "../support/over-http2.ts"
import { until } from "../support/until.ts"
import { httpFilters } from "./http-filters.ts"
import { useNodeSessions } from "./node-sessions.ts"
import { kubectl } from "./nodes.ts"
import { startWeb, tlsStealConfig, type Way, ways, type WebPod, type WebPort, webTarget } from "./web-workload.ts"

type Headers = Readonly<Record<string, string>>

describeReal(
  "stealing from three pods in two clusters, by mirrord's own client and agent on real nodes",
  ["mirrord", "layerApp"],
  ({ layerApp, mirrord }) => {
    const nodes = useNodeSessions({ layerApp, mirrord })
    const { install, playground } = nodes
    const certificates = { pod: { cert: "", key: "" }, local: { cert: "", key: "" } }
    let pods: ReadonlyArray<WebPod> = []
    /** The developer's own servers: the ports of this machine, by those of the pods that they are to serve. */
    const localPorts = new Map<WebPort, number>()
    const closing: Array<() => void> = []
    const running: Array<RunningCommand> = []

    beforeAll(async () => {
      certificates.pod = await selfSigned()
      certificates.local = await selfSigned()
      const [two, one] = playground().clusters
      if (two === undefined || one === undefined) throw new Error("there are no two clusters")
      pods = [...(await startWeb(two, certificates.pod, 2)), ...(await startWeb(one, certificates.pod, 1))]
      const serve = (
        { httpVersion, url }: http.IncomingMessage | http2.Http2ServerRequest,
        response: http.ServerResponse | http2.Http2ServerResponse
      ): void => void response.end(`local ${httpVersion}: ${url}`)
      const secure = http2.createSecureServer({ ...certificates.local, allowHTTP1: true }, serve)
      for (const [port, server] of [
        [80, http.createServer(serve)],
        [8080, http2.createServer(serve)],
        [443, secure]
      ] as const) {
        localPorts.set(port, await listenLocally(server))
        closing.push(() => server.close())
      }
    })
    afterEach(() => {
      for (const command of running.splice(0)) command.stop()
    })
    afterAll(() => {
      for (const close of closing) close()
    })

    const session = async (
      [name, ...args]: readonly [string, ...ReadonlyArray<string>],
      { incoming = {}, target = webTarget } = {}
    ): Promise<RunningCommand> => {
      const command = await beginSession(nodes, mirrord, [name, "--target", target, ...args], incoming)
      running.push(command)
      return command
    }
    /** `port-forward -R` of all ports to the developer's servers. */
    const forward = (incoming: object): Promise<RunningCommand> => {
      const mappings = Array.from(localPorts, ([port, own]) => ["-R", `${port}:${own}`])
      return session(["port-forward", ...mappings.flat()], { incoming: { mode: "steal", ...incoming } })
    }
    const filtered = (filter: object) => ({ http_filter: { ...filter, ports: [...localPorts.keys()] } })

    /** Waits until a pod answers so. */
    const answered = (
      pod: WebPod,
      { ask, over }: Way,
      wanted: string,
      asked: { readonly path: string; readonly headers?: Headers; readonly ca?: string }
    ): Promise<void> =>
      answers(`${pod.name} over ${over}`, wanted, (signal) => ask(pod, { ca: certificates.pod.cert, ...asked, signal }))
    const isStolen = (pod: WebPod, way: Way, path: string, headers: Headers = {}): Promise<void> =>
      answered(pod, way, `local ${way.version}: ${path}`, { path, headers })
    const isLeft = (pod: WebPod, way: Way, path: string, headers: Headers = {}): Promise<void> =>
      answered(pod, way, `${pod.name}: ${path}`, { path, headers })
    const everyWay = async (check: (pod: WebPod, way: Way) => Promise<void>): Promise<void> => {
      for (const pod of pods) for (const way of ways) await check(pod, way)
    }
    /** Ends a session; afterwards pods answer by themselves whatever it has stolen. */
    const end = async (command: RunningCommand): Promise<void> => {
      command.stop()
      await everyWay((pod, way) => isLeft(pod, way, "/api/back", { "x-user": "ann" }))
    }
    /** Upgrades the operators of both clusters. */
    const agentsAre = async (agent: object): Promise<void> => {
      await nothingLeft(nodes)
      await Promise.all(playground().clusters.map((node) => install(node, { agent })))
    }
    const jobsText = (): string =>
      JSON.stringify(
        playground().clusters.flatMap(
          ({ cluster: { store } }) => store.list(jobs, { namespace: operatorNamespace }).items
        )
      )

    it("port-forward -R steals whole ports, with their TLS and what comes from inside of a pod", async () => {
      const command = await forward({})
      expect(jobsText()).not.toContain("AGENT_OPERATOR_CERT_ENV")
      await everyWay((pod, way) =>
        answered(pod, way, `local ${way.version}: /whole`, { path: "/whole", ca: certificates.local.cert })
      )
      const ask = "fetch('http://127.0.0.1/inside').then((answer) => answer.text()).then(console.log)"
      for (const { name, node } of pods) {
        const beside = ["exec", name, "--container=beside", "--", image.node, "--eval", ask]
        expect(await kubectl(node.cluster, ...beside)).toBe("local 1.1: /inside")
      }
      await end(command)
    })

    it("exec and dump mirror: both see the requests, and the pods answer", async () => {
      const app = await session(["exec", "--", layerApp, "--mirror", "80"])
      const dump = await session(["dump", "-p", "80"])
      expect(await app.waitForEvent("subscribed")).toMatchObject({ mode: "mirror", ok: true })
      for (const pod of pods) {
        const path = `/mirrored-${pod.name}`
        await eventually(`the dump of a request to ${pod.name}`, async () => {
          for (const way of ways.slice(0, 1)) await isLeft(pod, way, path)
          expect(dump.stdout()).toContain(path)
        })
        await app.waitForEvent("request", (event) => event["path"] === path)
      }
    })

    it("without a target, files, names and connections are those of an agent's own pod in the default", async () => {
      const actions = ["--read", "/etc/hostname", "--resolve", "myapp.default", "--connect", "myapp.default:7000"]
      const app = await session(["exec", "--", layerApp, ...actions], { target: "targetless" })
      expect(await app.waitForEvent("file")).toMatchObject({ text: expect.stringMatching(/^mirrord-agent-/u) })
      expect(await app.waitForEvent("resolve")).toMatchObject({ addresses: [expect.any(String)] })
      expect(await app.waitForEvent("connect")).toMatchObject({ reply: "hello from cluster-a\n" })
    })

    describe("with agents that speak TLS, and the administrators' configuration for stolen TLS", () => {
      beforeAll(async () => {
        await agentsAre({ tls: true })
        for (const { cluster } of playground().clusters) await cluster.plane.apply(JSON.stringify(tlsStealConfig))
      })

      it.each(httpFilters)("a filter $what steals what matches on every way, and nothing else", async (filter) => {
        const command = await forward(filtered(filter.http_filter))
        const text = jobsText()
        expect(text).toContain("AGENT_OPERATOR_CERT_ENV")
        expect(text).not.toContain("PRIVATE KEY")
        await everyWay(async (pod, way) => {
          for (const [path, headers] of filter.stolen) await isStolen(pod, way, path, headers)
          for (const [path, headers] of filter.left) await isLeft(pod, way, path, headers)
        })
        for (const { entries, name } of pods) {
          const connection = http2.connect(`http://127.0.0.1:${entries[8080]}`)
          const ask = (path: string, headers: Headers) => overHttp2(connection, { ":path": path, ...headers })
          for (const [path, headers] of filter.stolen) expect(await ask(path, headers)).toBe(`local 2.0: ${path}`)
          for (const [path, headers] of filter.left) expect(await ask(path, headers)).toBe(`${name}: ${path}`)
          connection.close()
        }
        await end(command)
      })
    })

    describe("with ephemeral agents, over TLS", () => {
      beforeAll(() => agentsAre({ extraConfig: { ephemeral: true }, extraEnv: { MIRRORD_AGENT_IDLE_TTL: "5" } }))

      /** The states of the agents that each pod has had. */
      const states = (): ReadonlyArray<object> =>
        pods.map(({ name, node }) => {
          const pod = node.cluster.store.get(podsRef, workloadNamespace, name)
          return asObjects(at(pod, "status", "ephemeralContainerStatuses")).map(({ state }) => state)
        })
      const ended = { terminated: expect.objectContaining({ exitCode: 0 }) }
      const runs = { running: expect.anything() }

      /** A session that steals the requests of a user. */
      const stealsFrom = async (user: string): Promise<RunningCommand> => {
        const reads = ["MIRRORD_AGENT_IDLE_TTL", "AGENT_OPERATOR_CERT_ENV"]
        const actions = [...reads.flatMap((name) => ["--env", name]), "--steal", `80:^x-user: ${user}$`]
        const app = await session(["exec", "--", layerApp, ...actions, "--respond", `for ${user}:`])
        // The agent itself answers these too; the operator takes them out.
        for (const name of reads)
          expect(await app.waitForEvent("env", (event) => event["name"] === name)).toMatchObject({ value: null })
        await isServed(user)
        return app
      }
      const isServed = async (user: string): Promise<void> => {
        for (const pod of pods)
          for (const way of ways.slice(0, 1))
            await answered(pod, way, `for ${user}: /${user}\n`, { path: `/${user}`, headers: { "x-user": user } })
      }

      it("two sessions share an agent in each pod, which goes on after the first of them", async () => {
        const ann = await stealsFrom("ann")
        const command = await forward(filtered({ header_filter: "^x-user: bob$" }))
        const bobs = (): Promise<void> =>
          everyWay(async (pod, way) => {
            await isStolen(pod, way, "/bob", { "x-user": "bob" })
            await isLeft(pod, way, "/other", { "x-user": "carl" })
          })
        await bobs()
        await isServed("ann")
        await end(ann)
        await bobs()
        expect(states()).toEqual(pods.map(() => [runs]))
        for (const { name, node } of pods)
          expect(JSON.stringify(node.cluster.store.get(podsRef, workloadNamespace, name))).toContain(
            '"AGENT_OPERATOR_CERT_ENV"'
          )
        command.stop()
      })

      it("ends by itself after its last session, and a later session gets another one", async () => {
        await nothingLeft(nodes)
        await until("the end of all agents", () => (/running/u.test(JSON.stringify(states())) ? undefined : true))
        expect(states()).toEqual(pods.map(() => [ended]))
        await everyWay((pod, way) => isLeft(pod, way, "/bob", { "x-user": "bob" }))
        await stealsFrom("ann")
        expect(states()).toEqual(pods.map(() => [ended, runs]))
      })
    })
  },
  { also: ["mirrord-agent", "node", "control plane"] }
)
