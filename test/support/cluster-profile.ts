import type { AccessProvider } from "../../src/domain/fleet/access-providers.ts"
import { clusterProfiles } from "../../src/domain/fleet/cluster-profile.ts"
import { clustersNamespace } from "./cluster-api.ts"
import type { MemoryKubeApi } from "./memory-kube-api.ts"

/** The definition of `ClusterProfile` without its schema, and the account that the program has a token of. */
export const profileManifests = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: clusterprofiles.multicluster.x-k8s.io
  annotations: { api-approved.kubernetes.io: https://github.com/kubernetes/enhancements/pull/4322 }
spec:
  group: multicluster.x-k8s.io
  scope: Namespaced
  names: { kind: ClusterProfile, plural: clusterprofiles, singular: clusterprofile, listKind: ClusterProfileList }
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
    subresources: { status: {} }
---
apiVersion: v1
kind: Namespace
metadata: { name: ${clustersNamespace} }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: operator, namespace: ${clustersNamespace} }
`

/** A provider whose plugin is the program `command`. */
export const accessProvider = (command = "/plugin"): AccessProvider => ({
  name: "plugin",
  execConfig: { apiVersion: "client.authentication.k8s.io/v1", command, args: [], env: {}, provideClusterInfo: true }
})

/** The status of a profile whose cluster {@link accessProvider} gives credentials for. */
export const profileStatus = (server: string, authority?: string) => ({
  accessProviders: [
    {
      name: "plugin",
      cluster: {
        server,
        ...(authority === undefined ? {} : { "certificate-authority-data": Buffer.from(authority).toString("base64") }),
        extensions: [{ name: "client.authentication.k8s.io/exec", extension: { clusterName: "of the manager" } }]
      }
    }
  ]
})

/** Writes a profile of this name. */
export const writeProfile = (
  api: MemoryKubeApi,
  name: string,
  status: object = profileStatus(`https://${name}`)
): void => void api.write(clusterProfiles, name, { status }, clustersNamespace)
