import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { afterAll } from "vitest"
import type { KeyPair } from "../../../lab/cluster/http/pki.ts"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import type { Credentials } from "../../lab/cluster/api-client.ts"

/** An API server with an aggregation layer. */
export interface AggregatingCluster {
  readonly server: string
  readonly caPem: string
  readonly admin: Credentials
  readonly credentialsFor: (user: string, groups: ReadonlyArray<string>) => Promise<Credentials>
  readonly apply: (yaml: string) => Promise<void>
  readonly tokenOf: (namespace: string, serviceAccount: string) => Promise<string>
  /** From now on the aggregation layer shows this certificate. */
  readonly useFrontProxy: (authorityPem: string, identity: KeyPair) => Promise<void>
}

export type StartCluster = () => Promise<{
  readonly cluster: AggregatingCluster
  readonly close: () => Promise<void>
}>

/** The operator's account, with the chart's right to the ConfigMap of the front proxy. */
export const operatorRights = `
apiVersion: v1
kind: Namespace
metadata: { name: mirrord }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: mirrord-operator, namespace: mirrord }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: mirrord-operator-apiserver-authentication, namespace: kube-system }
rules:
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [extension-apiserver-authentication]
  verbs: [list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: mirrord-operator-apiserver-authentication, namespace: kube-system }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: mirrord-operator-apiserver-authentication }
subjects: [{ kind: ServiceAccount, name: mirrord-operator, namespace: mirrord }]
---
`

/** How the API server finds the operator without pods: it dials names on its own. */
export const operatorService = (port: number): string => `
apiVersion: v1
kind: Service
metadata: { name: mirrord-operator, namespace: mirrord }
spec: { type: ExternalName, externalName: localhost, ports: [{ port: ${port} }] }
---
`

/** The APIService of an operator. `unchecked`: the API server takes any certificate. */
export const registration = (port: number, unchecked: boolean): string => `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: { name: v1.operator.metalbear.co }
spec:
  group: operator.metalbear.co
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  ${unchecked ? "insecureSkipTLSVerify: true" : ""}
  service: { name: mirrord-operator, namespace: mirrord, port: ${port} }
`

/** Starts the cluster of a suite; what runs beside it, and the cluster itself, end after the suite's tests. */
export const suiteCluster = (start: StartCluster) => {
  const scope = Effect.runSync(Scope.make())
  const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
    Effect.runPromise(effect.pipe(Scope.provide(scope)))
  let close = async (): Promise<void> => {}
  afterAll(async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    await close()
  })
  return {
    run,
    start: async () => {
      const { cluster, close: end } = await start()
      close = end
      return cluster
    },
    apiWith: ({ caPem, server }: AggregatingCluster, { cert = "", key = "", token }: Credentials): Promise<KubeApi> => {
      const config = new KubeConfig()
      config.loadFromOptions({
        clusters: [{ name: "c", server, caData: encodeBase64Text(caPem) }],
        users: [
          token === undefined
            ? { name: "u", certData: encodeBase64Text(cert), keyData: encodeBase64Text(key) }
            : { name: "u", token }
        ],
        contexts: [{ name: "c", cluster: "c", user: "u" }],
        currentContext: "c"
      })
      return run(makeKubeApi(config, "c"))
    }
  }
}
