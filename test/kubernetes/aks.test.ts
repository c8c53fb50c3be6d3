import { createPublicKey, type KeyObject } from "node:crypto"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { files, tokenIssuer } from "../../lab/playground/kubernetes/control-plane.ts"
import { makeAksTokens } from "../../src/adapters/azure/aks-tokens.ts"
import { clusterName } from "../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../src/domain/fleet/configuration.ts"
import { at } from "../../src/domain/json.ts"
import { configMaps } from "../../src/domain/resources/core-kinds.ts"
import type { ClusterConnector, MemberAccess } from "../../src/ports/cluster-connector.ts"
import { aksServer, type EntraStandIn, startEntraStandIn } from "../support/entra-stand-in.ts"
import { eventually } from "../support/eventually.ts"
import { linklessConnector } from "../support/linkless-connector.ts"
import { untilTrue } from "../support/until-true.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const tenant = "11111111-2222-3333-4444-555555555555"
const operator = { clientId: "client", objectId: "identity", groups: ["group-id"] }
const stranger = { clientId: "stranger", objectId: "other", groups: [] }
const trusted = { issuer: tokenIssuer, subject: "system:serviceaccount:default:mirrord-operator" }
const account = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: mirrord-operator, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: envoy }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [list, watch, create] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: envoy-azure }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: group-id }]
`

describeKubernetes("an AKS cluster: kube-apiserver that trusts the tokens of Microsoft Entra", (assets) => {
  let folder = ""
  let entra: EntraStandIn
  let plane: ControlPlane
  let issuerKey: KeyObject | undefined
  const scope = Effect.runSync(Scope.make())
  let connector: ClusterConnector["Service"]

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "braid-aks-"))
    entra = await startEntraStandIn({
      tenant,
      identities: [operator, stranger].map((identity) => ({ ...identity, ...trusted })),
      issuerKey: () => {
        if (issuerKey === undefined) throw new Error("the cluster does not run yet")
        return issuerKey
      }
    })
    const ca = join(folder, "entra.crt")
    await writeFile(ca, entra.caPem)
    plane = await startControlPlane({
      name: "aks",
      assets,
      apiServerFlags: [
        `--oidc-issuer-url=${entra.issuer}`,
        `--oidc-client-id=${aksServer}`,
        "--oidc-username-claim=oid",
        "--oidc-username-prefix=-",
        "--oidc-groups-claim=groups",
        `--oidc-ca-file=${ca}`
      ]
    })
    issuerKey = createPublicKey(await readFile(join(plane.directory, files.accountKey)))
    await plane.apply(account)
    connector = await Effect.runPromise(linklessConnector(plane.kubeconfigPath).pipe(Scope.provide(scope)))
    await writeServiceAccountToken("api://AzureADTokenExchange")
  })
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await plane.close()
    await entra.close()
    await rm(folder, { recursive: true })
  })

  /** As the kubelet writes it into the operator's pod. */
  const writeServiceAccountToken = async (audience: string): Promise<void> => {
    const tokens = {
      group: "",
      version: "v1",
      plural: "serviceaccounts/mirrord-operator/token",
      scope: "Namespaced"
    } as const
    const body = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { name: "mirrord-operator" },
      spec: { audiences: [audience], expirationSeconds: 3_600 }
    }
    const answer = await Effect.runPromise(connector.own.api.create(tokens, body, "default"))
    await writeFile(join(folder, "token"), String(at(answer, "status", "token")))
  }
  const tokensOf = (clientId: string) =>
    makeAksTokens(
      {
        AZURE_TENANT_ID: tenant,
        AZURE_CLIENT_ID: clientId,
        AZURE_FEDERATED_TOKEN_FILE: join(folder, "token"),
        AZURE_AUTHORITY_HOST: entra.authorityHost
      },
      entra.caPem
    )
  const auth = { _tag: "Aks", tenantId: undefined, clientId: undefined } as const
  const member = (): MemberConfiguration => ({
    name: clusterName("azure"),
    server: plane.server,
    namespace: undefined,
    certificateAuthority: plane.caPem,
    auth,
    problems: []
  })
  const credentialsFor = async (clientId = operator.clientId) => {
    const { token } = await Effect.runPromise(tokensOf(clientId)({ ...member(), auth }))
    return { _tag: "BearerToken", token } as const
  }
  const connect = async (clientId?: string): Promise<MemberAccess> => {
    const credentials = await credentialsFor(clientId)
    return Effect.runPromise(connector.member(member(), credentials).pipe(Scope.provide(scope)))
  }
  const list = ({ api }: MemberAccess) => api.list(configMaps, { namespace: "default" })

  it("accepts the operator's token, with the rights of its Entra group", async () => {
    const access = await connect()
    // The API server looks up the keys of Entra in the background.
    await eventually("the token is accepted", () => Effect.runPromise(list(access)))
    const refused = access.api.delete(configMaps, "kube-root-ca.crt", { namespace: "default" })
    expect(await Effect.runPromise(Effect.flip(refused))).toMatchObject({
      reason: "Forbidden",
      detail: expect.stringContaining('User "identity"')
    })
  })

  it("knows an identity that is not in the group, and gives it no rights", async () => {
    const access = await connect(stranger.clientId)
    expect(await Effect.runPromise(Effect.flip(list(access)))).toMatchObject({ reason: "Forbidden" })
  })

  /** A watch that stands, by a token of so many seconds; on a loaded machine only a longer one lasts until then. */
  const watchFor = async (lifetime: number) => {
    entra.lifetime = lifetime
    const access = await connect()
    const seen: Array<string> = []
    const make = (name: string) =>
      Effect.runPromise(
        access.api.create(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }, "default")
      )
    const { resourceVersion } = await Effect.runPromise(list(access))
    const watch = access.api.watch(configMaps, resourceVersion, { namespace: "default" })
    const following = Effect.runFork(
      Stream.runForEach(watch, (event) =>
        Effect.sync(() => event._tag === "Changed" && seen.push(event.object.metadata.name))
      )
    )
    await make(`before-${lifetime}`)
    await untilTrue("the watch stands", () => seen.includes(`before-${lifetime}`))
    return { access, following, make, seen }
  }

  it("keeps a watch when the token in use has ended, and new requests take the next one", async () => {
    let lifetime = 1
    const { access, following, make, seen } = await eventually("a token lasts until the watch stands", () =>
      watchFor((lifetime *= 2))
    )
    const refused = await eventually("the token is refused", () => Effect.runPromise(Effect.flip(list(access))))
    expect(refused).toMatchObject({ reason: "Unauthorized" })
    entra.lifetime = 3_600
    access.reauthenticate(await credentialsFor())
    await make("after")
    await untilTrue("the watch goes on", () => seen.includes("after"))
    await Effect.runPromise(Fiber.interrupt(following))
  })

  it("is never asked with a service account token for another audience: Entra refuses it", async () => {
    await writeServiceAccountToken("sts.amazonaws.com")
    await expect(credentialsFor()).rejects.toThrow(/AADSTS700212: /u)
    await writeServiceAccountToken("api://AzureADTokenExchange")
  })
})
