{{/* What NOTES say: the part of this install, what is still to do per cluster, and which values have no effect. */}}
{{- define "braid.notes" -}}
{{- $operator := .Values.operator }}
{{- $multi := $operator.multiCluster }}
{{- $isPrimary := include "braid.isPrimary" . }}
{{- $isMember := include "braid.isMember" . -}}
{{- if and (eq $operator.image "ghcr.io/braid-operator/braid") (not $operator.imageTag) (not (include "braid.imageDigest" .)) -}}
The image {{ include "braid.image" . }} is not published yet, so no pod can start unless the nodes have it: make it with `npm run image`, and load it, or push it and name it by operator.image and operator.imageTag.

{{ end -}}
braid {{ .Chart.AppVersion }} in namespace {{ .Values.namespace }}: {{ if and $isPrimary $isMember }}primary {{ include "braid.clusterName" . }}, and member{{ else if $isPrimary }}primary {{ include "braid.clusterName" . }}{{ else if $isMember }}member{{ else }}single cluster{{ end }}.

Is it well? This runs braid doctor in the cluster:
{{- if eq .Release.Namespace .Values.namespace }}
  helm test {{ .Release.Name }} --namespace {{ .Release.Namespace }} --logs
{{- else }}
  helm test {{ .Release.Name }} --namespace {{ .Release.Namespace }}
  kubectl --namespace {{ .Values.namespace }} logs mirrord-doctor
{{- end }}
{{- if or $isPrimary (not $isMember) }}

Who may use it? Nobody, until you bind a role, for example for one namespace:
  kubectl create clusterrolebinding mirrord-basic --clusterrole=mirrord-operator-user-basic --group=GROUP
  kubectl --namespace NAMESPACE create rolebinding mirrord --clusterrole=mirrord-operator-user --group=GROUP

Their first session, with mirrord's own client:
  mirrord exec --target deployment/NAME --target-namespace NAMESPACE -- COMMAND
{{- else }}

Sessions begin at the primary, and so do the rights of users.
{{- end }}
{{- if include "braid.on" .Values.dashboard.enabled }}

The use of sessions is recorded. Who may read the reports? Nobody, until you bind the role:
  kubectl create clusterrolebinding mirrord-usage --clusterrole=mirrord-operator-usage-reader --group=GROUP
  braid usage
{{- if include "braid.hasUsageVolume" . }}

{{- if include "braid.hasDashboard" . }}

The page of use: https://{{ .Values.dashboard.ingress.host }}/
At {{ .Values.dashboard.oidc.issuer }} its redirect URI is https://{{ .Values.dashboard.ingress.host }}/callback
{{- end }}

The operator does not start without the volume of the records{{ if .Values.usage.persistence.existingClaim }}, claim {{ include "braid.usageClaim" . }}{{ else if not .Values.usage.persistence.storageClassName }}, of the default StorageClass{{ end }}. If its pod stays Pending:
  kubectl get storageclass
  kubectl -n {{ .Values.namespace }} get persistentvolumeclaim {{ include "braid.usageClaim" . }}
{{- else }}

The records are in the PostgreSQL database of the Secret {{ .Values.usage.postgres.secret }}. The operator's pod does not start without its key {{ .Values.usage.postgres.key }}:
  kubectl -n {{ .Values.namespace }} get secret {{ .Values.usage.postgres.secret }}
{{- end }}
{{- end }}
{{- if $isPrimary }}

Its clusters, each with its version or with what is wrong:
  kubectl get mirrordoperators.operator.metalbear.co operator -o jsonpath='{.status.connected_clusters}'
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
{{- if and (include "braid.splitsQueues" .) (include "braid.hasAgents" .) (not .Values.sa.roleArn) }}

To do for queues of SQS, unless it is done: an AWS identity of the operator, by sa.roleArn, an EKS Pod Identity or variables in operator.extraEnv.
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

This cluster has Kubernetes {{ .Capabilities.KubeVersion.Version }}. Before 1.30 an API server cannot ask whether a user who orders a branch of a database may connect to its target, so whoever may create branchdatabases{{ if include "braid.copiesBranches" . }} in namespace {{ .Values.namespace }} can have one made of any workload of the default cluster{{ else }} in a namespace can have one made of any workload there{{ end }}. Give that right only to those who may connect to all of these targets, or upgrade the cluster. docs/operating/security.md says what remains.
{{- end }}
{{- $inline := list }}
{{- range $name, $cluster := $multi.clusters }}
{{- range $field := list "bearerToken" "tlsKey" }}
{{- if and (kindIs "map" $cluster) (index ($cluster | default dict) $field) }}
{{- $inline = append $inline (printf "  operator.multiCluster.clusters.%s.%s" $name $field) }}
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
{{- $unused := include "braid.unusedValues" . | fromYamlArray }}
{{- range .Files.Get "files/values-without-effect.yaml" | fromYamlArray }}
{{- if include "braid.isSet" (list $ .) }}
{{- $unused = append $unused (printf "%s: %s" .path .why) }}
{{- end }}
{{- end }}
{{- if $unused }}

Accepted, without effect:
{{- range $unused }}
  {{ . }}
{{- end }}
{{- end }}

To uninstall, a pod of {{ include "braid.image" . }} ends all sessions{{ if include "braid.hasBranches" . }} and branches{{ end }} first. If it cannot run, end them by hand:
  braid cleanup --copies{{ if include "braid.hasBranches" . }} --branches{{ end }}{{ if include "braid.endsSplits" . }} --splits{{ end }} --apply
  helm uninstall {{ .Release.Name }} --namespace {{ .Release.Namespace }} --no-hooks
The chart's README, "Uninstalling", has the same without braid.
{{- if and (include "braid.on" .Values.createNamespace) (include "braid.hasUsageVolume" .) }}
The namespace {{ .Values.namespace }} and the records of use in it stay. If you want neither, and nothing else that is in there:
  kubectl delete namespace {{ .Values.namespace }}
{{- else if include "braid.on" .Values.createNamespace }}
The namespace {{ .Values.namespace }} goes with the release, and with it all that is in there, also Secrets that you made. Set createNamespace to false to keep it.
{{- end }}
{{- if contains "metalbear-co/operator" $operator.image }}

operator.image is the published operator. This chart starts its image with the argument "operator", which only braid's understands.
{{- end }}
{{- end -}}
