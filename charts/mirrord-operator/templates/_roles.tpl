{{/* Rights of developers on namespaced things; shared by the ClusterRoles and by the Roles of roleNamespaces. */}}
{{- define "braid.userNamespacedRules" -}}
{{- $operator := .Values.operator -}}
- {apiGroups: [operator.metalbear.co], resources: [copytargets, targets, targets/port-locks, queuesplits, sessions], verbs: [get, list]}
- {apiGroups: [operator.metalbear.co], resources: [copytargets], verbs: [create]}
- {apiGroups: [operator.metalbear.co], resources: [targets, copytargets], verbs: [proxy]}
- {apiGroups: [operator.metalbear.co], resources: [sessions], verbs: [delete, deletecollection]}
- {apiGroups: [profiles.mirrord.metalbear.co], resources: [mirrordprofiles], verbs: [get, list]}
{{- /* `mirrord ls`, and label targets: the client looks for targets itself, at the API server. */}}
- {apiGroups: [""], resources: [pods, services], verbs: [list]}
- {apiGroups: [apps], resources: [deployments, replicasets, statefulsets], verbs: [list]}
- {apiGroups: [batch], resources: [cronjobs, jobs], verbs: [list]}
- {apiGroups: [argoproj.io], resources: [rollouts], verbs: [list]}
{{- if include "braid.on" $operator.previewEnv }}
- {apiGroups: [operator.metalbear.co], resources: [previews], verbs: [get]}
- {apiGroups: [operator.metalbear.co], resources: [previewsecretmounts], verbs: [create]}
- {apiGroups: [preview.mirrord.metalbear.co], resources: [previewsessions], verbs: [create, delete, get, list, watch]}
{{- end }}
{{- if include "braid.anyBranching" . }}
{{- /* Clients before BranchDatabase list all older kinds. Without the right they fail where the kind is not installed, and else skip it. */}}
- {apiGroups: [dbs.mirrord.metalbear.co], resources: [branchdatabases, pgbranchdatabases, mysqlbranchdatabases, mongodbbranchdatabases], verbs: [get, list, create, watch, delete, patch]}
{{- end }}
{{- end -}}

{{/* Rights of developers on things of the whole cluster. */}}
{{- define "braid.userClusterRules" -}}
- {apiGroups: [operator.metalbear.co], resources: [mirrordoperators, mirrordclusters], verbs: [get, list]}
- {apiGroups: [operator.metalbear.co], resources: [mirrordoperators/ping], verbs: [get]}
- {apiGroups: [operator.metalbear.co], resources: [mirrordoperators/certificate, mirrordclusteroperatorusercredentials], verbs: [create]}
- {apiGroups: [operator.metalbear.co], resources: [events], verbs: [get, list, watch]}
{{- if include "braid.on" .Values.operator.dbBranchingLiteralCredentials }}
{{- /* They are of the whole cluster; the operator asks whether the caller may make branches in the namespace. */}}
- {apiGroups: [operator.metalbear.co], resources: [branchcredentials], verbs: [create]}
{{- end }}
- {apiGroups: [profiles.mirrord.metalbear.co], resources: [mirrordclusterprofiles], verbs: [get, list]}
{{- end -}}

{{/* What an operator asks of a cluster that it reaches as a member: by ours, and by its own on a primary with workloads. */}}
{{- define "braid.reachRules" -}}
- {apiGroups: [operator.metalbear.co], resources: [mirrordoperators], verbs: [get]}
- {apiGroups: [operator.metalbear.co], resources: [targets], verbs: [proxy, get, list]}
- {apiGroups: [operator.metalbear.co], resources: [copytargets], verbs: [list, create]}
{{- end -}}

{{/* R1 in the width of the published chart, as far as it is not in the rules above. */}}
{{- define "braid.publishedReachRules" -}}
- {apiGroups: [operator.metalbear.co], resources: [copytargets], verbs: [get, proxy]}
- {apiGroups: [operator.metalbear.co], resources: [targets/port-locks, queuesplits], verbs: [get, list, proxy]}
- {apiGroups: [dbs.mirrord.metalbear.co], resources: [pgbranchdatabases, mysqlbranchdatabases, mongodbbranchdatabases, branchdatabases], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [dbs.mirrord.metalbear.co], resources: [pgbranchdatabases/status, mysqlbranchdatabases/status, mongodbbranchdatabases/status, branchdatabases/status], verbs: [get, update, patch]}
- {apiGroups: [preview.mirrord.metalbear.co], resources: [previewsessions], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [preview.mirrord.metalbear.co], resources: [previewsessions/status], verbs: [get, update, patch]}
- {apiGroups: [queues.mirrord.metalbear.co], resources: [mirrordworkloadqueueregistries, mirrordsplitconfigs], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [mirrord.metalbear.co], resources: [mirrordpropertylists], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments, statefulsets, replicasets, daemonsets], verbs: [get, list, watch]}
{{- end -}}

{{/* R2 in the width of the published chart, as far as it is not in the member's role already. */}}
{{- define "braid.publishedRemoteRules" -}}
{{- $operator := .Values.operator -}}
- {apiGroups: [operator.metalbear.co], resources: [sessions], verbs: [get, list]}
- {apiGroups: [mirrord.metalbear.co], resources: [mirrordclustersessions/status], verbs: [get, watch]}
- {apiGroups: [""], resources: [pods], verbs: [create, patch, delete]}
- {apiGroups: [""], resources: [services, podtemplates], verbs: [get, list, watch]}
- {apiGroups: [argoproj.io], resources: [rollouts], verbs: [get, list, watch]}
- {apiGroups: [mirrord.metalbear.co], resources: [mirrordclusterworkloadpatchrequests], verbs: [create]}
{{- if include "braid.anyBranching" . }}
- {apiGroups: [""], resources: [secrets], verbs: [create]}
{{- end }}
{{- if include "braid.on" $operator.sqsSplitting }}
- {apiGroups: [queues.mirrord.metalbear.co], resources: [mirrordsqssessions], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [queues.mirrord.metalbear.co], resources: [mirrordsqssessions/status], verbs: [get, update, patch]}
{{- end }}
{{- if include "braid.anySplitting" . }}
- {apiGroups: [queues.mirrord.metalbear.co], resources: [mirrordclustersplitsessions], verbs: [get, list, watch, create, update, patch, delete]}
- {apiGroups: [queues.mirrord.metalbear.co], resources: [mirrordclustersplitsessions/status], verbs: [get, update, patch]}
{{- end }}
{{- end -}}
