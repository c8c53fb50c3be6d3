import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer, type Server } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { createAuthority } from "../../lab/cluster/http/pki.ts"
import { kubeconfigYaml } from "../../lab/cluster/kubeconfig.ts"
import { makeEksTokens } from "../../src/adapters/aws/eks-tokens.ts"
import { clusterName } from "../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../src/domain/fleet/configuration.ts"
import { configMaps } from "../../src/domain/resources/core-kinds.ts"
import type { ClusterConnector, MemberAccess } from "../../src/ports/cluster-connector.ts"
import { eventually } from "../support/eventually.ts"
import { linklessConnector } from "../support/linkless-connector.ts"
import { listenLocally } from "../support/listen-locally.ts"
import { authenticate, type StsIdentity } from "../support/sts-stand-in.ts"
import { untilTrue } from "../support/until-true.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const minute = 60_000
const region = "eu-north-1"
const role: StsIdentity = {
  accessKeyId: "ASIAEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: "IQoJb3JpZ2luX2VjE/+Canary==",
  arn: "arn:aws:sts::123456789012:assumed-role/mirrord-operator/pod"
}
/** The group of the role's access entry, which the chart of a member binds. */
const group = "mirrord-operator-envoy"
const rbac = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: envoy }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [list, watch, create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: envoy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: ${group} }]
`

describeKubernetes("an EKS cluster: kube-apiserver with token authentication by webhook", (assets) => {
  let folder = ""
  let webhook: Server
  let plane: ControlPlane
  const scope = Effect.runSync(Scope.make())
  let connector: ClusterConnector["Service"]
  /** The clock of AWS is ahead of ours by so many ms. */
  let skew = 0
  const reviews: Array<StsIdentity | string> = []

  /** Answers TokenReviews as aws-iam-authenticator does for the EKS cluster "Prod_1". */
  const review = (body: string): object => {
    const { spec } = JSON.parse(body) as { readonly spec: { readonly token: string } }
    const identity = authenticate(spec.token, "Prod_1", [role], Date.now() + skew)
    reviews.push(identity)
    const status =
      typeof identity === "string"
        ? { authenticated: false, error: identity }
        : { authenticated: true, user: { username: identity.arn, groups: [group, "system:authenticated"] } }
    return { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", status }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "braid-eks-"))
    const authority = await createAuthority("webhook", Date.now)
    const serving = await authority.issue({ commonName: "webhook", sans: [{ type: "ip", value: "127.0.0.1" }] })
    webhook = createServer({ cert: serving.certPem, key: serving.keyPem }, (request, response) => {
      let body = ""
      request.on("data", (part: Buffer) => (body += part.toString()))
      request.on("end", () => response.setHeader("content-type", "application/json").end(JSON.stringify(review(body))))
    })
    const port = await listenLocally(webhook)
    const client = await authority.issue({ commonName: "kube-apiserver" })
    const config = join(folder, "webhook.kubeconfig")
    await writeFile(
      config,
      kubeconfigYaml({
        cluster: "webhook",
        server: `https://127.0.0.1:${port}/authenticate`,
        caPem: authority.caPem,
        user: "kube-apiserver",
        credentials: client
      })
    )
    plane = await startControlPlane({
      name: "eks",
      assets,
      apiServerFlags: [
        `--authentication-token-webhook-config-file=${config}`,
        "--authentication-token-webhook-version=v1",
        "--authentication-token-webhook-cache-ttl=1s"
      ]
    })
    await plane.apply(rbac)
    vi.stubEnv("AWS_PROFILE", undefined)
    vi.stubEnv("AWS_ACCESS_KEY_ID", role.accessKeyId)
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", role.secretAccessKey)
    vi.stubEnv("AWS_SESSION_TOKEN", role.sessionToken)
    connector = await Effect.runPromise(linklessConnector(plane.kubeconfigPath).pipe(Scope.provide(scope)))
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await plane.close()
    webhook.closeAllConnections()
    webhook.close()
    await rm(folder, { recursive: true })
  })

  const memberOf = (name: string): MemberConfiguration => ({
    name: clusterName(name),
    server: plane.server,
    namespace: undefined,
    certificateAuthority: plane.caPem,
    auth: { _tag: "Eks", region },
    problems: []
  })
  const tokens = makeEksTokens()
  const credentialsFor = async (member: MemberConfiguration) => {
    const { token } = await Effect.runPromise(tokens({ ...member, auth: { _tag: "Eks", region } }))
    return { _tag: "BearerToken", token } as const
  }
  const connect = async (member: MemberConfiguration): Promise<MemberAccess> => {
    const credentials = await credentialsFor(member)
    return Effect.runPromise(connector.member(member, credentials).pipe(Scope.provide(scope)))
  }
  const list = ({ api }: MemberAccess) => api.list(configMaps, { namespace: "default" })

  describe("the operator's token", () => {
    it("is accepted for the cluster's name, with the rights of the access entry's group", async () => {
      const member = await connect(memberOf("Prod_1"))
      await Effect.runPromise(list(member))
      expect(reviews.at(-1)).toBe(role)
      const refused = member.api.delete(configMaps, "kube-root-ca.crt", { namespace: "default" })
      expect(await Effect.runPromise(Effect.flip(refused))).toMatchObject({
        reason: "Forbidden",
        detail: expect.stringContaining(role.arn)
      })
    })

    it("is refused for another name", async () => {
      const member = await connect(memberOf("prod_1"))
      expect(await Effect.runPromise(Effect.flip(list(member)))).toMatchObject({ reason: "Unauthorized" })
      expect(reviews.at(-1)).toBe("SignatureDoesNotMatch")
    })

    it("that has ended costs no watch that stands, and the next one is used for new requests", async () => {
      const member = memberOf("Prod_1")
      const access = await connect(member)
      const { resourceVersion } = await Effect.runPromise(list(access))
      const seen: Array<string> = []
      const watch = access.api.watch(configMaps, resourceVersion, { namespace: "default" })
      const following = Effect.runFork(
        Stream.runForEach(watch, (event) =>
          Effect.sync(() => event._tag === "Changed" && seen.push(event.object.metadata.name))
        )
      )
      const make = (name: string) =>
        Effect.runPromise(
          access.api.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }, "default")
        )
      await make("before")
      await untilTrue("the watch stands", () => seen.includes("before"))
      skew = 16 * minute
      // The API server remembers for some seconds that it knows a token.
      const refused = await eventually("the token is refused", () => Effect.runPromise(Effect.flip(list(access))))
      expect(refused).toMatchObject({ reason: "Unauthorized" })
      expect(reviews.at(-1)).toBe("Signature expired")
      skew = 0
      access.reauthenticate(await credentialsFor(member))
      await make("after")
      await untilTrue("the watch goes on", () => seen.includes("after"))
      expect(reviews.at(-1)).toBe(role)
      await Effect.runPromise(Fiber.interrupt(following))
    })
  })
})
