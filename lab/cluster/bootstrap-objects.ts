/**
 * Objects that every cluster has from the start (kube-apiserver's and kubeadm's own): those that something here reads.
 * Objects whose content depends on the cluster are made in `embedded-cluster.ts`.
 */

export const bootstrapYaml = `
apiVersion: v1
kind: Namespace
metadata: { name: default }
---
apiVersion: v1
kind: Namespace
metadata: { name: kube-system }
---
apiVersion: v1
kind: Namespace
metadata: { name: kube-public }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: cluster-admin }
rules:
- { apiGroups: ["*"], resources: ["*"], verbs: ["*"] }
- { nonResourceURLs: ["*"], verbs: ["*"] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: cluster-admin }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin }
subjects:
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:masters" }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "system:discovery" }
rules:
- nonResourceURLs: [/api, /api/*, /apis, /apis/*, /healthz, /livez, /openapi, /openapi/*, /readyz, /version, /version/]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "system:discovery" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:discovery" }
subjects:
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated" }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "system:basic-user" }
rules:
- { apiGroups: [authorization.k8s.io], resources: [selfsubjectaccessreviews, selfsubjectrulesreviews], verbs: [create] }
- { apiGroups: [authentication.k8s.io], resources: [selfsubjectreviews], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "system:basic-user" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:basic-user" }
subjects:
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated" }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "system:public-info-viewer" }
rules:
- { nonResourceURLs: [/healthz, /livez, /readyz, /version, /version/], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: "system:public-info-viewer" }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:public-info-viewer" }
subjects:
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:authenticated" }
- { kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:unauthenticated" }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: "system:auth-delegator" }
rules:
- { apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create] }
- { apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: extension-apiserver-authentication-reader, namespace: kube-system }
rules:
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [extension-apiserver-authentication]
  verbs: [get, list, watch]
`
