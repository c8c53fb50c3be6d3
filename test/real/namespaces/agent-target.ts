/** A target in a network namespace, without any cluster, and real agents beside it. */

import * as net from "node:net"
import { fileURLToPath } from "node:url"
import { join } from "../../../lab/agent/incoming/raw-traffic.ts"
import type { RunningAgent } from "../../lab/agent/agent-harness.ts"
import { type AgentSettings, type IncomingWorld, patientSecs } from "../../lab/agent/incoming/incoming-world.ts"
import { targetPort } from "../../lab/agent/loopback-target.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { addressInNetwork, nodeAddress } from "./pod-networks.ts"
import type { PodNode } from "./pod-node.ts"
import { agentCommand } from "./pod-programs.ts"
import { agentRules } from "./pod-rules.ts"
import { startProcess } from "./running-process.ts"

/** A port of 127.0.0.1 whose connections go to a port of a pod. */
const entryTo = async ({ networks }: PodNode, podIp: string, port: number) => {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    join(socket, networks.dial(podIp, port))
  )
  return { port: await listenLocally(server), close: () => server.close() }
}

const agentPort = 40_000
let pods = 0
const newPodIp = (): string => `127.77.${Math.floor(++pods / 250)}.${1 + (pods % 250)}`

/** The variables that braid's operator gives to every agent, beside the settings of a test. */
const defaultEnvironment = {
  RUST_LOG: "info",
  NO_COLOR: "1",
  MIRRORD_AGENT_STEALER_FLUSH_CONNECTIONS: "true",
  MIRRORD_AGENT_EXTERNAL_IP_FIX: "true",
  MIRRORD_AGENT_IDLE_TTL: "600"
}

/** A target with the application of the suite, in a pod of its own. */
export const startTarget = async (node: PodNode, binary: string): Promise<IncomingWorld> => {
  const podIp = newPodIp()
  const id = `target${podIp.replaceAll(".", "x")}`
  const program = fileURLToPath(new URL("application-program.ts", import.meta.url))
  const application = startProcess(node.networks.enter(podIp, [process.execPath, program, String(targetPort)]))
  await application.says("the application is ready", (line) => line === "ready")
  node.runtime.add(id, { pid: application.pid, env: new Map() })
  const entry = await entryTo(node, podIp, targetPort)
  const startAgent = async ({ httpDetectionTimeoutSecs = patientSecs }: AgentSettings = {}): Promise<RunningAgent> => {
    const agentIp = newPodIp()
    const mode = ["targeted", "--container-id", id, "--container-runtime", "docker"]
    const args = ["-l", String(agentPort), "-t", "600", ...mode]
    const security = { group: 40_001, capabilities: ["SYS_ADMIN", "SYS_PTRACE", "NET_ADMIN"] }
    const agent = startProcess(agentCommand(node, agentIp, security, [binary, ...args]), {
      ...defaultEnvironment,
      MIRRORD_AGENT_POD_IPS: addressInNetwork(podIp),
      MIRRORD_AGENT_HTTP_DETECTION_TIMEOUT: String(httpDetectionTimeoutSecs)
    })
    await agent.says("the agent is ready", (line) => line.startsWith("agent ready"))
    const front = await entryTo(node, agentIp, agentPort)
    return {
      port: front.port,
      exit: agent.ended,
      log: agent.lines,
      stop: async () => {
        front.close()
        await agent.stop()
      }
    }
  }
  return {
    entry: entry.port,
    peerIp: nodeAddress,
    podIp: addressInNetwork(podIp),
    redirected: async () => (await agentRules(application.pid)).length > 0,
    startAgent,
    stopApplication: async () => {
      process.kill(application.pid, "SIGUSR2")
      await application.says("the application's port is closed", (line) => line === "closed")
    },
    close: async () => {
      entry.close()
      node.runtime.remove(id)
      await application.stop()
    }
  }
}
