/** Replays a real API server's answers byte for byte, so that a benchmark measures the reader and not the server. */

import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createSecureServer } from "node:http2"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { KubeConfig } from "@kubernetes/client-node"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { pathOf } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { sessionRef } from "./kubernetes-objects.ts"
import { rawRequests } from "./raw-requests.ts"

/** The recorded answers of an API server. */
interface Recording {
  readonly list: Buffer
  /** Lines with their line ends. */
  readonly events: ReadonlyArray<Buffer>
}

/** The list of all objects, and so many first events of a watch from the start. */
const record = async (config: KubeConfig, count: number): Promise<Recording> => {
  const { close, send } = await rawRequests(config)
  const get = async (query: string) => (await send("GET", `${pathOf(sessionRef, undefined)}${query}`)).body
  const list = Buffer.from(await (await get("")).arrayBuffer())
  const events: Array<Buffer> = []
  let rest = Buffer.alloc(0)
  for await (const chunk of await get("?watch=true&resourceVersion=0")) {
    const bytes = Buffer.concat([rest, chunk as Buffer])
    let start = 0
    for (let end = bytes.indexOf("\n") + 1; end > 0; end = bytes.indexOf("\n", start) + 1) {
      events.push(bytes.subarray(start, end))
      start = end
    }
    rest = bytes.subarray(start)
    if (events.length >= count) break
  }
  await close()
  return { list, events: events.slice(0, count) }
}

/**
 * Answers as the recorded server did, as fast as the answer is read. A real server takes longer to make an event than a
 * reader takes to read it.
 */
export const startReplay = async (
  config: KubeConfig,
  count: number
): Promise<{ readonly kubeconfigPath: string; readonly close: () => Promise<void> }> => {
  const { events, list } = await record(config, count)
  const authority = await createAuthority("replay", Date.now)
  const { certPem, keyPem } = await authority.issue({
    commonName: "replay",
    sans: [{ type: "ip", value: "127.0.0.1" }]
  })
  const sessions = new Set<{ readonly destroy: () => void }>()
  const server = createSecureServer({ cert: certPem, key: keyPem })
  server.on("session", (session) => sessions.add(session))
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {})
    stream.respond({ ":status": 200, "content-type": "application/json" })
    if (!String(headers[":path"]).includes("watch=true")) return void stream.end(list)
    let next = 0
    const write = (): void => {
      for (let event = events[next++]; event !== undefined; event = events[next++])
        if (!stream.write(event)) return void stream.once("drain", write)
    }
    write()
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const directory = await mkdtemp(join(tmpdir(), "braid-replay-"))
  const kubeconfigPath = join(directory, "kubeconfig")
  const cluster = {
    server: `https://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    "certificate-authority-data": Buffer.from(authority.caPem).toString("base64")
  }
  // Kubeconfigs are YAML, and JSON is YAML.
  await writeFile(
    kubeconfigPath,
    JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "replay", cluster }],
      users: [{ name: "anybody", user: {} }],
      contexts: [{ name: "replay", context: { cluster: "replay", user: "anybody" } }],
      "current-context": "replay"
    })
  )
  return {
    kubeconfigPath,
    close: async () => {
      for (const session of sessions) session.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(directory, { recursive: true, force: true })
    }
  }
}
