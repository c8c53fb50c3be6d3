/** A developer who uses the operator of one cluster by itself, past the primary. */

import { join } from "node:path"
import { Effect } from "effect"
import { applyObjects } from "./cluster-writes.ts"
import { developers } from "./developers.ts"
import type { AnyRealPlayground } from "./harness.ts"

const readers = "workload-readers"

/** The rights that the client needs beside the chart's role for developers, since it looks for targets itself. */
const readsWorkloads = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: ${readers}, namespace: default}
rules:
  - {apiGroups: [apps], resources: [deployments, statefulsets, replicasets], verbs: [get]}
  - {apiGroups: [argoproj.io], resources: [rollouts], verbs: [get]}
  - {apiGroups: [""], resources: [services], verbs: [get]}
  - {apiGroups: [batch], resources: [cronjobs], verbs: [get]}
  - {apiGroups: [""], resources: [pods], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: ${readers}, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ${readers}}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: ${readers}}]
`

/** A home, and a kubeconfig for the cluster in it. */
export const singleUser = async (
  real: AnyRealPlayground,
  clusterName: string,
  user: string
): Promise<{ readonly home: string; readonly kubeconfig: string }> => {
  const { cluster } = real.cluster(clusterName)
  await applyObjects(cluster, readsWorkloads)
  const home = real.home(user)
  const kubeconfig = join(home, "kubeconfig")
  await Effect.runPromise(cluster.userKubeconfig({ user, groups: [developers, readers], path: kubeconfig }))
  return { home, kubeconfig }
}
