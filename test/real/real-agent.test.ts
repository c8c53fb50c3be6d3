/** Cases of mirrord's own agent without a target, under braid's operator and mirrord's own client. */

import { createSocket } from "node:dgram"
import { readFileSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import type { Endpoint } from "../../lab/cluster/network/endpoint.ts"
import type { AnyRunningCluster } from "../../lab/playground/local-cluster.ts"
import { at } from "../../src/domain/json.ts"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { subnetOf } from "../address-plan.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { until } from "../support/until.ts"
import { agentOnMachine } from "./agent-on-machine.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { agents, children, nothingLeft, parentNames, readySession } from "./sessions.ts"

/** The first byte of a record of a TLS handshake. */
const handshake = 0x16
const [pong] = daemonMessage.encode({ _tag: "Pong" })

/** The first bytes that an agent says to somebody who pings in clear text. An agent of TLS waits for no ping. */
const firstWords = ({ ip: host, port }: Endpoint): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ host, port }, () => socket.write(clientMessage.encode({ _tag: "Ping" })))
    socket.once("data", (bytes) => {
      socket.destroy()
      resolve(bytes)
    })
    socket.once("error", reject)
    socket.once("end", () => reject(new Error("the agent ended the connection and said nothing")))
  })

const suite = (how: string, agentTls: boolean): void =>
  describeReal(
    `the real agent, targetless, ${how}`,
    ["mirrord", "agent", "layerApp"],
    ({ agent, layerApp, mirrord }) => {
      const real = usePlayground({
        subnet: subnetOf("real client, real agent"),
        agentTls,
        topology: "management",
        sessionTtlSecs: 20,
        agent: agentOnMachine(agent)
      })
      const commands: Array<RunningCommand> = []
      const tcp = net.createServer((socket) =>
        socket.on("error", () => undefined).once("data", (bytes) => socket.end(`tcp saw ${bytes.toString()}`))
      )
      const udp = createSocket("udp4")
      const ports = { tcp: 0, udp: 0 }
      beforeAll(async () => {
        await fleetIs(real.playground())
        ports.tcp = await listenLocally(tcp)
        await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve))
        udp.on("message", (bytes, { address, port }) => udp.send(`udp saw ${bytes.toString()}`, port, address))
        ports.udp = udp.address().port
      })
      afterEach(() => {
        for (const command of commands.splice(0)) command.stop()
      })
      afterAll(() => {
        tcp.close()
        udp.close()
      })

      /**
       * All that a targetless session can do, with pings every 15 s through the client's own internal proxy, which
       * waits as long for each answer.
       */
      const session = (name: string, kubeconfig: string): { readonly app: RunningCommand; readonly log: string } => {
        const home = real.home(name)
        const log = join(home, "internal-proxy.log")
        const config = join(home, "mirrord.json")
        writeFileSync(
          config,
          JSON.stringify({
            internal_proxy: { ping_interval: 15, log_level: "mirrord_intproxy=debug", log_destination: log }
          })
        )
        const actions = [
          "--env",
          "KUBERNETES_SERVICE_PORT",
          "--read",
          "/etc/hostname",
          "--resolve",
          "localhost",
          "--connect",
          `127.0.0.1:${ports.tcp}`,
          "--udp",
          `127.0.0.1:${ports.udp}`,
          "--seconds",
          "3600"
        ]
        const app = runClient({
          file: mirrord,
          args: ["exec", "--target", "targetless", "-f", config, "--", layerApp, ...actions],
          home,
          kubeconfig
        })
        commands.push(app)
        return { app, log }
      }

      const works = async ({ app, log }: ReturnType<typeof session>, cluster: AnyRunningCluster): Promise<void> => {
        // Values of the agent's own container: the address of its API server, and its pod's name as the host name.
        const { port } = new URL(cluster.cluster.server)
        expect(await app.waitForEvent("env")).toMatchObject({ name: "KUBERNETES_SERVICE_PORT", value: port })
        const pods = cluster.cluster.store.list(
          { group: "", version: "v1", resource: "pods" },
          { namespace: "mirrord" }
        ).items
        const { text } = await app.waitForEvent("file", ({ path }) => path === "/etc/hostname")
        expect(pods.map(({ metadata }) => `${metadata.name ?? ""}\n`)).toContain(text)
        expect(text).toMatch(/^mirrord-agent-/)
        const { addresses } = await app.waitForEvent("resolve")
        expect(addresses).toContain("127.0.0.1")
        expect(await app.waitForEvent("connect", ({ protocol }) => protocol === "tcp")).toMatchObject({
          port: ports.tcp,
          reply: "tcp saw ping\n"
        })
        expect(await app.waitForEvent("connect", ({ protocol }) => protocol === "udp")).toMatchObject({
          port: ports.udp,
          reply: "udp saw ping\n"
        })
        const written = () => readFileSync(log, "utf8")
        await until("two answers to pings", () =>
          written().split("Agent responded to ping").length > 2 ? true : undefined
        )
        expect(app.code(), app.stderr()).toBeUndefined()
        expect(written()).not.toContain("attempting to reconnect")
        app.stop()
      }

      it("serves environment, files, names and outgoing connections of one cluster to a direct client", async () => {
        const member = real.cluster("cluster-b")
        const running = session("single", real.kubeconfig("cluster-b"))
        const child = await until("a session of the user's own", () =>
          children(member).find(({ spec }) => (spec.multiClusterParentName ?? undefined) === undefined)
        )
        expect(child.spec.target ?? undefined).toBeUndefined()
        await works(running, member)
        const stop = runClient({
          file: mirrord,
          args: ["operator", "session", "stop", "--id", child.metadata.name],
          home: real.home("stop"),
          kubeconfig: real.kubeconfig("cluster-b")
        })
        commands.push(stop)
        expect(await stop.ended(), stop.stderr()).toBe(0)
        // The next test looks at the only agent.
        await until("the end of the stopped session and of its agent", () =>
          children(member).length + agents(member).length === 0 ? true : undefined
        )
      })

      it("has an agent that speaks TLS exactly if it is to, and was given no key", async () => {
        const member = real.cluster("cluster-b")
        const running = session("transport", real.kubeconfig("cluster-b"))
        await running.app.waitForEvent("env")
        const [job] = member.cluster.store.list(
          { group: "batch", version: "v1", resource: "jobs" },
          { namespace: "mirrord" }
        ).items
        const [pod] = member.cluster.store.list(
          { group: "", version: "v1", resource: "pods" },
          { namespace: "mirrord", labelSelector: "app=mirrord" }
        ).items
        const text = JSON.stringify(job)
        expect(text.includes("AGENT_OPERATOR_CERT_ENV")).toBe(agentTls)
        expect(text).not.toContain("PRIVATE KEY")
        const [, port] = /"-l","(\d+)"/u.exec(text) ?? []
        const ip = String(at(pod, "status", "podIP"))
        const [first] = await firstWords(member.kubelet.reach({ ip, port: Number(port) }))
        expect(first).toBe(agentTls ? handshake : pong)
        await works(running, member)
      })

      it("does the same over several clusters, where the default one's agent answers", async () => {
        const known = parentNames(real.playground())
        const running = session("multi", real.kubeconfig())
        const parent = await readySession(real, known)
        expect(parent.spec.defaultCluster).toBe("cluster-a")
        await works(running, real.cluster("cluster-a"))
      })

      it("leaves no session and no agent behind", async () => {
        await nothingLeft(real)
      })
    }
  )

suite("over TLS", true)
suite("in clear text", false)
