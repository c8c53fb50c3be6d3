/** Bad requests and frames at a real operator: each is refused with a sentence, and other sessions go on. */

import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import WebSocket from "ws"
import { clientMessage, type ClientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { startingReason } from "../../src/domain/sessions/child-observation.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { type ApiAnswer, type ApiClient, apiClient } from "./api-client.ts"
import { developers } from "./developers.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { parentNames, parents, readySession } from "./sessions.ts"
import { userCertificate } from "./user-certificate.ts"

const connectPath = (target = "deployment.myapp"): string =>
  `/apis/operator.metalbear.co/v1/proxy/namespaces/default/targets/${target}` +
  "?connect=true&on_concurrent_steal=abort&key=test"

const newSessionId = (): string => randomBytes(8).readBigUInt64BE().toString()
const parentOf = (id: string): string => `mc-${BigInt(id).toString(16).padStart(16, "0")}`

/** An open connection, read message by message. */
const conversation = (socket: WebSocket) => {
  const received: Array<DaemonMessage> = []
  let closed: number | undefined
  socket.on("message", (data: Buffer) => {
    const decoded = daemonMessage.decode(data)
    if (decoded._tag === "Decoded") received.push(decoded.value)
  })
  socket.on("close", (code) => {
    closed = code
  })
  socket.on("error", () => undefined)
  return {
    say: (message: ClientMessage): void => socket.send(clientMessage.encode(message)),
    hears: <A>(what: string, pick: (message: DaemonMessage) => A | undefined): Promise<A> =>
      until(what, () => received.map(pick).find((picked) => picked !== undefined)),
    count: (tag: DaemonMessage["_tag"]): number => received.filter(({ _tag }) => _tag === tag).length,
    isClosed: (): Promise<number> => until("the end of the connection", () => closed)
  }
}

describeReal("bad input, while a real client's session goes on", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
  const real = usePlayground({ topology: "management", subnet: subnetOf("real client, bad input") })
  const sockets: Array<WebSocket> = []
  let bystander: RunningCommand | undefined
  let ann: ApiClient
  let bob: ApiClient
  let bobAtMember: ApiClient
  const certificates = { ann: "", bob: "" }

  beforeAll(async () => {
    await fleetIs(real.playground())
    const { primary } = real.playground()
    const member = real.cluster("cluster-b")
    const path = (name: string): string => join(real.home("kubeconfig"), name)
    const files = { ann: path("ann"), bob: path("bob"), bobAtMember: path("bob") }
    const groups = [developers]
    await Effect.runPromise(primary.cluster.userKubeconfig({ user: "ann-2", groups, path: files.ann }))
    await Effect.runPromise(primary.cluster.userKubeconfig({ user: "bob", groups, path: files.bob }))
    await Effect.runPromise(member.cluster.userKubeconfig({ user: "bob", groups, path: files.bobAtMember }))
    ann = apiClient(files.ann)
    bob = apiClient(files.bob)
    bobAtMember = apiClient(files.bobAtMember)
    certificates.ann = await userCertificate(ann, "ann")
    certificates.bob = await userCertificate(bob, "bob")
    const known = parentNames(real.playground())
    bystander = runClient({
      file: mirrord,
      args: [
        "exec",
        "--target",
        "deployment/myapp",
        "--",
        layerApp,
        "--steal",
        "80:^x-user: bystander$",
        "--respond",
        "bystander"
      ],
      home: real.home("bystander"),
      kubeconfig: real.kubeconfig()
    })
    await readySession(real, known)
    await bystander.waitForEvent("subscribed")
    for (const name of ["cluster-a", "cluster-b"])
      await eventually(`the bystander answers in ${name}`, async () =>
        expect(await request(real.cluster(name).entry ?? "", "/there", { "x-user": "bystander" })).toBe(
          "bystander /there\n"
        )
      )
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.terminate()
    // After every test the other session still gets the requests of both clusters.
    for (const name of ["cluster-a", "cluster-b"]) {
      expect(await request(real.cluster(name).entry ?? "", "/still-there", { "x-user": "bystander" })).toBe(
        "bystander /still-there\n"
      )
    }
    expect(bystander?.events().some(({ event }) => event === "closed" || event === "resubscribed")).toBe(false)
  })
  afterAll(() => bystander?.stop())

  const headers = (id: string, certificate: string) => ({
    "x-session-id": id,
    "x-client-der": certificate,
    "x-mirrord-cli-version": "3.250.0"
  })
  const open = async (client: ApiClient, id: string, certificate: string) => {
    const answer = await client.upgrade(connectPath(), headers(id, certificate))
    if (!(answer instanceof WebSocket)) throw new Error(`refused: ${JSON.stringify(answer)}`)
    sockets.push(answer)
    return { socket: answer, ...conversation(answer) }
  }
  const refused = async (
    client: ApiClient,
    path: string,
    given: Readonly<Record<string, string>>
  ): Promise<ApiAnswer> => {
    const answer = await client.upgrade(path, given)
    if (!(answer instanceof WebSocket)) return answer
    answer.terminate()
    throw new Error("the upgrade was accepted")
  }
  /** An open connection past its handshake; its answers and log lines are collected. */
  const talking = async () => {
    const id = newSessionId()
    const talk = await open(ann, id, certificates.ann)
    talk.say({ _tag: "SwitchProtocolVersion", value: "1.29.0" })
    await talk.hears("the version", (message) =>
      message._tag === "SwitchProtocolVersionResponse" ? message.value : undefined
    )
    talk.say({ _tag: "ReadyForLogs" })
    return { id, ...talk }
  }
  const pongs = async (talk: Awaited<ReturnType<typeof talking>>, count: number): Promise<void> => {
    talk.say({ _tag: "Ping" })
    await until(`pong ${count}`, () => (talk.count("Pong") >= count ? true : undefined))
    expect(talk.count("Pong")).toBe(count)
  }
  const warning = (talk: Awaited<ReturnType<typeof talking>>, pattern: RegExp): Promise<string> =>
    talk.hears(`a warning ${String(pattern)}`, (message) =>
      message._tag === "LogMessage" && pattern.test(message.value.message) ? message.value.message : undefined
    )

  it.each([
    ["no session id", { "x-session-id": undefined }, 400, "BadRequest", /header x-session-id is missing/],
    [
      "a session id that is no number",
      { "x-session-id": "0xabc" },
      400,
      "BadRequest",
      /x-session-id is .*0xabc.* decimal/
    ],
    ["a session id of more than 64 bits", { "x-session-id": "18446744073709551616" }, 400, "BadRequest", /below 2\^64/],
    [
      "a user's connect without certificate",
      { "x-client-der": undefined },
      403,
      "Forbidden",
      /bob connects without a user certificate/
    ],
    ["a certificate that is none", { "x-client-der": "AAAA" }, 403, "Forbidden", /certificate/],
    [
      "parameters that are not base64",
      { "x-mirrord-connect-params": "%%%" },
      400,
      "BadRequest",
      /x-mirrord-connect-params .*standard base64/
    ]
  ])("%s: a Status with code and reason", async (_what, change, code, reason, message) => {
    const given = Object.fromEntries(
      Object.entries({ ...headers(newSessionId(), certificates.bob), ...change }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined
      )
    )
    const { body, status } = await refused(bob, connectPath(), given)
    expect(status).toBe(code)
    expect(body).toMatchObject({
      kind: "Status",
      status: "Failure",
      code,
      reason,
      message: expect.stringMatching(message)
    })
  })

  it("a user's connect without certificate at a member, which only a primary may make: 403", async () => {
    const { body, status } = await refused(bobAtMember, connectPath(), { "x-session-id": newSessionId() })
    expect(status).toBe(403)
    expect(body).toMatchObject({
      kind: "Status",
      code: 403,
      reason: "Forbidden",
      message: expect.stringContaining("bob connects without a user certificate")
    })
  })

  it("a target that is none: 400 that names it", async () => {
    const { body, status } = await refused(bob, connectPath("nonsense"), headers(newSessionId(), certificates.bob))
    expect(status).toBe(400)
    expect(body).toMatchObject({ kind: "Status", code: 400, message: expect.stringContaining("nonsense") })
  })

  it("two users with one session id: the second is refused, the first one's session goes on", async () => {
    const first = await talking()
    const { body, status } = await refused(bob, connectPath(), headers(first.id, certificates.bob))
    expect(status).toBe(403)
    expect(body).toMatchObject({
      kind: "Status",
      code: 403,
      reason: "Forbidden",
      message: expect.stringContaining("belongs to another user")
    })
    await pongs(first, 1)
  })

  it("frames without a message are dropped with one warning, and the connection goes on", async () => {
    const talk = await talking()
    // A message that is cut off after its tag, one with an unknown tag, and an empty one.
    for (const bytes of [
      clientMessage.encode({ _tag: "SwitchProtocolVersion", value: "1.29.0" }).slice(0, 2),
      Uint8Array.of(250),
      new Uint8Array()
    ]) {
      talk.socket.send(bytes)
    }
    await warning(talk, /cannot be read and is dropped/)
    await pongs(talk, 1)
    // No kind of message has the tag 201; a drawn one might be a Ping's.
    talk.socket.send(Uint8Array.from({ length: 4096 }, (_, index) => (index * 167 + 201) % 256))
    await pongs(talk, 2)
  })

  it("text frames and WebSocket pings are ignored, and the connection goes on", async () => {
    const talk = await talking()
    talk.socket.send("hello")
    talk.socket.send(JSON.stringify({ Ping: null }))
    talk.socket.ping("are you there")
    await pongs(talk, 1)
  })

  it("a frame beyond the limit ends that connection alone", async () => {
    const talk = await talking()
    talk.socket.send(new Uint8Array(129 * 1024 * 1024))
    await talk.isClosed()
    // An API server calls an operator unavailable that such a message has kept busy for seconds, on a slow machine.
    const again = await eventually("the next connection", () => open(ann, talk.id, certificates.ann))
    again.say({ _tag: "Ping" })
    await again.hears("a pong", (message) => (message._tag === "Pong" ? true : undefined))
  })

  it("garbage in custom resources is refused by the schema or ends as that session's failure", async () => {
    const { primary } = real.playground()
    const admin = apiClient(primary.cluster.kubeconfigPath)
    const member = apiClient(real.cluster("cluster-a").cluster.kubeconfigPath)
    const json = { "content-type": "application/json" }
    const collection = ({
      group,
      plural,
      version
    }: {
      readonly group: string
      readonly plural: string
      readonly version: string
    }): string => `/apis/${group}/${version}/${plural}`
    const parent = (name: string, spec: object): string =>
      JSON.stringify({
        apiVersion: "operator.metalbear.co/v1alpha",
        kind: "MirrordMultiClusterSession",
        metadata: { name },
        spec
      })
    const owner = { userId: "x", username: "x", hostname: "x", k8sUsername: "x" }
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: "myapp", container: "" }

    const invalid = await admin.call(
      "POST",
      collection(mirrordMultiClusterSessions),
      parent("mc-garbage", { clusters: "cluster-a", owner: 7 }),
      json
    )
    expect(invalid.status).toBe(422)

    const garbage = {
      "mc-00000000000000a1": {
        owner,
        namespace: "default",
        targetAlias: "deployment.myapp",
        clusters: ["nowhere"],
        primaryCluster: "primary",
        defaultCluster: "nowhere"
      },
      "mc-00000000000000a2": {
        owner,
        namespace: "default",
        target: { ...target, kind: "Teapot" },
        targetAlias: "\u0000",
        clusters: ["cluster-a"],
        primaryCluster: "elsewhere",
        defaultCluster: "cluster-a"
      },
      "no-session-name": { owner, namespace: "../..", target, targetAlias: "", clusters: [], primaryCluster: "" }
    }
    for (const [name, spec] of Object.entries(garbage)) {
      const made = await admin.call("POST", collection(mirrordMultiClusterSessions), parent(name, spec), json)
      expect(made, name).toMatchObject({ status: 201 })
    }
    for (const name of Object.keys(garbage)) {
      const over = await until(`${name} failed or ended`, () => {
        const found = parents(real.playground()).find(({ metadata }) => metadata.name === name)
        return found === undefined || found.status?.phase === "Failed" ? (found ?? "gone") : undefined
      })
      if (over !== "gone")
        expect(over.status?.closed ?? over.status?.conditions?.map(({ message }) => message).join(" ")).toMatch(
          /\w+ \w+/
        )
    }
    const child = {
      apiVersion: "mirrord.metalbear.co/v1alpha",
      kind: "MirrordClusterSession",
      metadata: { name: "garbage" },
      spec: {
        namespace: "nowhere",
        owner,
        target: { ...target, kind: "Teapot", name: "../x" },
        multiClusterParentName: "mc-\n"
      }
    }
    expect(await member.call("POST", collection(mirrordClusterSessions), JSON.stringify(child), json)).toMatchObject({
      status: 201
    })
    const failed = await until("the garbage child's condition", () => {
      const object = real
        .cluster("cluster-a")
        .cluster.store.get(
          { group: "mirrord.metalbear.co", version: "v1alpha", resource: "mirrordclustersessions" },
          undefined,
          "garbage"
        )
      const { conditions } = (object?.["status"] ?? {}) as {
        readonly conditions?: ReadonlyArray<{
          readonly status: string
          readonly reason: string
          readonly message: string
        }>
      }
      return conditions?.find(({ reason, status }) => status === "False" && reason !== startingReason)
    })
    expect(failed.message).toContain("Teapot")
    // New sessions start as before.
    const talk = await talking()
    expect(parents(real.playground()).find(({ metadata }) => metadata.name === parentOf(talk.id))?.status?.phase).toBe(
      "Ready"
    )
    await pongs(talk, 1)
  })
})
