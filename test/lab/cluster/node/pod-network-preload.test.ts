import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { afterEach, expect, it } from "vitest"

const preload = new URL("../../../../lab/cluster/node/pod-network-preload.ts", import.meta.url).href
const program = fileURLToPath(new URL("pod-process.mjs", import.meta.url))
const running: Array<ChildProcess> = []

afterEach(() => {
  for (const child of running.splice(0)) child.kill("SIGKILL")
})

/** The first output line of a process that runs as the pod with this address. */
const lineOf = async (address: string, ...args: ReadonlyArray<string>): Promise<unknown> => {
  const child = spawn(process.execPath, [`--import=${preload}?address=${address}&subnet=218`, program, ...args], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  running.push(child)
  const lines = createInterface({ input: child.stdout })
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`ended with ${String(code)}`)))
  const [line] = await Promise.race([once(lines, "line") as Promise<[string]>, ended])
  ended.catch(() => undefined)
  return JSON.parse(line)
}

it("pods listen on the same port, each on its own address, and are dialled by what the API tells", async () => {
  const hosts = ["::", "", "options", "10.218.1.4"]
  for (const [index, host] of hosts.entries()) {
    const own = `127.218.1.${index + 1}`
    expect(await lineOf(own, "serve", host, "7777")).toMatchObject({ address: own, port: 7777 })
  }
  expect(await lineOf("127.218.2.1", "dial", "10.218.1.1", "7777")).toEqual(["hi", "hi", "hi"])
})

it("what is no pod's stays: another address is dialled and listened on as it is", async () => {
  expect(await lineOf("127.218.3.1", "serve", "127.218.3.9", "7778")).toMatchObject({ address: "127.218.3.9" })
  expect(await lineOf("127.218.3.1", "dial", "127.218.3.9", "7778")).toEqual(["hi", "hi", "hi"])
})
