import { readFile } from "node:fs/promises"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Redacted, Scope } from "effect"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { grantToken } from "../../../src/app/fleet/member-token.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { linklessConnector } from "../../support/linkless-connector.ts"
import type { KubeApiServer } from "./kube-api-suite.ts"

const rbac = `
apiVersion: v1
kind: ServiceAccount
metadata: { name: reader, namespace: default }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: reader, namespace: default }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: [get, list, watch] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: reader, namespace: default }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader }
subjects: [{ kind: ServiceAccount, name: reader, namespace: default }]
`

/** The parts of a cluster that make it a {@link KubeApiServer}. */
export interface ServedCluster extends Pick<KubeApiServer, "stop" | "restart"> {
  readonly server: string
  readonly caPem: string
  readonly kubeconfigPath: string
  /** Creates or updates the objects of many YAML documents; definitions among them are served afterwards. */
  readonly apply: (yaml: string) => Promise<void>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  readonly forget: (api: KubeApiServer["admin"]) => Promise<void>
}

/** Installs what the suite needs, and connects as production does. */
export const connectKubeApi = async (
  cluster: ServedCluster
): Promise<{ readonly server: KubeApiServer; readonly close: () => Promise<void> }> => {
  const scope = Effect.runSync(Scope.make())
  for (const file of ["mirrordclustersessions", "mirrordmulticlustersessions"]) {
    await cluster.apply(await readFile(new URL(`../../../crds/${file}.yaml`, import.meta.url), "utf8"))
  }
  await cluster.apply(rbac)
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfigPath)
  const connector = await Effect.runPromise(
    linklessConnector(cluster.kubeconfigPath, "local").pipe(Scope.provide(scope))
  )
  const configuration: MemberConfiguration = {
    name: clusterName("member"),
    server: cluster.server,
    namespace: undefined,
    certificateAuthority: cluster.caPem,
    auth: { _tag: "BearerToken" },
    problems: []
  }
  const member = (bearerToken: string) =>
    Effect.runPromise(
      connector
        .member(configuration, { _tag: "BearerToken", token: Redacted.make(bearerToken) })
        .pipe(Scope.provide(scope))
    )
  const admin = connector.own.api
  const token = { reader: await cluster.tokenOf("default", "reader"), unknown: "nobody-issued-this" }
  const changing = await member(token.reader)
  return {
    server: {
      admin,
      logs: await Effect.runPromise(makeKubeApi(config, "local").pipe(Scope.provide(scope))),
      unknown: (await member(token.unknown)).api,
      reader: (await member(token.reader)).api,
      changing: {
        api: changing.api,
        become: (user) => changing.reauthenticate({ _tag: "BearerToken", token: Redacted.make(token[user]) })
      },
      grant: (expirationSeconds) =>
        Effect.runPromise(
          grantToken(
            { connector, member: configuration, access: { ...connector.own, reauthenticate: () => {} } },
            { _tag: "At", at: 0, account: { namespace: "default", name: "reader" }, expirationSeconds }
          )
        ),
      stop: cluster.stop,
      restart: cluster.restart,
      forget: () => cluster.forget(admin)
    },
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
