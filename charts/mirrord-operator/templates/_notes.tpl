{{/* What NOTES say: the part of this install, what is still to do per cluster, and which values have no effect. */}}
{{- define "braid.notes" -}}
{{- $operator := .Values.operator }}
{{- $multi := $operator.multiCluster }}
{{- $isPrimary := include "braid.isPrimary" . }}
{{- $isMember := include "braid.isMember" . }}
braid {{ .Chart.AppVersion }} in namespace {{ .Values.namespace }}: {{ if and $isPrimary $isMember }}primary {{ include "braid.clusterName" . }}, and member{{ else if $isPrimary }}primary {{ include "braid.clusterName" . }}{{ else if $isMember }}member{{ else }}single cluster{{ end }}.

Is it well?
  kubectl get mirrordoperators.operator.metalbear.co operator -o yaml
{{- if $isPrimary }}
Its clusters are in status.connected_clusters, each with its version or with what is wrong.
{{- if not (or $multi.clusters $multi.providers) }}

To do: operator.multiCluster.clusters is empty{{ if eq (include "braid.bool" $multi.managementOnly) "true" }}, so no session can run{{ end }}.
{{- end }}
{{- range $name, $found := $multi.clusters }}
{{- $cluster := $found | default dict }}
{{- $secret := print "mirrord-cluster-" (include "braid.slug" $name) }}
{{- $todo := list }}
{{- if and (eq $cluster.authType "bearerToken") (not $cluster.bearerToken) }}
{{- $todo = append $todo (printf "its token, as bearerToken in a Secret %s here; make the token there:\n      kubectl -n %s create token mirrord-operator-envoy --duration=24h" $secret ($cluster.namespace | default "mirrord")) }}
{{- end }}
{{- if and (eq $cluster.authType "mtls") (not (and $cluster.tlsCrt $cluster.tlsKey)) }}
{{- $todo = append $todo (printf "a client certificate, as tls.crt and tls.key in a Secret %s here" $secret) }}
{{- end }}
{{- if and (eq $cluster.authType "eks") (not $cluster.region) }}
{{- $todo = append $todo "region, the AWS region of the EKS cluster" }}
{{- end }}
{{- if and (eq $cluster.authType "eks") (not $.Values.sa.roleArn) }}
{{- $todo = append $todo "an AWS identity of the operator: sa.roleArn, or an EKS Pod Identity" }}
{{- end }}
{{- if eq $cluster.authType "eks" }}
{{- $todo = append $todo (printf "an access entry in the EKS cluster %s for the operator's role, with the group that is operator.multiClusterMemberIamGroup there" $name) }}
{{- end }}
{{- if and (eq $cluster.authType "aks") (not $.Values.sa.azureClientId) }}
{{- $todo = append $todo "an Azure identity of the operator: sa.azureClientId" }}
{{- end }}
{{- if eq $cluster.authType "aks" }}
{{- $todo = append $todo (printf "a federated credential of that Azure identity for system:serviceaccount:%s:%s, with the audience api://AzureADTokenExchange" $.Values.namespace $.Values.sa.name) }}
{{- $todo = append $todo "that Azure identity in an Entra group, whose object id is operator.multiClusterMemberAzureGroup there" }}
{{- end }}
{{- if not $cluster.caData }}
{{- $todo = append $todo "caData, unless its API server's certificate is from a public authority" }}
{{- end }}
{{- if $todo }}

To do for cluster {{ $name }}, unless it is done:
{{- range $todo }}
  - {{ . }}
{{- end }}
{{- if and (has $cluster.authType (list "bearerToken" "mtls")) (not $cluster.bearerToken) (not (and $cluster.tlsCrt $cluster.tlsKey)) }}
  A Secret made by hand needs the label operator.metalbear.co/remote-cluster-credentials=true and the namespace {{ $.Values.namespace }}.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if include "braid.hasMemberAccount" . }}

A primary reaches this cluster with a token of mirrord-operator-envoy:
  kubectl -n {{ .Values.namespace }} create token mirrord-operator-envoy --duration=24h
{{- end }}
{{- if and (or $operator.multiClusterMemberIamGroup $operator.multiClusterMemberAzureGroup .Values.rbac.memberSubjects) (not $isMember) }}

A group or subject of a primary is given, but operator.multiClusterMember is off, so it gets no rights.
{{- end }}
{{- if include "braid.on" .Values.tls.apiService.insecureSkipTLSVerify }}

The API server does not check the operator's certificate, so who stands between the two can read and change what users send{{ if include "braid.hasTlsSecret" . }}: give the CA of your certificate as tls.apiService.caBundle, and leave insecureSkipTLSVerify out{{ else }}: leave tls.apiService.insecureSkipTLSVerify out{{ end }}.
{{- end }}
{{- if and (include "braid.hasAgents" .) (not (include "braid.hasEphemeralAgents" .)) (not (include "braid.on" .Values.agent.tls)) (not (include "braid.on" .Values.networkPolicy.agents)) }}

Agents serve everybody who can reach them: a connection to an agent gives the environment, the files and the network of its target, and neither TLS nor a NetworkPolicy keeps others away. Set agent.tls, or leave networkPolicy.agents out.
{{- end }}
{{- if and (include "braid.hasEphemeralAgents" .) (not (include "braid.on" .Values.agent.tls)) }}

Agents are ephemeral containers, and serve everybody who can reach the pod of their target: a connection to an agent gives the environment, the files and the network of that pod, and networkPolicy.agents does not cover it. Set agent.tls.
{{- end }}
{{- if not (include "braid.servesMetrics" .) }}
{{- range $name := list "service" "serviceMonitor" "prometheusRule" "grafanaDashboard" }}
{{- if include "braid.on" (index $.Values.monitoring $name).enabled }}

monitoring.{{ $name }} is on, but operator.metrics is off: nothing is made, as there is nothing to scrape.
{{- end }}
{{- end }}
{{- end }}
{{- if and (include "braid.hasBranches" .) (not (include "braid.hasAdmissionPolicies" .)) }}

This cluster has Kubernetes {{ .Capabilities.KubeVersion.Version }}. Before 1.30 an API server cannot ask whether a user who orders a branch of a database may connect to its target, so whoever may create branchdatabases{{ if include "braid.copiesBranches" . }} in namespace {{ .Values.namespace }} can have one made of any workload of the default cluster{{ else }} in a namespace can have one made of any workload there{{ end }}. Give that right only to those who may connect to all of these targets, or upgrade the cluster. docs/security.md says what remains.
{{- end }}
{{- if include "braid.on" $operator.mssqlBranching }}

No SQL Server has ever run branches of SQL Server: their programs are checked with stand-ins alone. Read docs/branching.md, and try them with data that you can lose. Each is refused unless operator.mssqlBranchConfig.dbPod.acceptEula accepts Microsoft's licence.
{{- end }}
{{- $unused := list }}
{{- $ofJobs := list "annotations" "check_out_of_pods" "disable_mesh_sidecar_injection" "image_pull_secrets" "labels" "namespace" "node_selector" "priority_class" "priority_class_name" "resources" "security_context" "service_account" "tolerations" "ttl" }}
{{- range $name, $value := .Values.agent.extraConfig }}
{{- if and (include "braid.hasEphemeralAgents" $) (has $name $ofJobs) (not (kindIs "invalid" $value)) }}
{{- $unused = append $unused (printf "  agent.extraConfig.%s: agents are ephemeral containers, which live by the settings of their pod" $name) }}
{{- end }}
{{- if and (eq $name "exclude_from_mesh") (eq (toJson $value) "true") (not (include "braid.hasEphemeralAgents" $)) }}
{{- $unused = append $unused "  agent.extraConfig.exclude_from_mesh: only agents as ephemeral containers have it" }}
{{- end }}
{{- end }}
{{- range .Files.Get "files/values-without-effect.yaml" | fromYamlArray }}
{{- $value := (include "braid.at" (list $ .path) | fromJson).value }}
{{- $default := index . "default" }}
{{- if and (or $value (kindIs "bool" $value) (kindIs "float64" $value)) (ne (toJson $value) (toJson $default)) }}
{{- $unused = append $unused (printf "  %s: %s" .path .why) }}
{{- end }}
{{- end }}
{{- $pods := list "affinity" "allowedImages" "annotations" "dbServerArgs" "image" "imagePullPolicy" "imagePullSecrets" "initVolume" "labels" }}
{{- $pods = concat $pods (list "migrationEnv" "migrationImages" "nodeSelector" "resources" "storage" "tolerations" "volume") }}
{{- $branched := splitList " " (include "braid.branchedEngines" .) }}
{{- range $engine := splitList " " (include "braid.engines" .) }}
{{- if has $engine $branched }}
{{- $known := ternary (append $pods "acceptEula") $pods (eq $engine "mssql") }}
{{- $blocks := dict }}
{{- range $name, $value := index $operator (print $engine "BranchConfig") }}
{{- if eq $name "dbPod" }}
{{- $_ := set $blocks $name $value }}
{{- else if and (eq $name "profiles") (kindIs "map" $value) }}
{{- range $profile, $found := $value }}
{{- if kindIs "map" $found }}
{{- $_ := set $blocks (printf "profiles.%s.dbPod" $profile) $found.dbPod }}
{{- end }}
{{- end }}
{{- else }}
{{- $unused = append $unused (printf "  operator.%sBranchConfig.%s: branches have no such setting yet" $engine $name) }}
{{- end }}
{{- end }}
{{- range $block, $value := $blocks }}
{{- if kindIs "map" $value }}
{{- range $field, $_ := $value }}
{{- if not (has $field $known) }}
{{- $unused = append $unused (printf "  operator.%sBranchConfig.%s.%s: branches have no such setting yet" $engine $block $field) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- else if include "braid.on" (index $operator (print $engine "Branching")) }}
{{- $unused = append $unused (printf "  operator.%sBranching: no branch of this engine is made yet, and each is refused with a sentence" $engine) }}
{{- end }}
{{- end }}
{{- $known := include "braid.agentFields" . | fromYaml }}
{{- range $name, $_ := .Values.agent.extraConfig }}
{{- $line := printf "  agent.extraConfig.%s: " $name }}
{{- if not (or (hasKey $known $name) (contains $line (join "\n" $unused))) }}
{{- $unused = append $unused (print $line "agents have no such setting") }}
{{- end }}
{{- end }}
{{- $fields := list "server" "authType" "isDefault" "namespace" "caData" "region" "tenantId" "clientId" "bearerToken" "tlsCrt" "tlsKey" }}
{{- $inline := list }}
{{- range $name, $cluster := $multi.clusters }}
{{- $path := printf "operator.multiCluster.clusters.%s" $name }}
{{- range $field, $value := kindIs "map" $cluster | ternary $cluster dict }}
{{- if not (has $field $fields) }}
{{- $meant := "" }}
{{- range $fields }}{{- if eq (lower .) (regexReplaceAll "[^a-z]" (lower $field) "") }}{{- $meant = printf ", is it %s?" . }}{{- end }}{{- end }}
{{- $unused = append $unused (printf "  %s.%s: a cluster has no such field%s" $path $field $meant) }}
{{- else if and $value (has $field (list "bearerToken" "tlsKey")) }}
{{- $inline = append $inline (printf "  %s.%s" $path $field) }}
{{- end }}
{{- end }}
{{- end }}
{{- if index .Values.tls.data "tls.key" }}
{{- $inline = append $inline "  tls.data.\"tls.key\"" }}
{{- end }}
{{- if $inline }}

Secrets in the values, so also in Helm's Secrets of each revision of this release. Better make the Secret by hand and leave them out:
{{ join "\n" $inline }}
{{- end }}
{{- if $unused }}

Accepted, without effect:
{{ join "\n" $unused }}
{{- end }}

To uninstall, a pod of {{ include "braid.image" . }} ends all sessions first. If it cannot run, end them by hand:
  braid cleanup
  helm uninstall {{ .Release.Name }} --namespace {{ .Release.Namespace }} --no-hooks
The chart's README, "Uninstalling", has the same without braid.
{{- if contains "metalbear-co/operator" $operator.image }}

operator.image is the published operator. This chart starts its image with the argument "operator", which only braid's understands.
{{- end }}
{{- end -}}
