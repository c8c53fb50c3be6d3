import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import https from "node:https"
import { Effect, Redacted } from "effect"
import { beforeAll, expect, it } from "vitest"
import WebSocket, { type ClientOptions } from "ws"
import { type CertificateAuthority, createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { serveApi } from "../../../src/app/api/aggregated-api.ts"
import { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { unchanging } from "../../../src/app/api/served-certificate.ts"
import { forbidden, notFound } from "../../../src/app/api/status.ts"
import { watchFrontProxy } from "../../../src/app/certificates/front-proxy.ts"
import type { Caller } from "../../../src/domain/fleet/credentials/front-proxy.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { type Answer, ApiClient } from "../../lab/cluster/api-client.ts"
import { idleFacade } from "../../support/idle-facade.ts"
import { untilTrue } from "../../support/until-true.ts"
import {
  type AggregatingCluster,
  operatorRights,
  operatorService,
  registration,
  type StartCluster,
  suiteCluster
} from "./aggregating-cluster.ts"

const root = "/apis/operator.metalbear.co/v1"
const target = `${root}/proxy/namespaces/default/targets/deployment.myapp?connect=true`
const authentication = "extension-apiserver-authentication"

/** The operator, and developers, who may use it. */
const rights = `${operatorRights}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: users }
rules:
- { apiGroups: [operator.metalbear.co], resources: [sessions], verbs: [delete] }
- { apiGroups: [operator.metalbear.co], resources: [targets], verbs: [proxy] }
- { apiGroups: [operator.metalbear.co], resources: [mirrordclusteroperatorusercredentials], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: users }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: users }
subjects:
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: developers }
- { kind: ServiceAccount, name: mirrord-operator, namespace: mirrord }
`

/**
 * Whom the operator takes a request to be from: what the aggregation layer says, and nobody else. On any API server.
 */
export const frontProxySuite = (startCluster: StartCluster): void => {
  const { apiWith, run, start } = suiteCluster(startCluster)
  let cluster: AggregatingCluster
  let port: number
  let admin: KubeApi
  let ours: CertificateAuthority
  let stranger: CertificateAuthority
  const seen: Array<Caller> = []

  beforeAll(async () => {
    cluster = await start()
    ours = await createAuthority("ours", Date.now)
    stranger = await createAuthority("stranger", Date.now)
    admin = await apiWith(cluster, cluster.admin)
    const facade: OperatorFacade["Service"] = {
      ...idleFacade,
      deleteSession: (_reference, caller) =>
        Effect.flatMap(
          Effect.sync(() => seen.push(caller)),
          () => Effect.fail(notFound("There is no session."))
        ),
      connect: ({ caller }) =>
        Effect.flatMap(
          Effect.sync(() => seen.push(caller)),
          () => Effect.fail(forbidden("not today"))
        )
    }
    await cluster.apply(rights)
    const operator = await apiWith(cluster, { token: await cluster.tokenOf("mirrord", "mirrord-operator") })
    const serving = await ours.issue({ commonName: "mirrord-operator" })
    const served = await run(
      Effect.gen(function* () {
        const frontProxy = yield* watchFrontProxy(operator)
        const certificate = unchanging({ certificatePem: serving.certPem, keyPem: Redacted.make(serving.keyPem) })
        return yield* serveApi({ host: "127.0.0.1", port: 0, certificate, frontProxy, requireFrontProxy: true })
      }).pipe(Effect.provideService(OperatorFacade, facade))
    )
    port = served.port
    await cluster.apply(`${operatorService(port)}${registration(port, true)}`)
  })

  const as = async (user: string, groups: ReadonlyArray<string>): Promise<ApiClient> =>
    new ApiClient(cluster.server, cluster.caPem, await cluster.credentialsFor(user, groups))
  /** Deletes a session through the API server until the operator answers, and returns whom it saw. */
  const through = async (client: ApiClient, headers: Record<string, string> = {}): Promise<Partial<Caller>> => {
    await untilTrue("the operator's answer", async () => {
      const answer = await client.call("DELETE", `${root}/sessions/5`, { headers })
      return answer.code === 404 && answer.body["message"] === "There is no session."
    })
    const { from, ...caller } = seen.at(-1) ?? {}
    // The API server says from where it was asked.
    expect(from).toMatch(/(^|, )(127\.0\.0\.1|::1|::ffff:127\.0\.0\.1)$/)
    return caller
  }

  /** Straight to the operator's port. */
  const direct = async (client: KeyPair | undefined, headers: Record<string, string> = {}): Promise<number> => {
    const identity = client === undefined ? {} : { cert: client.certPem, key: client.keyPem }
    const req = https.request({
      host: "127.0.0.1",
      port,
      method: "DELETE",
      path: `${root}/sessions/5`,
      agent: false,
      rejectUnauthorized: false,
      ...identity,
      headers: { "X-Remote-User": "root", ...headers }
    })
    req.end()
    const [res] = (await once(req, "response")) as [IncomingMessage]
    res.resume()
    return res.statusCode ?? 0
  }
  const upgrade = async (url: string, options: ClientOptions): Promise<number> => {
    const socket = new WebSocket(url, ["v4.channel.k8s.io"], options)
    socket.on("error", () => {})
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage]
    socket.terminate()
    return response.statusCode ?? 0
  }
  const directUpgrade = (client: KeyPair | undefined): Promise<number> =>
    upgrade(`wss://127.0.0.1:${port}${target}`, {
      rejectUnauthorized: false,
      ...(client === undefined ? {} : { cert: client.certPem, key: client.keyPem }),
      headers: { "X-Remote-User": "root", "X-Remote-Group": "system:masters", "x-session-id": "5" }
    })

  const authorities = async (): Promise<string> => {
    const { data } = (await Effect.runPromise(admin.get(configMaps, authentication, "kube-system"))) as {
      readonly data?: Readonly<Record<string, string>>
    }
    return data?.["requestheader-client-ca-file"] ?? ""
  }
  const publish = (data: Readonly<Record<string, string>>): Promise<unknown> =>
    Effect.runPromise(admin.mergePatch(configMaps, authentication, { data }, { namespace: "kube-system" }))

  it("a user comes through with name and groups, and cannot say to be somebody else", async () => {
    const ann = await as("ann", ["developers"])
    const expected = {
      user: "ann",
      groups: ["developers", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=/)] }
    }
    expect(await through(ann)).toEqual(expected)
    expect(
      await through(ann, {
        "X-Remote-User": "root",
        "X-Remote-Group": "system:masters",
        "X-Remote-Uid": "0",
        "X-Remote-Extra-Team": "all"
      })
    ).toEqual(expected)
  })

  it("a service account comes through with its uid", async () => {
    const account = new ApiClient(cluster.server, cluster.caPem, {
      token: await cluster.tokenOf("mirrord", "mirrord-operator")
    })
    expect(await through(account)).toEqual({
      user: "system:serviceaccount:mirrord:mirrord-operator",
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      groups: ["system:serviceaccounts", "system:serviceaccounts:mirrord", "system:authenticated"],
      extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^JTI=/)] }
    })
  })

  it.each([
    ["Jürgen", ["developers", "Entwickler-München"]],
    ["josé 山田 🦊", ["developers", "Ёлка"]]
  ])("%s comes through by every letter of name and groups", async (name, groups) => {
    expect(await through(await as(name, groups))).toMatchObject({
      user: name,
      groups: [...groups, "system:authenticated"]
    })
  })

  /** As `kubectl --as` of the cluster's administrator. `string`: the bytes of a header, a character for each. */
  const acting = (headers: Record<string, string | ReadonlyArray<string>>): Promise<Answer> =>
    new ApiClient(cluster.server, cluster.caPem, cluster.admin).call("DELETE", `${root}/sessions/5`, {
      headers: headers as Record<string, string>
    })
  const bytes = (text: string): string => Buffer.from(text).toString("latin1")

  it("somebody who acts as another comes through with uid and extras, thousands of them in UTF-8", async () => {
    const groups = ["developers", ...Array.from({ length: 1_500 }, (_, index) => `группа-${index}`)]
    const extras = Array.from({ length: 1_500 }, (_, index) => `пример-${index}`)
    const answer = await acting({
      "Impersonate-User": bytes("josé"),
      "Impersonate-Uid": bytes("ü-7"),
      "Impersonate-Group": groups.map(bytes),
      "Impersonate-Extra-Scopes%2F%C3%BC": extras.map(bytes)
    })
    expect([answer.code, answer.body["message"]]).toEqual([404, "There is no session."])
    const { from: _from, ...caller } = seen.at(-1) ?? {}
    expect(caller).toEqual({
      user: "josé",
      uid: "ü-7",
      groups: [...groups, "system:authenticated"],
      extra: { "scopes/ü": extras }
    })
  })

  it("whoever is named in bytes that are not UTF-8 is nobody, and is told so", async () => {
    const count = seen.length
    for (const headers of [
      { "Impersonate-User": "J\xfcrgen", "Impersonate-Group": ["developers"] },
      { "Impersonate-User": "ann", "Impersonate-Group": ["developers", "M\xfcnchen"] },
      { "Impersonate-User": "ann", "Impersonate-Group": ["developers"], "Impersonate-Extra-Team": "\xff" }
    ]) {
      const answer = await acting(headers)
      expect([answer.code, answer.body["message"]]).toEqual([400, expect.stringContaining("are not UTF-8 (header ")])
    }
    expect(seen.length).toBe(count)
  })

  it("an upgrade comes through too; whoever has no right to it does not", async () => {
    const address = `${cluster.server.replace("https", "wss")}${target}`
    const headers = { "x-session-id": "5", "X-Remote-User": "root" }
    const ann = await cluster.credentialsFor("ann", ["developers"])
    const before = seen.length
    await untilTrue(
      "the upgrade at the operator",
      async () => (await upgrade(address, { ca: cluster.caPem, ...ann, headers })) === 403 && seen.length > before
    )
    expect(seen.at(-1)?.user).toBe("ann")
    const count = seen.length
    const bob = await cluster.credentialsFor("bob", [])
    expect(await upgrade(address, { ca: cluster.caPem, ...bob, headers })).toBe(403)
    const answer = await (await as("bob", [])).call("DELETE", `${root}/sessions/5`)
    expect([answer.code, seen.length]).toEqual([403, count])
  })

  it("a body that is too large is refused with a Status, which the API server passes on", async () => {
    const ann = await as("ann", ["developers"])
    await through(ann)
    const body = { spec: { csr: "-----BEGIN a-----".repeat(60_000) } }
    const answer = await ann.call("POST", `${root}/mirrordclusteroperatorusercredentials`, { body })
    expect([answer.code, answer.body["kind"], answer.body["reason"]]).toEqual([413, "Status", "RequestEntityTooLarge"])
    expect((await through(ann)).user).toBe("ann")
  })

  it(
    "nobody comes past the API server, whatever the headers say; not with another authority's certificate, not " +
      "with another name",
    async () => {
      const front = await createAuthority("front", Date.now)
      await publish({ "requestheader-client-ca-file": `${await authorities()}\n${front.caPem}` })
      const right = await front.issue({ commonName: "front-proxy-client" })
      await untilTrue("the authority is known", async () => (await direct(right)) === 404)
      const count = seen.length
      const wrong = [
        undefined,
        await stranger.issue({ commonName: "front-proxy-client" }),
        await front.issue({ commonName: "somebody" })
      ]
      for (const client of wrong) expect([await direct(client), await directUpgrade(client)]).toEqual([401, 401])
      expect(await direct(right, { "X-Remote-User": "" })).toBe(401)
      expect(seen.length).toBe(count)
      expect(await directUpgrade(right)).toBe(403)
      expect(seen.at(-1)).toMatchObject({ user: "root", groups: ["system:masters"] })
    }
  )

  it(
    "another front proxy, while both are in the bundle and when the old one is gone: no restart, and nobody is " +
      "locked out",
    async () => {
      const ann = await as("ann", ["developers"])
      const identity = await ours.issue({ commonName: "front-proxy-client" })
      const before = await authorities()
      await publish({ "requestheader-client-ca-file": `${before}\n${ours.caPem}` })
      await untilTrue("the authority is known", async () => (await direct(identity)) === 404)
      expect((await through(ann))?.user).toBe("ann")
      await cluster.useFrontProxy(ours.caPem, identity)
      expect((await through(ann))?.user).toBe("ann")
      await publish({ "requestheader-client-ca-file": ours.caPem })
      const last = await createAuthority("last", Date.now)
      const successor = await last.issue({ commonName: "front-proxy-client" })
      await publish({ "requestheader-client-ca-file": `${ours.caPem}\n${last.caPem}` })
      await untilTrue("the authority is known", async () => (await direct(successor)) === 404)
      await cluster.useFrontProxy(last.caPem, successor)
      expect((await through(ann))?.user).toBe("ann")
      expect(await direct(identity)).toBe(404)
      await publish({ "requestheader-client-ca-file": last.caPem })
      await untilTrue(
        "the old authority is gone",
        async () => (await direct(identity)) === 401 && (await directUpgrade(identity)) === 401
      )
      expect((await through(ann))?.user).toBe("ann")
    }
  )

  it("what nobody can read changes nothing", async () => {
    const good = await authorities()
    await publish({
      "requestheader-client-ca-file": `${good}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`
    })
    await publish({ "requestheader-username-headers": "X-Remote-User" })
    const ann = await as("ann", ["developers"])
    expect((await through(ann))?.user).toBe("ann")
    expect(await direct(undefined)).toBe(401)
  })
}
