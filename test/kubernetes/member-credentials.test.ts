/**
 * Members' credentials that change, at a real API server: tokens that the fleet renews by TokenRequest, a longest
 * lifetime, a server that is away, another authority, another client certificate. The server's audit log tells what a
 * change costs there.
 */

import { mkdtemp, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Equal, Exit, Fiber, Redacted, Scope, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createAuthority, type KeyPair } from "../../lab/cluster/http/pki.ts"
import { kubeconfigYaml } from "../../lab/cluster/kubeconfig.ts"
import { changeFleet } from "../../src/app/fleet/change-fleet.ts"
import { type FleetOptions, makeFleet } from "../../src/app/fleet/fleet.ts"
import { filesIn, followFiles } from "../../src/app/fleet/kubeconfig-files.ts"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName, refreshedSecretName } from "../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../src/domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../src/domain/fleet/credentials/cluster-auth.ts"
import type { MemberCredentials } from "../../src/domain/fleet/credentials/member-credentials.ts"
import { readTokenClaims } from "../../src/domain/fleet/credentials/token-claims.ts"
import { tokenRenewal } from "../../src/domain/fleet/credentials/token-renewal.ts"
import { at } from "../../src/domain/json.ts"
import { configMaps, secrets } from "../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { ClusterConnector } from "../../src/ports/cluster-connector.ts"
import { configurationOf, operatorNamespace } from "../support/fleet.ts"
import { linklessConnector } from "../support/linkless-connector.ts"
import { operatorDefinition } from "../support/operator-objects.ts"
import { untilTrue } from "../support/until-true.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const hour = 3_600_000
const accounts = ["short", "long"] as const
const crds = new URL("../../crds/", import.meta.url)

/** A member's part for its primary, and an operator's description that no operator serves. */
const manifests = async (): Promise<string> => `
apiVersion: v1
kind: Namespace
metadata: { name: ${operatorNamespace} }
---
${accounts
  .map(
    (name) => `
apiVersion: v1
kind: ServiceAccount
metadata: { name: ${name}, namespace: ${operatorNamespace} }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: ${name} }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ kind: ServiceAccount, name: ${name}, namespace: ${operatorNamespace} }]
---`
  )
  .join("\n")}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: envoys }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: envoys }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: envoy }
rules:
- { apiGroups: [""], resources: [serviceaccounts/token], verbs: [create] }
- { apiGroups: [operator.metalbear.co, mirrord.metalbear.co], resources: ["*"], verbs: [get, list, watch] }
---
${JSON.stringify(operatorDefinition)}
---
${await readFile(new URL("mirrordclustersessions.yaml", crds), "utf8")}
`

describeKubernetes("members' credentials that change", (assets) => {
  let plane: ControlPlane
  let connector: ClusterConnector["Service"]
  const scope = Effect.runSync(Scope.make())

  beforeAll(async () => {
    plane = await startControlPlane({
      name: "credentials",
      assets,
      serviceAccounts: true,
      audit: true,
      apiServerFlags: ["--service-account-max-token-expiration=1h"]
    })
    await plane.apply(await manifests())
    await plane.apply("apiVersion: operator.metalbear.co/v1\nkind: MirrordOperator\nmetadata: { name: operator }\n")
    connector = await Effect.runPromise(linklessConnector(plane.kubeconfigPath).pipe(Scope.provide(scope)))
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await plane.close()
  })

  const memberOf = (name: string, more: Partial<MemberConfiguration> = {}): MemberConfiguration => ({
    name: clusterName(name),
    server: plane.server,
    namespace: undefined,
    certificateAuthority: plane.caPem,
    auth: { _tag: "BearerToken" },
    problems: [],
    ...more
  })

  /** How often a user has asked for something, by `<verb> <resource>`, as the API server says. */
  const requestsOf = async (user: string): Promise<Readonly<Record<string, number>>> => {
    const counts: Record<string, number> = {}
    for (const line of (await readFile(plane.auditLog, "utf8")).trim().split("\n")) {
      const event: unknown = JSON.parse(line)
      // A watch has a second line when it ends.
      if (at(event, "user", "username") !== user) continue
      const subresource = at(event, "objectRef", "subresource")
      const what = `${String(at(event, "verb"))} ${String(at(event, "objectRef", "resource"))}`
      const isWatch = at(event, "verb") === "watch"
      if (at(event, "stage") !== (isWatch ? "ResponseStarted" : "ResponseComplete")) continue
      const key = subresource === undefined ? what : `${what}/${String(subresource)}`
      counts[key] = (counts[key] ?? 0) + 1
    }
    return counts
  }
  const reads = ["list mirrordclustersessions", "watch mirrordclustersessions"] as const
  /** The requests of a user who lists and watches, once the server has noted both: a watch begins after its list. */
  const requestsOfWatcher = async (user: string): Promise<Readonly<Record<string, number>>> => {
    await untilTrue(`the watch of ${user} is noted`, async () => {
      const requests = await requestsOf(user)
      return reads.every((what) => requests[what] !== undefined)
    })
    return requestsOf(user)
  }
  const subjectOf = (account: string): string => `system:serviceaccount:${operatorNamespace}:${account}`

  const give = async (member: string, token: string): Promise<void> => {
    const name = credentialsSecretName(clusterName(member), sha256Hex)
    const metadata = { name, namespace: operatorNamespace, labels: { [credentialsLabel]: "true" } }
    const data = { bearerToken: encodeBase64Text(token) }
    await plane.apply(JSON.stringify({ apiVersion: "v1", kind: "Secret", metadata, data }))
  }
  /** The token that the primary has kept. */
  const keptOf = async (member: string): Promise<string | undefined> => {
    const name = refreshedSecretName(clusterName(member), sha256Hex)
    const found = await Effect.runPromise(Effect.option(connector.own.api.get(secrets, name, operatorNamespace)))
    const token = at(found, "value", "data", "bearerToken")
    return typeof token === "string" ? Buffer.from(token, "base64").toString() : undefined
  }

  /** A primary's fleet of one member; `seen` are the children that it is told of. */
  const startFleet = async (member: MemberConfiguration, kubeconfig?: FleetOptions["kubeconfig"]) => {
    const own = await Effect.runPromise(Scope.make())
    const seen: Array<string> = []
    const nothing = (): void => {}
    const configuration = configurationOf([member.name], { members: [member] })
    const fleet = await Effect.runPromise(
      makeFleet({
        configuration,
        namespace: operatorNamespace,
        sha256Hex,
        kubeconfig,
        ownHealth: { _tag: "Connected", operatorVersion: "1", fingerprint: undefined, parametersInHeader: false },
        events: {
          joined: nothing,
          left: nothing,
          childChanged: (_cluster, child) => void seen.push(child.metadata.name),
          reachChanged: nothing,
          happened: nothing
        }
      }).pipe(Effect.provideService(ClusterConnector, connector), Scope.provide(own))
    )
    const cluster = () => fleet.clusters.get(member.name)
    return {
      seen,
      change: (next: MemberConfiguration) =>
        Effect.runPromise(changeFleet(fleet, configuration, { ...configuration, members: [next] })),
      reach: () => cluster()?.reach(),
      isReady: () => cluster()?.health()?.health._tag === "Connected" && cluster()?.children()?.synced() === true,
      end: () => Effect.runPromise(Scope.close(own, Exit.void))
    }
  }
  const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann" }
  const makeChild = (name: string) =>
    Effect.runPromise(
      connector.own.api.create(
        mirrordClusterSessions,
        {
          apiVersion: "mirrord.metalbear.co/v1alpha",
          kind: "MirrordClusterSession",
          metadata: { name },
          spec: { namespace: "default", owner }
        },
        undefined
      )
    )
  /** Whether the server knows the bearer of a token, who may do nothing with ConfigMaps. */
  const isKnown = (member: MemberConfiguration, credentials: MemberCredentials): Promise<boolean> =>
    Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(connector.member(member, credentials), ({ api }) =>
          Effect.map(Effect.flip(api.list(configMaps)), ({ reason }) => reason !== "Unauthorized")
        )
      )
    )

  describe("a token of a service account", () => {
    it("that lasts for seconds is renewed at no cost, and outlives its server's stop", async () => {
      const member = memberOf("short")
      const first = await plane.shortTokenOf(operatorNamespace, "short", 30)
      await give("short", first)
      const { end, isReady, reach, seen } = await startFleet(member)
      await untilTrue("the member is ready", isReady)
      const before = await requestsOfWatcher(subjectOf("short"))
      await untilTrue("the renewed token is kept", async () => (await keptOf("short")) !== undefined)
      const credentials = { _tag: "BearerToken", token: Redacted.make(first) } as const
      await untilTrue("the first token is refused", async () => !(await isKnown(member, credentials)))
      await makeChild("one")
      await untilTrue("the watch goes on", () => seen.includes("one"))
      expect(reach()?.reachable).toBe(true)
      const requests = await requestsOf(subjectOf("short"))
      expect(reads.map((what) => requests[what])).toEqual(reads.map((what) => before[what]))
      expect(requests).toMatchObject({ "create serviceaccounts/token": 1, "watch mirrordclustersessions": 1 })
      await plane.stop()
      await untilTrue("the member is lost", () => reach()?.reachable === false)
      await plane.restart()
      await untilTrue("the member is back", () => reach()?.reachable === true)
      await makeChild("two")
      await untilTrue("the watch is back", () => seen.includes("two"))
      // Helm writes the first token again, which has ended.
      await give("short", `${first}\n`)
      await makeChild("three")
      await untilTrue("the watch goes on", () => seen.includes("three"))
      await end()
      const next = await startFleet(member)
      await untilTrue("the next primary knows the kept token", next.isReady)
      await next.end()
    })

    it("that the server grants for less than it is asked for is renewed by what it was granted", async () => {
      const member = memberOf("long")
      const first = await plane.agedTokenOf(operatorNamespace, "long", { seconds: 2.7 * 3_600, left: 0.3 * 3_600 })
      await give("long", first)
      const { end, isReady } = await startFleet(member)
      await untilTrue("the member is ready", isReady)
      await untilTrue("the renewed token is kept", async () => (await keptOf("long")) !== undefined)
      const claims = readTokenClaims((await keptOf("long")) ?? "")
      const issuedAt = claims?.issuedAt ?? 0
      expect((claims?.validity.until ?? 0) - issuedAt).toBe(hour)
      for (const share of [0, 0.999]) {
        const renewal = tokenRenewal(
          { claims, grantedAt: issuedAt },
          { claims: readTokenClaims(first) },
          share,
          issuedAt
        )
        expect(renewal).toMatchObject({ _tag: "At", expirationSeconds: 10_800 })
        const due = renewal._tag === "At" ? renewal.at - issuedAt : 0
        expect(due / hour).toBeGreaterThanOrEqual(0.7)
        expect(due / hour).toBeLessThanOrEqual(0.8)
      }
      expect(await requestsOf(subjectOf("long"))).toMatchObject({ "create serviceaccounts/token": 1 })
      await end()
    })
  })

  describe("a kubeconfig in a directory", () => {
    it("is used while it is there, and another one in its place costs no list and no watch", async () => {
      const folder = await mkdtemp(join(plane.directory, "kubeconfigs-"))
      const write = async (user: string): Promise<void> => {
        const { cert: certPem, key: keyPem } = await plane.credentialsFor(user, ["envoys"])
        const { caPem, server } = plane
        const text = kubeconfigYaml({ cluster: "any", server, caPem, user, credentials: { certPem, keyPem } })
        await writeFile(join(folder, "found.yaml"), text)
      }
      await write("file-one")
      const found = await Effect.runPromise(followFiles(filesIn(folder)).pipe(Scope.provide(scope)))
      const member = (): MemberConfiguration => {
        const [cluster] = found.all()
        if (cluster === undefined) throw new Error("no cluster is found")
        return { ...cluster.member, name: clusterName(cluster.name) }
      }
      const before = member()
      expect([before.name, before.server, before.problems]).toEqual(["found", plane.server, []])
      const { change, end, isReady, seen } = await startFleet(before, found.kubeconfig)
      await untilTrue("the member is ready", isReady)
      const asked = await requestsOfWatcher("file-one")
      await write("file-two")
      await untilTrue("the other kubeconfig is read", () => !Equal.equals(member(), before))
      await change(member())
      await makeChild("found")
      await untilTrue("the watch goes on", () => seen.includes("found"))
      const probe = "get mirrordoperators"
      await untilTrue("the other user asks", async () => ((await requestsOf("file-two"))[probe] ?? 0) > 0)
      const [one, two] = [await requestsOf("file-one"), await requestsOf("file-two")]
      expect(reads.map((what) => [one[what], two[what]])).toEqual(reads.map((what) => [asked[what], undefined]))
      await end()
    })
  })

  describe("the trust between a primary and a member", () => {
    const certificateOf = async (user: string): Promise<MemberCredentials> => {
      const { cert, key } = await plane.credentialsFor(user, ["system:masters"])
      return { _tag: "ClientCertificate", certificatePem: cert, keyPem: Redacted.make(key) }
    }
    const useServing = async ({ certPem, keyPem }: KeyPair): Promise<void> => {
      await writeFile(join(plane.directory, "apiserver.key"), keyPem)
      await writeFile(join(plane.directory, "apiserver.crt"), certPem)
    }

    it("takes another client certificate while a watch goes on", async () => {
      const access = await Effect.runPromise(
        connector.member(memberOf("mtls"), await certificateOf("first")).pipe(Scope.provide(scope))
      )
      const { resourceVersion } = await Effect.runPromise(access.api.list(configMaps, { namespace: "default" }))
      const seen: Array<string> = []
      const following = Effect.runFork(
        Stream.runForEach(access.api.watch(configMaps, resourceVersion, { namespace: "default" }), (event) =>
          Effect.sync(() => event._tag === "Changed" && seen.push(event.object.metadata.name))
        )
      )
      const make = (name: string) => {
        const made = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }
        return Effect.runPromise(access.api.create(configMaps, made, "default"))
      }
      await make("before")
      await untilTrue("the watch stands", () => seen.includes("before"))
      access.reauthenticate(await certificateOf("second"))
      await make("after")
      await untilTrue("the watch goes on", () => seen.includes("after"))
      expect(await requestsOf("first")).toEqual({
        "list configmaps": 1,
        "watch configmaps": 1,
        "create configmaps": 1
      })
      expect(await requestsOf("second")).toEqual({ "create configmaps": 1 })
      await Effect.runPromise(Fiber.interrupt(following))
    })

    it("outlives the change of the member's authority: first the bundle, then the certificate", async () => {
      const next = await createAuthority("next", Date.now)
      const admin = await certificateOf("admin")
      /** Whether requests pass with these authorities. */
      const passes = (certificateAuthority: string): Promise<boolean> =>
        Effect.runPromise(
          Effect.scoped(
            Effect.flatMap(connector.member(memberOf("ca", { certificateAuthority }), admin), ({ api }) =>
              Effect.match(api.list(configMaps, { namespace: "default" }), {
                onSuccess: () => true,
                onFailure: () => false
              })
            )
          )
        )
      const bundle = `${plane.caPem.trim()}\n${next.caPem}`
      expect([await passes(plane.caPem), await passes(bundle), await passes(next.caPem)]).toEqual([true, true, false])
      await useServing(await next.issue({ commonName: "kube-apiserver", sans: [{ type: "ip", value: "127.0.0.1" }] }))
      await untilTrue("the server shows the other certificate", async () => {
        expect(await passes(bundle)).toBe(true)
        return passes(next.caPem)
      })
      expect(await passes(plane.caPem)).toBe(false)
    })
  })
})
