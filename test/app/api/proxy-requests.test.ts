/** People's requests whole: the aggregated API, a tunnel, an outpost, and a member's embedded API server. */

import { once } from "node:events"
import type { ClientRequest, IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { text } from "node:stream/consumers"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Logger } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { makeLaneServer } from "../../../src/adapters/kubernetes/serve-lanes.ts"
import type { Facade } from "../../../src/app/api/facade-gate.ts"
import { notFound, serviceUnavailable } from "../../../src/app/api/status.ts"
import { CurrentPeopleCounts } from "../../../src/app/kernel/people-counts.ts"
import { makePersonalLanes } from "../../../src/app/outbound/people.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { asString, at } from "../../../src/domain/json.ts"
import type { PeopleRules } from "../../../src/domain/outbound/impersonation.ts"
import { beginningFields, peopleFields } from "../../../src/domain/outbound/people-audit.ts"
import type { CellTunnel } from "../../../src/ports/tunnel.ts"
import { apiServiceAt, type Backend, startBackend } from "../../lab/cluster/aggregated-backend.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { laneOptions } from "../../support/lane-options.ts"
import { startCell, type TestCell } from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"
import { type Certificates, makeCertificates, root, runApi, upgradeText } from "./running-api.ts"

const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: people }
rules:
  - { apiGroups: [""], resources: [configmaps], verbs: ["*"] }
  - { apiGroups: [tools.example.com], resources: ["*"], verbs: ["*"] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: people }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: people }
subjects: [{ kind: Group, name: "primary:dev" }]
`
const member = `${root}/mirrordclusters/cluster-b/proxy`
const rules: PeopleRules = { groups: ["dev", "guests"], extraKeys: ["example.com/team"], prefix: "primary:" }

const counts = Effect.runSync(CurrentPeopleCounts)
/** The metrics of a cluster. */
const counted = (name: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    counts
      .samples([clusterName(name)])
      .map(({ labels, value }) => [
        "kind" in labels && "code" in labels ? `${labels.kind} ${labels.code}` : "open",
        value
      ])
  )

type Line = Readonly<Record<string, unknown>>

let certificates: Certificates
let running: RunningCluster
let backend: Backend
let cell: TestCell
let api: Awaited<ReturnType<typeof runApi>>
let current: CellTunnel | undefined
const served = { apiVersion: "v1", kind: "", spec: { roles: [] }, status: { sessions: 0, conditions: [] } }
const bothSides = () => ({ cell: new Array<Line>(), outpost: new Array<Line>() })
/** Lines about the beginnings of requests, and about their ends. */
const [begun, lines] = [bothSides(), bothSides()]

/** Gathers the audit lines of the cell. */
const gathered = Logger.layer([
  Logger.map(Logger.formatStructured, ({ annotations }) => {
    if (annotations["act"] !== "proxied") return
    const { cell: noted } = annotations["stage"] === "RequestReceived" ? begun : lines
    noted.push(annotations)
  })
])

const openLane = makePersonalLanes(() => {
  const tunnel = current
  if (tunnel === undefined) throw new Error("Cluster cluster-b has not dialled.")
  return { lanes: tunnel.lanes, openLane: (_name, kind): Duplex => tunnel.openLane(kind) }
})

beforeAll(async () => {
  certificates = await makeCertificates()
  running = await runCluster()
  const { body } = await running.admin.get(
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
  )
  const frontProxyCaPem = asString(at(body, "data", "requestheader-client-ca-file")) ?? ""
  backend = await startBackend({ group: "tools.example.com", version: "v1", frontProxyCaPem, host: "127.0.0.1" })
  running.cluster.apply(rights + "---" + apiServiceAt("tools.example.com", backend.port))
  const config = new KubeConfig()
  config.loadFromFile(running.cluster.kubeconfigPath)
  const lanes = makeLaneServer(
    config,
    laneOptions("envoy", "braid", {
      people: rules,
      note: (request) => {
        if (request.isLasting && request.as !== undefined) begun.outpost.push(beginningFields(request))
        return (outcome) => void lines.outpost.push(peopleFields(request, outcome, 0))
      }
    })
  )
  cell = await startCell()
  await cell.dial({ serve: lanes.serve })
  const tunnel = await cell.tunnel(0)
  const proxy: Facade["proxy"] = ({ cluster, isUpgrade }, { user }) =>
    Effect.mapError(openLane({ cluster, isUpgrade, user }), serviceUnavailable)
  const known: Facade["cluster"] = (name) =>
    name === "cluster-b" ? Effect.succeed({ ...served, metadata: { name } }) : Effect.fail(notFound("There is none."))
  api = await runApi(certificates, {}, { proxy, cluster: known }, gathered)
  current = tunnel
})
afterAll(async () => {
  await api.stop()
  await cell.close()
  await backend.close()
  await running.close()
})
beforeEach(() => {
  for (const noted of [begun, lines]) {
    noted.cell.length = 0
    noted.outpost.length = 0
  }
  counts.samples([])
})

interface Answer {
  readonly code: number
  readonly body: string
}

const ask = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string | Array<string>>> = {}
): ClientRequest => {
  const asked = api.request(method, `${member}${path}`, certificates.proxy, "ann")
  const all = { "x-remote-group": ["dev", "system:masters", "system:authenticated"], ...headers }
  for (const [name, value] of Object.entries(all)) asked.setHeader(name, value)
  return asked
}
const answerOf = async (asked: ClientRequest, body?: string): Promise<Answer> => {
  asked.end(body)
  const [response] = (await once(asked, "response")) as [IncomingMessage]
  return { code: response.statusCode ?? 0, body: await text(response) }
}
const configMaps = "/api/v1/namespaces/default/configmaps"

describe("a person's request", () => {
  it("is made in the member as the person, with listed groups and extras alone", async () => {
    const answer = await answerOf(
      ask("POST", configMaps, {
        "content-type": "application/json",
        "audit-id": "id-1",
        "x-remote-uid": "u1",
        "x-remote-extra-example.com%2fteam": "blue",
        "x-remote-extra-scopes": "secret",
        "impersonate-user": "admin",
        "Impersonate-Group": "system:masters",
        "braid-user": "{}"
      }),
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } })
    )
    expect(answer.code).toBe(201)
    await untilTrue("both have noted it", () => lines.cell.length + lines.outpost.length === 2)
    const both = {
      request: "id-1",
      user: "ann",
      uid: "u1",
      verb: "create",
      path: configMaps,
      decision: "allowed",
      code: 201
    }
    expect(lines.cell).toMatchObject([both])
    expect(lines.outpost).toMatchObject([
      { ...both, as: "primary:ann", droppedGroups: ["system:masters"], droppedExtraKeys: ["scopes"] }
    ])
  })

  it("is answered in the member's own words", async () => {
    const answer = await answerOf(ask("GET", "/api/v1/namespaces/default/secrets"))
    expect(answer.code).toBe(403)
    expect(answer.body).toContain('User \\"primary:ann\\" cannot list resource \\"secrets\\"')
    const stranger = await answerOf(ask("GET", configMaps, { "x-remote-group": ["qa"] }))
    expect(stranger).toMatchObject({ code: 403, body: expect.stringContaining("is in none of the groups") })
    await untilTrue("all are noted", () => lines.cell.length + lines.outpost.length === 4)
    for (const noted of [lines.cell, lines.outpost])
      expect(noted.map(({ decision }) => decision)).toEqual(["denied", "denied"])
  })

  it("watches, and ends when the person leaves", async () => {
    const asked = ask("GET", `${configMaps}?watch=true`).end()
    const [response] = (await once(asked, "response")) as [IncomingMessage]
    const events = new Array<string>()
    response.on("data", (chunk: Buffer) => void events.push(String(chunk))).on("error", () => {})
    await answerOf(
      ask("POST", configMaps, { "content-type": "application/json" }),
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "seen" } })
    )
    await untilTrue("the event came", () => events.join("").includes('"name":"seen"'))
    for (const noted of [begun.cell, begun.outpost])
      expect(noted).toMatchObject([{ user: "ann", verb: "get", path: configMaps }])
    expect(counted("cluster-b")).toEqual({ open: 1, "write 201": 1 })
    const before = current?.lanes()
    asked.destroy()
    await untilTrue("its lane is closed", () => current?.lanes() === (before ?? 0) - 1)
    await untilTrue("both have noted its end", () => lines.cell.length + lines.outpost.length === 4)
    expect(counted("cluster-b")).toEqual({ open: 0, "write 201": 1, "watch 200": 1 })
    // Only what is to last has a line before its end.
    expect(begun.cell.length + begun.outpost.length).toBe(2)
  })

  it.each([
    ["/a/%2e%2e/b", 400, "the part"],
    ["/a%2fb", 400, "an encoded slash"]
  ])("for %s is refused at once", async (path, code, why) => {
    expect(await answerOf(ask("GET", path))).toMatchObject({ code, body: expect.stringContaining(why) })
    expect(lines.outpost).toEqual([])
  })

  it("is refused with a sentence while there is no tunnel, and noted", async () => {
    const tunnel = current
    current = undefined
    const answer = await answerOf(ask("GET", "/api"))
    current = tunnel
    expect(answer).toMatchObject({ code: 503, body: expect.stringContaining("has not dialled") })
    expect(lines.cell).toMatchObject([{ decision: "denied", code: 503, why: expect.stringContaining("dialled") }])
    expect(counted("cluster-b")).toEqual({ open: 0, "read 503": 1 })
  })

  it("is counted for no cluster where there is none of that name", async () => {
    const tunnel = current
    current = undefined
    const asked = api.request("GET", `${root}/mirrordclusters/cluster-x/proxy/api`, certificates.proxy, "ann")
    expect(await answerOf(asked)).toMatchObject({ code: 503 })
    current = tunnel
    expect(lines.cell).toHaveLength(1)
    expect(counted("cluster-x")).toEqual({})
  })

  it("is taken from the front proxy alone, also where other requests are taken from others", async () => {
    const open = await runApi(certificates, { requireFrontProxy: false })
    const code = async (path: string) => (await answerOf(open.request("GET", path, certificates.stranger, "ann"))).code
    expect([await code(root), await code(`${member}/api`)]).toEqual([200, 401])
    await open.stop()
  })
})

describe("a person's connection", () => {
  const gadget = "/apis/tools.example.com/v1/namespaces/default/gadgets/g/connect?command=secret"
  const connect = async () => {
    const socket = await api.dial(certificates.proxy)
    const heard = new Array<string>()
    socket.on("data", (chunk: Buffer) => void heard.push(String(chunk)))
    socket.write(upgradeText(`${member}${gadget}`, { "X-Remote-User": "ann", "X-Remote-Group": "dev" }))
    return { socket, heard: () => heard.join("") }
  }

  it("passes bytes unread both ways after 101", async () => {
    backend.onUpgrade((_request, socket) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-A: b\r\n\r\nearly"
      )
      socket.pipe(socket)
    })
    const { heard, socket } = await connect()
    await untilTrue("the first bytes", () => heard().endsWith("early"))
    expect(heard()).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n/u)
    expect(heard()).toContain("X-A: b\r\n")
    // Nothing can take these lines back, whatever becomes of the operators.
    for (const noted of [begun.cell, begun.outpost])
      expect(noted).toMatchObject([{ user: "ann", verb: "create", upgrade: true }])
    expect(lines.cell.length + lines.outpost.length).toBe(0)
    expect(counted("cluster-b")).toEqual({ open: 1 })
    expect(backend.seen.at(-1)?.headers).toMatchObject({ "x-remote-user": ["primary:ann"], "x-session-id": ["5"] })
    const bytes = "x".repeat(1_000_000)
    socket.write(bytes)
    await untilTrue("all are back", () => heard().endsWith(`early${bytes}`))
    socket.end()
    await untilTrue("both have noted it", () => lines.cell.length + lines.outpost.length === 2)
    for (const noted of [lines.cell, lines.outpost])
      expect(noted).toMatchObject([{ verb: "create", upgrade: true, code: 101, bytes: 2_000_005 }])
    const ids = [...begun.cell, ...begun.outpost, ...lines.cell, ...lines.outpost].map((line) => line["request"])
    expect(new Set(ids).size).toBe(1)
    expect(counted("cluster-b")).toEqual({ open: 0, "connect 101": 1 })
    expect(JSON.stringify([begun, lines])).not.toContain("secret")
  })

  it("gets the member's refusal as it is", async () => {
    backend.onUpgrade((_request, socket) => {
      socket.end("HTTP/1.1 418 Teapot\r\nContent-Length: 5\r\n\r\nshort")
    })
    const { heard, socket } = await connect()
    await once(socket, "end")
    expect(heard()).toMatch(/^HTTP\/1.1 418 [^]*short$/u)
    socket.end()
    await untilTrue("both have noted it", () => lines.cell.length + lines.outpost.length === 2)
    expect([...lines.cell, ...lines.outpost].map(({ code }) => code)).toEqual([418, 418])
  })

  it("is one of ten at a time", async () => {
    backend.onUpgrade((_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
    })
    const open = await Promise.all(Array.from({ length: 10 }, connect))
    await untilTrue("all are open", () => open.every(({ heard }) => heard().includes("101")))
    const { heard } = await connect()
    await untilTrue("a refusal", () => heard().includes("connections to pods of members, which is the most"))
    expect(heard()).toMatch(/^HTTP\/1.1 503 /u)
    for (const { socket } of open) socket.destroy()
    await untilTrue("all have ended", () => current?.lanes() === 0)
    const again = await connect()
    await untilTrue("there is room", () => again.heard().includes("101"))
    again.socket.destroy()
  })
})
