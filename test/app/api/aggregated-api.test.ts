import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import { type IncomingMessage, request as httpRequest } from "node:http"
import https from "node:https"
import tls from "node:tls"
import { Deferred, Effect, Exit, Latch, Redacted, Scope, Stream } from "effect"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import WebSocket from "ws"
import { type CertificateAuthority, createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { readBundle } from "../../../src/adapters/x509/certificate-bundle.ts"
import { type ApiServerOptions, serveApi } from "../../../src/app/api/aggregated-api.ts"
import type { KnownFrontProxy } from "../../../src/app/api/caller.ts"
import { apiResourceList } from "../../../src/app/api/discovery.ts"
import { type AcceptedConnection, type ConnectRequest, OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import {
  type ServingCertificate,
  type ServingCertificateSource,
  unchanging
} from "../../../src/app/api/served-certificate.ts"
import { type ApiError, badRequest, forbidden, notFound } from "../../../src/app/api/status.ts"
import { CurrentFailingLists } from "../../../src/app/kernel/failing-lists.ts"
import { orderedBy } from "../../../src/domain/copies/copy-order.ts"
import { defaultHeaders } from "../../../src/domain/fleet/credentials/front-proxy.ts"
import { at } from "../../../src/domain/json.ts"
import { maxMessage } from "../../../src/domain/protocol/frame-cutter.ts"
import { servedCluster } from "../../support/fleet.ts"
import { servedSplit } from "../../support/queue-split.ts"
import { upgradeText } from "./running-api.ts"

const root = "/apis/operator.metalbear.co/v1"
const target = `${root}/proxy/namespaces/default/targets/deployment.myapp`
let front: CertificateAuthority
let other: CertificateAuthority
let proxy: KeyPair
let stranger: KeyPair
let impostor: KeyPair
let serving: KeyPair

beforeAll(async () => {
  front = await createAuthority("front", Date.now)
  other = await createAuthority("other", Date.now)
  proxy = await front.issue({ commonName: "front-proxy-client" })
  stranger = await front.issue({ commonName: "somebody" })
  impostor = await other.issue({ commonName: "front-proxy-client" })
  serving = await other.issue({ commonName: "operator", sans: [{ type: "ip", value: "127.0.0.1" }] })
})

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: { readonly [field: string]: unknown }
}

interface Fake {
  problems: ReadonlyArray<string>
  readonly seen: Array<unknown>
  /** Runs before the operator is described. */
  before: Effect.Effect<unknown>
  connect: (request: ConnectRequest) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope>
}

const knownProxy = (certificateAuthority: string, more: Partial<KnownFrontProxy> = {}): KnownFrontProxy => ({
  certificateAuthority,
  authorities: readBundle(certificateAuthority),
  allowedNames: ["front-proxy-client"],
  headers: defaultHeaders,
  ...more
})

/** A source of the front proxy or of the serving certificate, which a test can change. */
const sourceOf = <Known>(first: Known) => {
  const listeners: Array<() => void> = []
  let known = first
  const change = (next: Known): void => {
    known = next
    for (const listener of listeners) listener()
  }
  return { known: () => known, listen: (listener: () => void) => void listeners.push(listener), change }
}
const proxySource = (first: KnownFrontProxy | undefined) => sourceOf(first)
const certificateOf = ({ certPem, keyPem }: KeyPair): ServingCertificate => ({
  certificatePem: certPem,
  keyPem: Redacted.make(keyPem)
})

const closers: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface StartOptions {
  readonly requireFrontProxy?: boolean
  readonly frontProxy?: ReturnType<typeof proxySource>
  readonly certificate?: ServingCertificateSource
  readonly maxLinkSilence?: number
  readonly listenOn?: Pick<ApiServerOptions, "host" | "port" | "fallback">
}

const start = async (options: StartOptions = {}) => {
  const fake: Fake = {
    problems: [],
    seen: [],
    before: Effect.void,
    connect: () => Effect.fail(forbidden("nobody may"))
  }
  const facade: OperatorFacade["Service"] = {
    describe: Effect.as(
      Effect.suspend(() => fake.before),
      { kind: "MirrordOperator", metadata: { name: "operator" } }
    ),
    problems: Effect.sync(() => fake.problems),
    issueCertificate: (csr) =>
      csr.includes("BEGIN CERTIFICATE REQUEST")
        ? Effect.succeed("PEM")
        : Effect.fail(badRequest("spec.csr: it is not PEM.")),
    listSessions: (...which) => Effect.sync(() => (fake.seen.push(["list", ...which]), [{ kind: "Session" }])),
    listClusters: Effect.succeed([servedCluster("a"), servedCluster("b")]),
    cluster: (name) => (name === "a" ? Effect.succeed(servedCluster(name)) : Effect.fail(notFound(`no ${name}`))),
    proxy: () => Effect.fail(forbidden("nobody may")),
    listQueueSplits: (namespace) => Effect.sync(() => (fake.seen.push(["splits", namespace]), [servedSplit()])),
    queueSplit: (namespace, name) =>
      name === "a" ? Effect.succeed(servedSplit()) : Effect.fail(notFound(`no ${name} in ${namespace}`)),
    listTargets: (namespace) => Effect.sync(() => (fake.seen.push(["targets", namespace]), [{ kind: "Target" }])),
    target: (namespace, name) => Effect.sync(() => (fake.seen.push(["target", namespace, name]), { kind: "Target" })),
    portLocks: (namespace, name) => Effect.sync(() => (fake.seen.push(["locks", namespace, name]), { kind: "Target" })),
    watchInterceptions: ({ user }, key) => Effect.succeed(Stream.make(`data: ${user}\n\n`, `data: ${key}\n\n`)),
    usageReport: (which, search) =>
      search.get("format") === "xlsx"
        ? Effect.succeed({ contentType: "application/x-workbook", body: new Uint8Array([0, 255]) })
        : Effect.succeed({ contentType: "text/csv", body: `${which} ${search.get("from")}` }),
    deleteSession: (reference, caller) => {
      if (reference === "boom") return Effect.die(new Error("secret detail"))
      if (reference === "missing") return Effect.fail(notFound("There is no session missing."))
      return Effect.sync(() => void fake.seen.push(["delete", reference, caller.user]))
    },
    deleteSessions: (which, { user }, namespace) =>
      Effect.sync(() => (fake.seen.push(["delete", which, user, ...(namespace === undefined ? [] : [namespace])]), 3)),
    createCopyTarget: ({ caller, certificate, namespace }) =>
      Effect.sync(() => (fake.seen.push(["copy", namespace, caller.user, certificate]), { kind: "CopyTarget" })),
    listCopyTargets: (selection) => Effect.sync(() => (fake.seen.push(["copies", selection]), [])),
    copyTarget: (namespace, name) => Effect.succeed({ metadata: { namespace, name } }),
    takeCredentials: ({ body, caller }) =>
      Effect.sync(() => (fake.seen.push(["values", caller.user, body]), { secret_name: "x" })),
    reviewPod: () => Effect.succeed({ kind: "AdmissionReview" }),
    connect: (request) => Effect.suspend(() => fake.connect(request))
  }
  const scope = Effect.runSync(Scope.make())
  const { port } = await Effect.runPromise(
    serveApi({
      ...(options.listenOn ?? { host: "127.0.0.1", port: 0 }),
      certificate: options.certificate ?? unchanging(certificateOf(serving)),
      frontProxy: options.frontProxy ?? proxySource(knownProxy(front.caPem)),
      requireFrontProxy: options.requireFrontProxy ?? true,
      ...(options.maxLinkSilence === undefined ? {} : { maxLinkSilence: options.maxLinkSilence })
    }).pipe(Effect.provideService(OperatorFacade, facade), Scope.provide(scope))
  )
  const stop = () => Effect.runPromise(Scope.close(scope, Exit.void))
  closers.push(stop)
  const identity = { "X-Remote-User": "dev", "X-Remote-Group": ["a", "b"], "X-Remote-Extra-Team%2Fx": "t" }
  const secure = (client: KeyPair | undefined = proxy) => ({
    host: "127.0.0.1",
    port,
    ca: other.caPem,
    ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem })
  })
  const call = async (
    method: string,
    path: string,
    more: { readonly body?: string; readonly headers?: object; readonly client?: KeyPair | "none" } = {}
  ): Promise<Answer> => {
    const client = more.client === "none" ? undefined : (more.client ?? proxy)
    const { cert: _cert, key: _key, ...plain } = secure()
    const req = https.request({
      ...(client === undefined ? plain : secure(client)),
      method,
      path,
      agent: false,
      headers: { ...identity, ...more.headers }
    })
    req.end(more.body)
    const [res] = (await once(req, "response")) as [IncomingMessage]
    const chunks: Array<Buffer> = []
    for await (const chunk of res) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      body = { text }
    }
    return {
      status: res.statusCode ?? 0,
      headers: res.headers,
      body: typeof body === "object" && body !== null ? (body as Answer["body"]) : { value: body }
    }
  }
  /** An upgrade as raw bytes, so that nothing is added or forgiven. */
  const upgrade = async (
    path: string,
    headers: Readonly<Record<string, string>> = {},
    leaveOut: ReadonlyArray<string> = []
  ) => {
    const socket = tls.connect(secure())
    await once(socket, "secureConnect")
    socket.write(upgradeText(path, headers, leaveOut))
    return socket
  }
  const answerOf = async (socket: tls.TLSSocket): Promise<string> => {
    let text = ""
    for await (const chunk of socket) {
      text += (chunk as Buffer).toString("latin1")
      if (text.startsWith("HTTP/1.1 101") && text.includes("\r\n\r\n")) break
    }
    return text
  }
  const connect = (path = `${target}?connect=true`, headers: Readonly<Record<string, string>> = {}) =>
    new WebSocket(`wss://127.0.0.1:${port}${path}`, ["v4.channel.k8s.io"], {
      ...secure(),
      perMessageDeflate: false,
      headers: { "X-Remote-User": "dev", "x-session-id": "5", ...headers }
    })
  return { fake, port, call, upgrade, answerOf, connect, stop, secure }
}

/** A session that echoes. */
const echo: AcceptedConnection = {
  serve: (client) =>
    Effect.callback<void>((resume) =>
      client.open({
        message: (bytes) => client.send(bytes),
        ended: () => resume(Effect.void),
        drained: () => {},
        ignored: () => {}
      })
    )
}

describe("who is let in", () => {
  it("nobody without the front proxy's certificate, whatever the headers say", async () => {
    const { call } = await start()
    for (const client of ["none", impostor, stranger] as const) {
      const { body, status } = await call("GET", root, { client })
      expect([status, body["kind"], body["code"], body["reason"]]).toEqual([401, "Status", 401, "Unauthorized"])
    }
    expect((await call("GET", root)).status).toBe(200)
  })

  it("the refusal names whose certificate came", async () => {
    const { call } = await start()
    expect((await call("GET", root, { client: stranger })).body["message"]).toContain('"somebody"')
  })

  it("nobody while the front proxy is unknown, whoever vouches for the caller; later the API server", async () => {
    const frontProxy = proxySource(undefined)
    const { call } = await start({ frontProxy })
    expect((await call("GET", root)).status).toBe(401)
    frontProxy.change(knownProxy(front.caPem, { allowedNames: [] }))
    expect((await call("GET", root)).status).toBe(200)
  })

  it(
    "an authority that is exchanged: with both in the bundle both count, then the new one alone, on connections " +
      "that stay open too",
    async () => {
      const frontProxy = proxySource(knownProxy(front.caPem))
      const { call, port, secure } = await start({ frontProxy })
      // Connections that are kept: whether they may is not settled once and for all.
      const keeping = new https.Agent({ keepAlive: true, maxSockets: 1 })
      const ask = async (): Promise<number | undefined> => {
        const req = https.request({
          ...secure(proxy),
          port,
          path: root,
          agent: keeping,
          headers: { "X-Remote-User": "dev" }
        })
        req.end()
        const [res] = (await once(req, "response")) as [IncomingMessage]
        for await (const _ of res);
        return res.statusCode
      }
      expect([await ask(), (await call("GET", root, { client: impostor })).status]).toEqual([200, 401])
      frontProxy.change(knownProxy(`${front.caPem}\n${other.caPem}`))
      expect([await ask(), (await call("GET", root, { client: impostor })).status]).toEqual([200, 200])
      frontProxy.change(knownProxy(other.caPem))
      expect([await ask(), (await call("GET", root, { client: impostor })).status]).toEqual([401, 200])
      keeping.destroy()
    }
  )

  it("a connection that was made under the old authority and was busy when it went is no way in either", async () => {
    const frontProxy = proxySource(knownProxy(front.caPem))
    const { fake, port, secure } = await start({ frontProxy })
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
    const ask = async (): Promise<readonly [number | undefined, boolean]> => {
      const req = https.request({
        ...secure(proxy),
        port,
        path: `${root}/mirrordoperators/operator`,
        agent,
        headers: { "X-Remote-User": "dev" }
      })
      req.end()
      const [res] = (await once(req, "response")) as [IncomingMessage]
      for await (const _ of res);
      return [res.statusCode, req.reusedSocket]
    }
    const [asked, answered] = [Latch.makeUnsafe(false), Latch.makeUnsafe(false)]
    fake.before = Effect.andThen(asked.open, answered.await)
    const first = ask()
    await Effect.runPromise(asked.await)
    frontProxy.change(knownProxy(other.caPem))
    await Effect.runPromise(answered.open)
    expect(await first).toEqual([200, false])
    expect(await ask()).toEqual([401, true])
    expect(await ask()).toEqual([401, false])
    agent.destroy()
  })

  it("whom the headers name that the cluster's configuration names, and no others", async () => {
    const headers = {
      user: ["x-our-user", "x-old-user"],
      uid: ["x-our-uid"],
      groups: ["x-our-group"],
      extraPrefixes: ["x-our-extra-"]
    }
    const { call, fake } = await start({ frontProxy: proxySource(knownProxy(front.caPem, { headers })) })
    expect((await call("DELETE", `${root}/sessions/5`)).status).toBe(401)
    expect((await call("DELETE", `${root}/sessions/5`, { headers: { "X-Our-User": "ann" } })).status).toBe(200)
    expect((await call("DELETE", `${root}/sessions/5`, { headers: { "X-Old-User": "bob" } })).status).toBe(200)
    expect(fake.seen).toEqual([
      ["delete", "5", "ann"],
      ["delete", "5", "bob"]
    ])
  })

  it("nobody without a user's name; anybody where the installation asks for no certificate", async () => {
    const strict = await start()
    expect((await strict.call("GET", root, { headers: { "X-Remote-User": "" } })).status).toBe(401)
    const open = await start({ requireFrontProxy: false })
    expect((await open.call("GET", root, { client: "none" })).status).toBe(200)
    expect((await open.call("GET", root, { client: "none", headers: { "X-Remote-Extra-%zz": "1" } })).status).toBe(200)
  })

  it("an upgrade is held to the same", async () => {
    const { fake, secure } = await start()
    fake.connect = () => Effect.succeed(echo)
    for (const client of [undefined, impostor, stranger]) {
      const { cert: _cert, key: _key, ...plain } = secure()
      const { port, ...tlsOptions } = client === undefined ? plain : secure(client)
      const socket = new WebSocket(`wss://127.0.0.1:${port}${target}`, ["v4.channel.k8s.io"], {
        ...tlsOptions,
        headers: { "X-Remote-User": "system:admin", "x-session-id": "5" }
      })
      socket.on("error", () => {})
      const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage]
      expect(response.statusCode).toBe(401)
      socket.terminate()
    }
  })

  it("health asks for nothing; readiness says what is missing", async () => {
    const { call, fake } = await start()
    for (const path of ["/health", "/livez", "/readyz/serving"])
      expect(await call("GET", path, { client: "none" })).toMatchObject({ status: 200, body: { text: "ok" } })
    expect((await call("GET", "/readyz", { client: "none" })).status).toBe(200)
    fake.problems = ["No cluster is configured."]
    expect(await call("GET", "/readyz", { client: "none" })).toMatchObject({
      status: 500,
      body: { text: "No cluster is configured.\n" }
    })
    // A collection that cannot be read is told, and keeps nobody from being served.
    const lists = await Effect.runPromise(CurrentFailingLists)
    const list = { cluster: "a", resource: "things", failing: { why: "no", since: -1e6 } }
    lists.add(list)
    const sentence = "The things of cluster a cannot be listed and watched, so changes are seen late or never: no."
    expect((await call("GET", "/readyz", { client: "none" })).body.text).toBe(
      `No cluster is configured.\n${sentence}\n`
    )
    fake.problems = []
    expect(await call("GET", "/readyz", { client: "none" })).toMatchObject({
      status: 200,
      body: { text: `ok, but: ${sentence}\n` }
    })
    lists.remove(list)
    fake.problems = ["No cluster is configured."]
    // It goes on telling users so itself.
    for (const path of ["/livez", "/readyz/serving"])
      expect((await call("GET", path, { client: "none" })).status).toBe(200)
  })
})

describe("a renewed serving certificate", () => {
  it("is shown to whoever connects from then on, of another authority too; sessions that stand stay", async () => {
    const certificate = sourceOf(certificateOf(serving))
    const { connect, fake, port } = await start({ certificate })
    const shown = async (): Promise<string> => {
      const socket = tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false })
      await once(socket, "secureConnect")
      const { fingerprint256 } = socket.getPeerCertificate()
      socket.destroy()
      return fingerprint256
    }
    const fingerprint = ({ certPem }: KeyPair): string => new X509Certificate(certPem).fingerprint256
    fake.connect = () => Effect.succeed(echo)
    const session = connect()
    await once(session, "open")
    expect(await shown()).toBe(fingerprint(serving))
    const renewed = await front.issue({ commonName: "operator", sans: [{ type: "ip", value: "127.0.0.1" }] })
    certificate.change(certificateOf(renewed))
    expect(await shown()).toBe(fingerprint(renewed))
    session.send(Buffer.from("still here"))
    expect(String((await once(session, "message"))[0])).toBe("still here")
    session.terminate()
  })
})

describe("where it listens", () => {
  // RFC 5737: for documentation, so no machine has it. Without IPv6, [::] is refused in the same way.
  const absent = { host: "192.0.2.1", port: 0 }

  it("at the fallback where the first address is not there", async () => {
    const { call } = await start({ listenOn: { ...absent, fallback: { host: "127.0.0.1", port: 0 } } })
    expect((await call("GET", root)).status).toBe(200)
  })

  it("nowhere without a fallback, with one that is not there either, or where the port is taken", async () => {
    await expect(start({ listenOn: absent })).rejects.toThrow("EADDRNOTAVAIL")
    await expect(start({ listenOn: { ...absent, fallback: absent } })).rejects.toThrow("EADDRNOTAVAIL")
    const { port } = await start()
    await expect(
      start({ listenOn: { host: "127.0.0.1", port, fallback: { host: "127.0.0.1", port: 0 } } })
    ).rejects.toThrow("EADDRINUSE")
  })
})

describe("requests", () => {
  it("events are a stream, of the caller, for the key that is asked for", async () => {
    const { call } = await start()
    const events = await call("GET", `${root}/events?watch=true&session_key=a+b%26c`)
    expect(events).toMatchObject({ status: 200, body: { text: "data: dev\n\ndata: a b&c\n\n" } })
    const all = await call("GET", `${root}/events?session_key=&watch=true`)
    expect(all).toMatchObject({ body: { text: "data: dev\n\ndata: undefined\n\n" } })
    for (const path of ["events", "events?watch=false&session_key=k"])
      expect(await call("GET", `${root}/${path}`)).toMatchObject({
        status: 400,
        body: { message: "Events are served as a stream alone: ask for them with watch=true." }
      })
  })

  it("reports on use are texts or bytes, by what they say they are", async () => {
    const { call } = await start()
    const reports = `${root}/mirrordoperators/operator/reports`
    const whole = await call("GET", `${reports}/usage?format=csv&from=2026-11-01`)
    expect(whole).toMatchObject({ status: 200, body: { text: "usage 2026-11-01" } })
    expect(await call("GET", `${reports}/usage/trends?from=x`)).toMatchObject({ body: { text: "trends x" } })
    expect(await call("GET", `${reports}/clusters?from=x`)).toMatchObject({ body: { text: "clusters x" } })
    expect(await call("GET", `${reports}/usage?format=xlsx`)).toMatchObject({ status: 200 })
    expect(await call("GET", `${reports}/usage`, { client: "none" })).toMatchObject({ status: 401 })
  })

  it("discovery lists only what is served, as the deletion of a namespace needs it", async () => {
    const { call } = await start()
    expect(await call("GET", "/apis/operator.metalbear.co")).toMatchObject({ status: 200, body: { kind: "APIGroup" } })
    expect((await call("GET", root)).body).toEqual(apiResourceList)
    const methods: Readonly<Record<string, string>> = { create: "POST", delete: "DELETE", deletecollection: "DELETE" }
    const asked = apiResourceList.resources.flatMap(({ name, namespaced, verbs }) =>
      verbs.flatMap((verb) => {
        // Upgrades, which other tests ask for.
        if (verb === "proxy" || name === "mirrordoperators/ping") return []
        const [resource = "", subresource] = name.split("/")
        const isOne = verb === "get" || verb === "delete" || subresource !== undefined
        const place = `${namespaced ? "/namespaces/shop" : ""}/${resource}${isOne ? "/operator" : ""}`
        return [[methods[verb] ?? "GET", `${place}${subresource === undefined ? "" : `/${subresource}`}`] as const]
      })
    )
    for (const [method, path] of asked) {
      const { body } = await call(method, `${root}${path}`)
      expect
        .soft([method, path, body["message"]])
        .not.toEqual([method, path, expect.stringContaining("does not serve")])
    }
  })

  it("the operator's object, alone and in a list", async () => {
    const { call } = await start()
    expect((await call("GET", `${root}/mirrordoperators/operator`)).body["kind"]).toBe("MirrordOperator")
    expect((await call("GET", `${root}/mirrordoperators`)).body).toMatchObject({
      kind: "MirrordOperatorList",
      items: [{ kind: "MirrordOperator" }]
    })
  })

  const csr = "-----BEGIN CERTIFICATE REQUEST-----\r\nAA==\r\n-----END CERTIFICATE REQUEST-----\r\n"
  it("certificates in the new flow: the object comes back with its status", async () => {
    const { call } = await start()
    const object = {
      apiVersion: "operator.metalbear.co/v1",
      kind: "MirrordClusterOperatorUserCredential",
      metadata: { generateName: "x-" },
      spec: { csr, kind: "regular" }
    }
    const { body, status } = await call("POST", `${root}/mirrordclusteroperatorusercredentials`, {
      body: JSON.stringify(object)
    })
    expect([status, body]).toEqual([201, { ...object, status: { certificate: "PEM" } }])
  })

  it.each([
    ["raw PEM", csr],
    ["a JSON string", JSON.stringify(csr)]
  ])("certificates in the legacy flow from %s: a JSON string comes back", async (_what, body) => {
    const { call } = await start()
    expect(
      (
        await call("POST", `${root}/mirrordoperators/operator/certificate`, {
          body,
          headers: { "content-type": "application/json" }
        })
      ).body
    ).toEqual({ value: "PEM" })
  })

  it.each([
    ["no JSON", "mirrordclusteroperatorusercredentials", "{", /not JSON/],
    ["no object", "mirrordclusteroperatorusercredentials", "[]", /spec\.csr/],
    ["null", "mirrordclusteroperatorusercredentials", "null", /spec\.csr/],
    ["a number as csr", "mirrordclusteroperatorusercredentials", '{"spec":{"csr":5}}', /spec\.csr/],
    ["a csr that is none", "mirrordclusteroperatorusercredentials", '{"spec":{"csr":"hello"}}', /spec\.csr/],
    ["an open string", "mirrordoperators/operator/certificate", '"abc', /not JSON/],
    ["nothing", "mirrordoperators/operator/certificate", "", /csr/]
  ])("%s is a bad request with a Status that names the field", async (_what, path, body, message) => {
    const { call } = await start()
    const answer = await call("POST", `${root}/${path}`, { body })
    expect(answer).toMatchObject({
      status: 400,
      body: {
        kind: "Status",
        status: "Failure",
        code: 400,
        reason: "BadRequest",
        message: expect.stringMatching(message)
      }
    })
  })

  it("sessions are listed, deleted one by one in every form of their id, all at once, or if inactive", async () => {
    const { call, fake } = await start()
    expect((await call("GET", `${root}/namespaces/shop/sessions`)).body["items"]).toHaveLength(1)
    const selected = String.raw`${root}/sessions?fieldSelector=spec.session.key%3Da\,b`
    expect((await call("GET", selected)).body["items"]).toHaveLength(1)
    expect((await call("GET", `${root}/sessions?fieldSelector=spec.user%3Da`)).body).toMatchObject({
      code: 400,
      message: 'The field selector is "spec.user=a"; sessions are selected by spec.session.key=KEY alone.'
    })
    expect((await call("DELETE", `${root}/sessions/4DBE`)).body).toMatchObject({ kind: "Status", status: "Success" })
    expect((await call("DELETE", `${root}/namespaces/shop/sessions/mc-1?x=1`)).status).toBe(200)
    expect((await call("DELETE", `${root}/sessions`)).status).toBe(200)
    expect((await call("DELETE", `${root}/namespaces/shop/sessions`)).status).toBe(200)
    for (const selector of ["labelSelector=a%3Db", "fieldSelector=spec.session.key%3Da"])
      expect((await call("DELETE", `${root}/namespaces/shop/sessions?${selector}`)).body).toMatchObject({
        code: 400,
        message: expect.stringContaining("all together or one by one")
      })
    expect((await call("DELETE", `${root}/sessions/inactive?`)).body).toMatchObject({
      kind: "Status",
      status: "Success",
      message: "3 sessions are being stopped."
    })
    expect(fake.seen).toEqual([
      ["list", "shop", undefined],
      ["list", undefined, "a,b"],
      ["delete", "4DBE", "dev"],
      ["delete", "mc-1", "dev"],
      ["delete", "All", "dev"],
      ["delete", "All", "dev", "shop"],
      ["delete", "Inactive", "dev"]
    ])
    expect((await call("DELETE", `${root}/sessions/missing`)).body).toMatchObject({
      kind: "Status",
      code: 404,
      reason: "NotFound"
    })
  })

  it.each(["%25", "%25zz", "%zz", "a%2Fb"])("the id %s does no harm", async (id) => {
    const { call } = await start()
    const { body, status } = await call("DELETE", `${root}/sessions/${id}`)
    expect(status).toBeLessThan(500)
    expect(body["kind"]).toBe("Status")
  })

  it("a caller's own text comes back clean and short, as HTTP and from an upgrade", async () => {
    const { answerOf, call, fake, upgrade } = await start()
    fake.connect = (request) => Effect.fail(forbidden(`Target ${request.target} is not there.`))
    const nasty = encodeURIComponent("\u001b[2J\u202e\r\n")
    const stopped = await call("DELETE", `${root}/sessions/${nasty}`)
    const unknown = await call("GET", `/${"x".repeat(5_000)}`)
    const socket = await upgrade(target.replace(/[^/]+$/u, `${nasty}${"x".repeat(5_000)}`))
    const [, body = ""] = Buffer.from(await answerOf(socket), "latin1")
      .toString("utf8")
      .split("\r\n\r\n")
    const refused = JSON.parse(body) as { readonly message: string }
    socket.destroy()
    const cleaned = "\ufffd[2J\ufffd  "
    expect(stopped.body["message"]).toBe(`Session ${cleaned} is being stopped.`)
    expect(refused.message.startsWith(`Target ${cleaned}xxx`)).toBe(true)
    for (const { message } of [unknown.body, refused]) expect(message).toHaveLength(1_024)
  })

  it("what fails inside is a Status of 500 that gives nothing away", async () => {
    const { call } = await start()
    const { body, status } = await call("DELETE", `${root}/sessions/boom`)
    expect([status, body["kind"], body["code"], body["reason"]]).toEqual([500, "Status", 500, "InternalError"])
    expect(JSON.stringify(body)).not.toContain("secret detail")
  })

  it.each([
    ["GET", "/"],
    ["GET", `${root}/nothing`],
    ["PUT", `${root}/sessions/5`],
    ["GET", "/openapi/v2"],
    ["GET", target],
    // kube-apiserver has authorised a subresource here, and the router would take the object.
    ["GET", `${root}/mirrordoperators/operator;/reports`],
    ["GET", `${root}/mirrordoperators/operator#/reports`],
    ["POST", `${root}/mirrordoperators`]
  ])("%s %s is a 404 with a Status", async (method, path) => {
    const { call } = await start()
    const { body, headers, status } = await call(method, path)
    expect([status, body["kind"], body["reason"], body["status"]]).toEqual([404, "Status", "NotFound", "Failure"])
    expect(headers["content-type"]).toContain("application/json")
  })

  it("list clusters and read one, as objects and as the table of kubectl", async () => {
    const { call } = await start()
    const path = `${root}/mirrordclusters`
    const { body: list } = await call("GET", path)
    expect(list).toMatchObject({ kind: "MirrordClusterList", items: [servedCluster("a"), servedCluster("b")] })
    expect((await call("GET", `${path}/a`)).body).toEqual(servedCluster("a"))
    expect((await call("GET", `${path}/c`)).status).toBe(404)
    const headers = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }
    const rows = async (from: string) => at((await call("GET", from, { headers })).body, "rows")
    expect(await rows(path)).toMatchObject([
      { cells: expect.arrayContaining(["a", "True"]) },
      { cells: expect.anything() }
    ])
    expect(await rows(`${path}/a?includeObject=Object`)).toMatchObject([{ object: servedCluster("a") }])
  })

  it("list splits of queues and read one, as objects and as the table of kubectl", async () => {
    const { call, fake } = await start()
    const [split, path] = [servedSplit(), `${root}/namespaces/shop/queuesplits`]
    for (const from of [`${root}/queuesplits?`, `${path}?`])
      expect((await call("GET", from)).body).toMatchObject({ kind: "QueueSplitList", items: [split] })
    expect(fake.seen).toEqual([
      ["splits", undefined],
      ["splits", "shop"]
    ])
    expect((await call("GET", `${path}/a`)).body).toEqual(split)
    expect((await call("GET", `${path}/b`)).body).toMatchObject({ reason: "NotFound", message: "no b in shop" })
    const headers = { Accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json" }
    const table = (await call("GET", `${path}/a`, { headers })).body
    expect(at(table, "rows")).toMatchObject([{ cells: expect.arrayContaining(["Deployment/consumer", "Ready"]) }])
  })

  it("list targets, and read one", async () => {
    const { call, fake } = await start()
    const list = { apiVersion: "operator.metalbear.co/v1", kind: "TargetList", metadata: { resourceVersion: "0" } }
    for (const path of [`${root}/targets`, `${root}/namespaces/my-ns/targets?`])
      expect((await call("GET", path)).body).toEqual({ ...list, items: [{ kind: "Target" }] })
    expect((await call("GET", `${root}/namespaces/my-ns/targets/deploy.a`)).body).toEqual({ kind: "Target" })
    expect(fake.seen).toEqual([
      ["targets", undefined],
      ["targets", "my-ns"],
      ["target", "my-ns", "deploy.a"]
    ])
  })

  it("read the locked ports of a target", async () => {
    const { call, fake } = await start()
    const { body, status } = await call("GET", `${root}/namespaces/my-ns/targets/deploy.a/port-locks`)
    expect([status, body]).toEqual([200, { kind: "Target" }])
    expect(fake.seen).toEqual([["locks", "my-ns", "deploy.a"]])
  })

  it("bring values for a database branch, which no path tells", async () => {
    const { call, fake } = await start()
    const body = JSON.stringify({ namespace: "my-ns", branch_id: "b", values: { A: "1" } })
    const made = await call("POST", `${root}/branchcredentials?`, { body })
    expect([made.status, made.body]).toEqual([201, { secret_name: "x" }])
    expect(fake.seen).toEqual([["values", "dev", JSON.parse(body)]])
    expect((await call("GET", `${root}/branchcredentials`)).status).toBe(404)
    const broken = await call("POST", `${root}/branchcredentials`, { body: '{"values":{"A":"s3cret"' })
    expect([broken.status, JSON.stringify(broken.body).includes("s3cret")]).toEqual([400, false])
  })

  it("make, list and read copy targets", async () => {
    const { call, fake } = await start()
    const path = `${root}/namespaces/my-ns/copytargets`
    const headers = { "X-Client-Der": "AAAA, AAAA" }
    const made = await call("POST", `${path}?`, { headers, body: JSON.stringify({ spec: {} }) })
    expect([made.status, made.body]).toEqual([201, { kind: "CopyTarget" }])
    expect((await call("GET", path)).body).toMatchObject({ kind: "CopyTargetList", items: [] })
    expect((await call("GET", `${root}/copytargets`)).status).toBe(200)
    const selector = `labelSelector=${encodeURIComponent(orderedBy("primary"))}`
    const ordered = await call("GET", `${path}?${selector}&fieldSelector=metadata.name%3Dx`)
    expect(ordered.body["metadata"], "the primary's reader of lists wants a version").toEqual({ resourceVersion: "0" })
    await call("GET", `${path}?labelSelector=app%3Dmyapp&fieldSelector=metadata.name%3Dx`)
    expect((await call("GET", `${path}/x`)).body).toEqual({ metadata: { namespace: "my-ns", name: "x" } })
    expect((await call("POST", path, { body: "{" })).status).toBe(400)
    expect(fake.seen).toEqual([
      ["copy", "my-ns", "dev", "AAAA"],
      ["copies", { namespace: "my-ns" }],
      ["copies", { namespace: undefined }],
      ["copies", { namespace: "my-ns", primary: "primary", name: "x" }],
      ["copies", { namespace: "my-ns" }]
    ])
  })
})

describe("an upgrade", () => {
  it("is answered exactly as the real client demands", async () => {
    const { answerOf, fake, upgrade } = await start()
    fake.connect = () => Effect.succeed(echo)
    const socket = await upgrade(`${target}?connect=true`)
    const lines = (await answerOf(socket)).split("\r\n")
    expect(lines[0]).toBe("HTTP/1.1 101 Switching Protocols")
    expect(lines).toContain("Connection: Upgrade")
    expect(lines).toContain("Upgrade: websocket")
    expect(lines).toContain("Sec-WebSocket-Protocol: v4.channel.k8s.io")
    expect(lines).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    expect(lines.some((line) => line.startsWith("Sec-WebSocket-Extensions"))).toBe(false)
    socket.destroy()
  })

  it("is accepted without the compression that its client offers", async () => {
    const { answerOf, fake, upgrade } = await start()
    fake.connect = () => Effect.succeed(echo)
    const offered = { "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits" }
    const socket = await upgrade(target, offered)
    const head = await answerOf(socket)
    expect(head).toMatch(/^HTTP\/1\.1 101 /)
    expect(head.toLowerCase()).not.toContain("sec-websocket-extensions")
    socket.destroy()
  })

  it("is read whole: namespace, target, parameters from header or query, who asks", async () => {
    const { answerOf, fake, upgrade } = await start()
    const seen: Array<ConnectRequest> = []
    fake.connect = (request) => {
      seen.push(request)
      return Effect.fail(forbidden("no"))
    }
    const query = "connect=true&key=a+b&branch_name=%C3%BC"
    await answerOf(
      await upgrade(`${root}/proxy/namespaces/my-ns/targets/deployment.a%2Fb?${query}`, {
        "X-Client-Der": "AAAA, AAAA",
        "x-mirrord-cli-version": "3.250.0",
        "x-client-name": "Jo, Do"
      })
    )
    await answerOf(
      await upgrade(`${root}/namespaces/my-ns/targets/targetless?connect=true`, {
        "x-mirrord-connect-params": Buffer.from(query).toString("base64"),
        "x-braid-term": "3",
        traceparent: "00-a-b-01"
      })
    )
    expect(seen[0]).toEqual({
      caller: { user: "dev", groups: [], extra: {} },
      checked: "proxy",
      namespace: "my-ns",
      target: "deployment.a/b",
      sessionId: "5",
      certificate: "AAAA",
      clientVersion: "3.250.0",
      clientName: "Jo, Do",
      clientHostname: undefined,
      query
    })
    expect(seen[1]).toMatchObject({ target: "targetless", query, term: "3", traceparent: "00-a-b-01" })
    await answerOf(await upgrade(`${root}/proxy/namespaces/my-ns/copytargets/mirrord-copy-x?${query}`))
    expect(seen[2]).toMatchObject({ isCopy: true, checked: "proxy", namespace: "my-ns", target: "mirrord-copy-x" })
  })

  it("is refused with a Status of the right length, and the connection ends", async () => {
    const { answerOf, fake, upgrade } = await start()
    fake.connect = () => Effect.fail(notFound("There is no Ünding."))
    const text = await answerOf(await upgrade(target))
    const [head = "", body = ""] = text.split("\r\n\r\n")
    expect(head).toMatch(/^HTTP\/1\.1 404 /)
    expect(Number(/Content-Length: (\d+)/.exec(head)?.[1])).toBe(Buffer.byteLength(body, "latin1"))
    expect(JSON.parse(Buffer.from(body, "latin1").toString())).toMatchObject({
      kind: "Status",
      code: 404,
      reason: "NotFound",
      message: "There is no Ünding."
    })
  })

  const neverPrepared = (fake: Fake) => {
    fake.connect = () => {
      fake.seen.push("connect")
      return Effect.succeed(echo)
    }
  }
  it.each([
    ["an unknown path", `${root}/namespaces/a/pods/b`, {}, [], 404],
    ["a path with a bad escape", `${root}/proxy/namespaces/a/targets/%zz`, {}, [], 400],
    ["the path //", "//", {}, [], 404],
    ["parameters that are not base64", target, { "x-mirrord-connect-params": "$$$" }, [], 400],
    ["no key", target, {}, ["Sec-WebSocket-Key"], 400],
    ["a bad key", target, { "Sec-WebSocket-Key": "abc" }, [], 400],
    ["an old version", target, { "Sec-WebSocket-Version": "8" }, [], 400],
    ["no subprotocol", target, {}, ["Sec-WebSocket-Protocol"], 400],
    ["another subprotocol", target, { "Sec-WebSocket-Protocol": "v5.channel.k8s.io" }, [], 400],
    ...[
      "v4.channel.k8s.io, v4.channel.k8s.io",
      "v4.channel.k8s.io,",
      ", v4.channel.k8s.io",
      "v4.channel.k8s.io, a b"
    ].map((offer) => [`the subprotocols "${offer}"`, target, { "Sec-WebSocket-Protocol": offer }, [], 400] as const),
    ["another protocol", target, { Upgrade: "h2c" }, [], 400]
  ] as const)("with %s is refused before anything is prepared", async (_what, path, headers, leaveOut, code) => {
    const { answerOf, fake, upgrade } = await start()
    neverPrepared(fake)
    const text = await answerOf(await upgrade(path, headers, leaveOut))
    expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `))
    expect(JSON.parse(text.split("\r\n\r\n")[1] ?? "")).toMatchObject({ kind: "Status", code })
    expect(fake.seen).toEqual([])
  })

  it("takes large parameters in a header", async () => {
    const { answerOf, fake, upgrade } = await start()
    let length = 0
    fake.connect = ({ query }) => {
      length = query.length
      return Effect.fail(forbidden("no"))
    }
    await answerOf(await upgrade(target, { "x-mirrord-connect-params": Buffer.alloc(300_000, "a").toString("base64") }))
    expect(length).toBe(300_000)
  })

  it("is held until the session is usable, then carries messages both ways", async () => {
    const { connect, fake } = await start()
    const gate = Effect.runSync(Latch.make(false))
    const asked = Effect.runSync(Deferred.make<void>())
    fake.connect = () => Effect.andThen(Deferred.succeed(asked, undefined), () => Effect.as(gate.await, echo))
    const socket = connect()
    await Effect.runPromise(Deferred.await(asked))
    expect(socket.readyState).toBe(socket.CONNECTING)
    gate.openUnsafe()
    await once(socket, "open")
    socket.send(Buffer.from("hello"))
    const [data, isBinary] = (await once(socket, "message")) as [Buffer, boolean]
    expect([data.toString(), isBinary]).toEqual(["hello", true])
    socket.terminate()
  })

  it.each([
    ["resets", (socket: tls.TLSSocket) => socket.destroy()],
    ["closes its side", (socket: tls.TLSSocket) => socket.end()]
  ] as const)("whose client %s while it is held interrupts what was being prepared", async (_what, leave) => {
    const { fake, upgrade } = await start()
    const asked = Effect.runSync(Deferred.make<void>())
    const interrupted = Effect.runSync(Deferred.make<void>())
    const released = Effect.runSync(Deferred.make<void>())
    fake.connect = () =>
      Effect.acquireRelease(Deferred.succeed(asked, undefined), () => Deferred.succeed(released, undefined)).pipe(
        Effect.andThen(Effect.never),
        Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
      )
    const socket = await upgrade(target)
    await Effect.runPromise(Deferred.await(asked))
    leave(socket)
    await Effect.runPromise(Effect.andThen(Deferred.await(interrupted), () => Deferred.await(released)))
  })

  it("whose client left just when the session became usable releases it", async () => {
    const { fake, upgrade } = await start()
    const released = Effect.runSync(Deferred.make<void>())
    let socket: tls.TLSSocket | undefined
    fake.connect = () =>
      Effect.acquireRelease(Effect.void, () => Deferred.succeed(released, undefined)).pipe(
        Effect.andThen(Effect.sync(() => socket?.destroy())),
        Effect.as(echo)
      )
    socket = await upgrade(target)
    await Effect.runPromise(Deferred.await(released))
  })

  it("that fails inside is a 500 with a Status before 101, and only an end after it", async () => {
    const { answerOf, connect, fake, upgrade } = await start()
    fake.connect = () => Effect.die(new Error("secret detail"))
    const text = await answerOf(await upgrade(target))
    expect(text).toMatch(/^HTTP\/1\.1 500 /)
    expect(text).not.toContain("secret detail")
    fake.connect = () => Effect.succeed({ serve: () => Effect.die(new Error("bug")) })
    const socket = connect()
    const errors: Array<unknown> = []
    socket.on("error", (error) => errors.push(error))
    const [code] = (await once(socket, "close")) as [number]
    expect([code, errors]).toEqual([1000, []])
  })

  it("of a primary ends when its pings stop; without any pings, or of a user, it stays", async () => {
    const { connect, fake } = await start({ maxLinkSilence: 40 })
    const ended: Array<string> = []
    fake.connect = ({ clientName }) =>
      Effect.succeed({
        serve: (client) =>
          Effect.callback<void>((resume) =>
            client.open({
              message: (bytes) => client.send(bytes),
              ended: (reason) => {
                ended.push(`${clientName}: ${reason}`)
                resume(Effect.void)
              },
              drained: () => {},
              ignored: () => {}
            })
          )
      })
    const open = async (name: string, headers: Readonly<Record<string, string>> = {}) => {
      const socket = connect(undefined, { "x-client-name": name, ...headers })
      await once(socket, "open")
      return socket
    }
    const [never, user, silent] = [
      await open("never"),
      await open("user", { "x-client-der": "AAAA" }),
      await open("silent")
    ]
    user.ping()
    silent.ping()
    const [code] = (await once(silent, "close")) as [number]
    expect([code, ended]).toEqual([1006, ["silent: no ping and no message for 0 s"]])
    for (const socket of [never, user]) {
      socket.send(Buffer.from("still here"))
      await once(socket, "message")
      socket.terminate()
    }
  })

  it("an oversized message ends only its own socket", async () => {
    const { connect, fake } = await start()
    fake.connect = () => Effect.succeed(echo)
    const [bad, good] = [connect(), connect()]
    await Promise.all([once(bad, "open"), once(good, "open")])
    bad.on("error", () => {})
    // Only the frame's header: the length alone is refused.
    const raw = (bad as unknown as { readonly _socket: tls.TLSSocket })._socket
    const header = Buffer.alloc(14)
    header[0] = 0x82
    header[1] = 0xff
    header.writeBigUInt64BE(BigInt(maxMessage) + 1n, 2)
    raw.write(header)
    await once(bad, "close")
    good.send(Buffer.from("still here"))
    expect(String(((await once(good, "message")) as [Buffer])[0])).toBe("still here")
    good.terminate()
  })
})

describe("the end of the server", () => {
  it("closes sessions, refuses what is held, and frees the port", async () => {
    const { answerOf, connect, fake, port, stop, upgrade } = await start()
    fake.connect = () => Effect.succeed(echo)
    const socket = connect()
    await once(socket, "open")
    const asked = Effect.runSync(Deferred.make<void>())
    fake.connect = () => Effect.andThen(Deferred.succeed(asked, undefined), () => Effect.never)
    const held = await upgrade(target)
    await Effect.runPromise(Deferred.await(asked))
    const closed = once(socket, "close")
    const answer = answerOf(held)
    await stop()
    await closed
    expect(await answer).toMatch(/^HTTP\/1\.1 500 .*"message":"The operator is stopping\."/s)
    const again = httpRequest({ host: "127.0.0.1", port })
    again.end()
    const [error] = (await once(again, "error")) as [NodeJS.ErrnoException]
    expect(error.code).toBe("ECONNREFUSED")
  })
})
