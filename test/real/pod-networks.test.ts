/** The network namespaces of pods, without any cluster: the machine's own network stays as it is, whatever happens. */

import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished } from "vitest"
import { until } from "../support/until.ts"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { machineNetwork, networkOf } from "./namespaces/machine-network.ts"
import { usePodNode } from "./namespaces/pod-node.ts"
import { startProcess } from "./namespaces/running-process.ts"
import { tools } from "./namespaces/tools.ts"

const file = (name: string): string => fileURLToPath(new URL(`namespaces/${name}`, import.meta.url))

/** The answer of the runtime to an agent that asks for a container. */
const inspect = (socketPath: string, id: string): Promise<{ readonly status: number; readonly body: unknown }> =>
  new Promise((resolve, reject) => {
    const asked = http.get({ socketPath, path: `/containers/${id}/json?size=false`, agent: false }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (text: string) => {
        body += text
      })
      response.once("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(body) }))
    })
    asked.once("error", reject)
  })

describePodNetworks("network namespaces of pods", ["agent"], ({ agent }) => {
  const before = machineNetwork()
  const node = usePodNode()

  it("tells no agent of a process in the machine's own network: the agent ends before it makes rules", async () => {
    const { networks, runtime } = node()
    runtime.add("own", { pid: process.pid, env: new Map() })
    expect(await inspect(runtime.socket, "own")).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining("machine's own network namespace") }
    })
    const args = [tools.sh, file("agent-root.sh"), runtime.socket, agent, "-l", "40000", "-t", "30", "targeted"]
    const options = ["--container-id", "own", "--container-runtime", "docker"]
    const command = networks.enter("127.77.0.1", [...args, ...options], { mounts: true })
    const ended = startProcess(command, { RUST_LOG: "error", NO_COLOR: "1" })
    expect(await ended.ended).toBe(1)
    expect(ended.lines.join("\n")).toContain("machine's own network namespace")
    expect(machineNetwork()).toEqual(before)
  })

  it("refuses to make a pod or a node in the machine's own network", () => {
    const own = networkOf("self")
    for (const args of [
      [file("pod.sh"), own, "1", "0", "10.77.0.1", "10.255.255.254", "true"],
      [file("node.sh"), own, "10.255.255.254", "true"]
    ]) {
      const { status, stderr } = spawnSync(tools.sh, args, { encoding: "utf8" })
      expect(status).toBe(97)
      expect(stderr).toContain("machine's own network namespace")
    }
  })

  it("leaves no process and no interface behind when its test is killed", async () => {
    const directory = mkdtempSync(join(tmpdir(), "braid-pods-"))
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
    const test = spawn(process.execPath, [file("pods-until-killed.ts"), directory], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let output = ""
    test.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString()
    })
    const pids = await until("a node and a pod", () => /^(\d+) (\d+)\n/.exec(output)?.slice(1).map(Number))
    for (const pid of pids) expect(networkOf(pid)).not.toBe(networkOf("self"))
    expect(machineNetwork()).toEqual(before)
    test.kill("SIGKILL")
    for (const pid of pids) await until(`the end of process ${pid}`, () => (isRunning(pid) ? undefined : true))
    expect(machineNetwork()).toEqual(before)
  })
})

/** A zombie is not running: it has no memory and no namespace any more, and waits for its parent. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}
